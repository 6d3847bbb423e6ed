// The code of loops whose counts are read after them: trip counts, and lane maxima.
#pragma once

#include <optional>

#include "ptx/passes/counting/emit/context.h"

namespace lynxpp::ptx {

/// Where a loop with a trip count is entered, for the lanes for which the guard holds.
void append_loop_entry(CodeBuilder& code, const CountContext& context, const TripCountReading& reading,
                       const std::optional<CodePredicate>& guard);

/// How often the thread has run the trip count's block: 32 bits.
CodeOperand read_trip_count(CodeBuilder& code, const CountContext& context, const TripCountReading& reading);

/// At LaneLoop::begin of the loop: which lanes are here, and what they have counted so far.
void append_lane_loop_begin(CodeBuilder& code, const CountContext& context, std::uint32_t loop);

/// At its end: the warp counts as much as the lane that has counted most since.
void append_lane_loop_end(CodeBuilder& code, const CountContext& context, std::uint32_t loop);

}  // namespace lynxpp::ptx
