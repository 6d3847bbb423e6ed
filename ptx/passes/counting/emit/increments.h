// The code of increments that stand at one place.
#pragma once

#include <optional>
#include <vector>

#include "ptx/passes/counting/emit/context.h"

namespace lynxpp::ptx {

/// Counters whose accumulators are incremented at one place on one condition.
using IncrementedCounters = std::vector<const Counter*>;

/// The lanes that come to a place together, and which of them leads; determined once, however much is counted
/// there.
class Election {
 public:
  VirtualRegister mask(CodeBuilder& code);
  VirtualRegister leader(CodeBuilder& code);

 private:
  std::optional<VirtualRegister> mask_, leader_;
};

/// One for each execution.
void append_increments(CodeBuilder& code, const CountContext& context, const IncrementedCounters& counters,
                       Election& election);

/// Counters in memory of warps of which all lanes come to a place, `here`, and take one side of its branch.
struct WholeWarps {
  IncrementedCounters counters;
  CodeOperand here = -1;
};

/// One for each execution in which the guard holds.
void append_guarded_increments(CodeBuilder& code, const CountContext& context,
                               const IncrementedCounters& counters, const CodePredicate& guard,
                               const WholeWarps& whole = {});

/// One for the warp, when the guard holds for some of its lanes and not for others.
void append_divergences(CodeBuilder& code, const CountContext& context, const IncrementedCounters& counters,
                        const CodePredicate& guard);

/// Adds the bytes of a lane that takes part minus `expected`, if they differ.
void append_surplus(CodeBuilder& code, const CountContext& context, const IncrementedCounters& counters,
                    const CodePredicate& takes, const CodeOperand& bytes, std::uint32_t expected);

/// By what the trip count reads, for all lanes that are here.
void append_trip_count(CodeBuilder& code, const CountContext& context, const IncrementedCounters& counters,
                       const TripCountReading& reading, Election& election);

}  // namespace lynxpp::ptx
