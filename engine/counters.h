// The counters of specifications (cod::SiteCounter): which executions a kernel's variant has to count, and
// how the arrays of a launch follow from what it counted.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "cod/specification.h"
#include "ptx/passes/counting/plan.h"
#include "support/result.h"

namespace lynxpp::engine {

struct Request;

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

/// Whether a counter in a register may reach 2^32 in a launch that takes this long: it is incremented at most
/// once per iteration of a loop, and an iteration takes two cycles at least; paced tallies grow by one a
/// cycle at most, and so do counters with several places, each of which is an instruction. `clock_khz` 0: not
/// known.
bool may_wrap(const Counting& counting, double milliseconds, std::uint32_t clock_khz);

/// Whether counts are wrong perhaps because an index of 32 bits wrapped around between the lanes of an access
/// (ptx/passes/memory/index_checks.h). CountingChoices::wide assumes nothing about indices. `slots` as for
/// fill_counted_arrays().
bool may_wrap_indices(const Counting& counting, std::span<const std::uint64_t> slots);

/// What the pipeline has to count, for KernelCounting::demand. Fills in all of `counting` but the plan.
/// Precondition: unit.spliced.probes are those of the request's handlers, in order, and unit.memory is
/// planned. Counts the sites of handlers that are counted.
ptx::CountRequest ask_for_counts(const Request& request, ptx::InstrumentationUnit& unit, Counting& counting);

/// Adds to arrays[specification][array] what the launch executed. `slots` are the CountPlan::slots() numbers
/// the device left.
void fill_counted_arrays(const Counting& counting,
                         const std::vector<std::shared_ptr<const cod::Specification>>& specifications,
                         std::span<const std::uint64_t> slots, const ptx::LaunchedGrid& launched,
                         std::span<const std::vector<std::span<std::byte>>> arrays);

}  // namespace lynxpp::engine
