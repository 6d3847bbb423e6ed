// Emits code for divergent loops, whose lane maxima are read after the loop.
#pragma once

#include "ptx/passes/counting/emit/context.h"

namespace lynxpp::ptx {

/// At LaneMaximum::begin: zeroes or keeps the active lanes' counts.
void append_lane_loop_begin(CodeBuilder& code, const CountContext& context, const LaneMaximum& maximum);

/// At the loop's end: adds to the warp's counter the maximum of the lanes' counts since the begin.
void append_lane_loop_end(CodeBuilder& code, const CountContext& context, const LaneMaximum& maximum,
                          const Counter& counter);

}  // namespace lynxpp::ptx
