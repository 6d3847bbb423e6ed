#pragma once

namespace lynxpp::report {

/// Returns 0 if `b` is 0.
inline double ratio(double a, double b) { return b > 0 ? a / b : 0; }

}  // namespace lynxpp::report
