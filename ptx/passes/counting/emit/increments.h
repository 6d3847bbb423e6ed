// Emits the increments of one program point, and the maxima over the lanes of divergent loops.
#pragma once

#include <optional>
#include <vector>

#include "ptx/passes/counting/emit/context.h"

namespace lynxpp::ptx {

/// The active lanes at a program point and their leader, determined once for all counters there.
class Election {
 public:
  VirtualRegister mask(CodeBuilder& code);
  VirtualRegister leader(CodeBuilder& code);

 private:
  std::optional<VirtualRegister> mask_, leader_;
};

/// Adds one per execution.
void append_increments(CodeBuilder& code, const CountContext& context, const IncrementedCounters& counters,
                       Election& election);

/// Counters in memory of warps whose lanes all reach a program point (mask `here`) and take the same side of
/// its branch.
struct ConvergedWarps {
  IncrementedCounters counters;
  CodeOperand here = -1;
};

/// Adds one per execution in which the guard holds.
void append_guarded_increments(CodeBuilder& code, const CountContext& context,
                               const IncrementedCounters& counters, const CodePredicate& guard,
                               const ConvergedWarps& converged = {});

/// Adds one per warp for which the guard holds in some lanes but not in all.
void append_divergences(CodeBuilder& code, const CountContext& context, const IncrementedCounters& counters,
                        const CodePredicate& guard);

/// Adds the bytes of a participating lane minus `expected`, if they differ.
void append_surplus(CodeBuilder& code, const CountContext& context, const IncrementedCounters& counters,
                    const CodePredicate& takes, const CodeOperand& bytes, std::uint32_t expected);

/// At LaneMaximum::begin: zeroes or keeps the active lanes' counts.
void append_lane_loop_begin(CodeBuilder& code, const CountContext& context, const LaneMaximum& maximum);

/// At the loop's end: adds to the warp's counter the maximum of the lanes' counts since the begin.
void append_lane_loop_end(CodeBuilder& code, const CountContext& context, const LaneMaximum& maximum,
                          const Counter& counter);

}  // namespace lynxpp::ptx
