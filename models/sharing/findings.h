// Findings about arrays by who visits them, made by rules: what cuThermo leaves to whoever looks at its maps.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "models/sharing/sharing.h"

namespace lynxpp::models::sharing {

struct Finding {
  std::string_view rule;  ///< "hot_words", "unused_words", "shared_sectors", "misaligned", "strided", "read_again"
  std::string array;
  std::string place;  ///< of the instruction; empty: the array as a whole
  std::string text;   ///< what holds, with its numbers
};

/// By array, in the order of the rules:
///
///   hot_words       one word has 8 times the visits of the mean, and 32 at least
///   unused_words    of device memory: of a visited sector at most half of the words were visited, in the mean
///   shared_sectors  of device memory: more than one block visited half of the sectors or more
///   misaligned      of device memory: half of an instruction's executions access neighbours that begin inside of a sector
///   strided         of device memory: half of an instruction's executions leave gaps between the lanes
///   read_again      of device memory: a warp reads a word 4 times or more, in the mean
std::vector<Finding> findings_of(const Sharing& sharing, const Observation& observation);

}  // namespace lynxpp::models::sharing
