// Rule-based findings about the sharing of arrays, which cuThermo leaves to the reader of its maps.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "models/sharing/sharing.h"

namespace lynxpp::models::sharing {

struct Finding {
  std::string_view rule;  ///< its name: "hot_words"
  std::string array;
  std::string location;  ///< of the instruction; empty: the entire array
  std::string text;      ///< the finding, with its counts
};

/// Returns the findings by array, in the order of the rules:
///
///   hot_words       one word has at least 8 times the average number of visits, and at least 32
///
/// and, for device memory,
///
///   unused_words    at most half of the words of a visited sector were visited, on average
///   shared_sectors  more than one block visited at least half of the sectors
///   misaligned      half of an instruction's executions access neighbours that start inside a sector
///   strided         half of an instruction's executions leave gaps between the lanes
///   read_again      a warp reads a word 4 times or more, on average
std::vector<Finding> findings_of(const Sharing& sharing, const Observation& observation);

}  // namespace lynxpp::models::sharing
