// Figures of several runs.
#pragma once

#include <string>
#include <vector>

namespace lynxpp::report {

/// Returns 0 if there are no values.
double median(std::vector<double> values);

std::string fixed(double value, int digits);

}  // namespace lynxpp::report
