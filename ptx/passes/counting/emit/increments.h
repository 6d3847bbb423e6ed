// The code of increments that stand at one place.
#pragma once

#include <optional>
#include <vector>

#include "ptx/passes/counting/emit/context.h"

namespace lynxpp::ptx {

/// Counters whose accumulators are incremented at one place on one condition.
using IncrementedCounters = std::vector<const Counter*>;

/// One for each execution; with a guard for the lanes for which it holds.
void append_increments(CodeBuilder& code, const CountContext& context, const IncrementedCounters& counters,
                       const std::optional<CodePredicate>& guard);

/// One for the warp, when the guard holds for some of its lanes and not for others.
void append_divergences(CodeBuilder& code, const CountContext& context, const IncrementedCounters& counters,
                        const CodePredicate& guard);

/// By what the trip count reads, for all lanes that are here.
void append_trip_count(CodeBuilder& code, const CountContext& context, const IncrementedCounters& counters,
                       const TripCountReading& reading);

/// Sets a bit, or adds to a number, where `guard` holds: what lies in no register shared by tallies.
void append_increment(CodeBuilder& code, const CountContext& context, const Accumulator& accumulator,
                      const CodeOperand& amount, const std::optional<CodePredicate>& guard);

}  // namespace lynxpp::ptx
