// Pictures of memory traffic per partition, as in CampProf's Figures 11 and 12.
#pragma once

#include <string>

#include "models/clock/kernel_time.h"

namespace lynxpp::cli {

enum class TrafficBy { time, block };

/// Returns a whole <svg> element: a row per partition, a column per interval of modelled time, or per block
/// for the first blocks; darker means more transactions. Cells with traffic have a <title> with the count.
/// `core_mhz` converts cycles to microseconds.
std::string traffic_svg(const models::clock::Traffic& traffic, TrafficBy by, double core_mhz,
                        const std::string& title);

}  // namespace lynxpp::cli
