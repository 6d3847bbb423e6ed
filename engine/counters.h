// Counters of specifications (cod::SiteCounter): the executions that a kernel's variant must count, and how
// the arrays of a launch are computed from the counts.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "cod/specification.h"
#include "engine/request.h"
#include "ptx/passes/counting/demand.h"
#include "ptx/passes/counting/plan.h"
#include "ptx/passes/memory/sites.h"
#include "ptx/passes/probe.h"
#include "ptx/passes/reached.h"
#include "support/result.h"

namespace lynxpp::engine {

/// `addend` times a quantity, added to an element of an array.
struct CountTerm {
  std::uint32_t specification = 0;  ///< in Request::specifications
  std::uint32_t array = 0;          ///< in Specification::arrays()
  std::uint64_t element = 0;
  ptx::Quantity quantity;
  std::uint64_t addend = 1;
};

struct Counting {
  std::shared_ptr<const ptx::CountPlan> plan;
  std::vector<CountTerm> terms;
  bool has_paced_tallies = false;  ///< cod::Tally::is_paced
  std::vector<ptx::Tally> marks;   ///< ptx::Tally::is_mark
};

/// True if a counter in a register may reach 2^32 in a launch of this duration. It is incremented at most
/// once per loop iteration, which takes at least two cycles; paced tallies, and counters incremented by
/// several instructions, grow by at most one per cycle. `clock_khz` 0: unknown.
bool may_wrap(const Counting& counting, double milliseconds, std::uint32_t clock_khz);

/// True if counts may be wrong because a 32-bit index wrapped around between the lanes of an access
/// (ptx/passes/memory/index_checks.h). CountingChoices::wide makes no assumption about indices. `slots` as
/// for fill_counted_arrays().
bool may_wrap_indices(const Counting& counting, std::span<const std::uint64_t> slots);

/// Returns the counts that the pipeline must collect, for KernelCounting::request, and counts the sites of
/// counted handlers. Fills in all members of `counting` except the plan. `probes` are those of the request's
/// handlers, in order.
ptx::CountRequest request_counts(const Request& request, const ptx::ReachedFunctions& reached,
                                 const ptx::MemorySites& memory, std::vector<ptx::Probe>& probes,
                                 Counting& counting);

/// Adds the launch's executions to arrays[specification][array]. `slots` are the CountPlan::slots() values
/// that the device stored.
void fill_counted_arrays(const Counting& counting,
                         const std::vector<std::shared_ptr<const cod::Specification>>& specifications,
                         std::span<const std::uint64_t> slots, const ptx::LaunchedGrid& launched,
                         std::span<const std::vector<std::span<std::byte>>> arrays);

}  // namespace lynxpp::engine
