// Emits code for loops whose counts are read after the loop: trip counts and lane maxima.
#pragma once

#include <optional>

#include "ptx/passes/counting/emit/context.h"

namespace lynxpp::ptx {

/// At an entry of a loop with a trip count, for the lanes for which the guard holds.
void append_loop_entry(CodeBuilder& code, const CountContext& context, const TripCountReading& reading,
                       const std::optional<CodePredicate>& guard);

/// Returns the number of times that the thread has executed the trip count's block (32 bits).
CodeOperand read_trip_count(CodeBuilder& code, const CountContext& context, const TripCountReading& reading);

/// At LaneMaximum::begin: zeroes or keeps the active lanes' counts.
void append_lane_loop_begin(CodeBuilder& code, const CountContext& context, const LaneMaximum& maximum);

/// At the loop's end: adds to the warp's counter the maximum of the lanes' counts since the begin.
void append_lane_loop_end(CodeBuilder& code, const CountContext& context, const LaneMaximum& maximum,
                          const Counter& counter);

}  // namespace lynxpp::ptx
