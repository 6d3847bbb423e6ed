// Findings about arrays by who visits them, made by rules: what cuThermo leaves to whoever looks at its maps.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "models/sharing/sharing.h"

namespace lynxpp::models::sharing {

struct Finding {
  std::string_view rule;  ///< its name: "hot_words"
  std::string array;
  std::string place;  ///< of the instruction; empty: the array as a whole
  std::string text;   ///< what holds, with its numbers
};

/// By array, in the order of the rules:
///
///   hot_words       one word has 8 times the visits of the mean, and 32 at least
///
/// and of device memory
///
///   unused_words    of a visited sector at most half of the words were visited, in the mean
///   shared_sectors  more than one block visited half of the sectors or more
///   misaligned      half of an instruction's executions access neighbours that begin inside of a sector
///   strided         half of an instruction's executions leave gaps between the lanes
///   read_again      a warp reads a word 4 times or more, in the mean
std::vector<Finding> findings_of(const Sharing& sharing, const Observation& observation);

}  // namespace lynxpp::models::sharing
