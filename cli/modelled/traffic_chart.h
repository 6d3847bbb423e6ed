// Traffic by partition of memory as pictures: CampProf's Figures 11 and 12.
#pragma once

#include <string>

#include "models/clock/kernel_time.h"

namespace lynxpp::cli {

enum class TrafficBy { time, block };

/// A whole <svg> element: a row for each partition, a column for each stretch of modelled time, or for each
/// of the first blocks; the darker, the more transactions. Each place that has some has a <title> with their
/// number. `core_mhz` turns cycles into microseconds.
std::string traffic_svg(const models::clock::Traffic& traffic, TrafficBy by, double core_mhz,
                        const std::string& title);

}  // namespace lynxpp::cli
