#include "engine/counters.h"

#include <algorithm>
#include <tuple>

#include "engine/elements.h"
#include "ptx/ir/memory_access.h"

namespace lynxpp::engine {
namespace {

using Kind = ptx::Quantity::Kind;

/// Collects the terms of one request.
class TermCollector {
 public:
  TermCollector(const Request& request, const ptx::ReachedFunctions& reached, const ptx::MemorySites& memory,
                std::vector<ptx::Probe>& probes, Counting& counting)
      : request_(request), reached_(reached), memory_(memory), probes_(probes), counting_(counting) {}

  void run() {
    std::uint32_t first_probe = 0;
    for (index_ = 0; index_ < request_.specifications.size(); ++index_) {
      specification_ = request_.specifications[index_].get();
      for (const cod::SiteCounter& counter : specification_->counters()) {
        const cod::Handler& handler = specification_->handlers()[counter.handler];
        if (!handler.wants_kernel(request_.kernel)) continue;
        counter_ = &counter;
        ptx::Probe& probe = probes_[first_probe + counter.handler];
        const std::uint64_t sites = collect(probe);
        if (handler.is_counted) probe.sites = sites;
      }
      collect_tallies(first_probe);
      first_probe += static_cast<std::uint32_t>(specification_->handlers().size());
    }
    merge();
  }

 private:
  std::uint64_t collect(const ptx::Probe& probe) {
    std::uint64_t sites = 0;
    for (const ptx::FunctionUnit& function : reached_.instrumented()) {
      for (std::uint32_t block = 0; block < function.graph().blocks.size(); ++block) {
        if (probe.point == ptx::ProbePoint::instruction) {
          sites += collect_instructions(probe, function, block);
        } else {
          collect_block(function, block);
          ++sites;
        }
      }
    }
    return sites;
  }

  void collect_block(const ptx::FunctionUnit& function, std::uint32_t block) {
    const ptx::BasicBlock& range = function.graph().blocks[block];
    const std::uint32_t id = function.first_block + block;
    if (counter_->addend != cod::SiteCounter::Addend::executed)
      return add(*counter_, id, 0, executions(counter_->counts_warps, false, id, 0),
                 addend_of(function, block));
    std::uint64_t unguarded = 0;
    for (std::uint32_t i = range.begin; i < range.end; ++i) {
      if (function.function->body->instructions[i].guarded()) {
        add(*counter_, id, 0, executions(false, true, id, function.first_instruction + i), 1);
      } else {
        ++unguarded;
      }
    }
    if (unguarded != 0) add(*counter_, id, 0, executions(false, false, id, 0), unguarded);
  }

  /// Instruction handlers run for the lanes whose guard holds, branch handlers for all active lanes.
  std::uint64_t collect_instructions(const ptx::Probe& probe, const ptx::FunctionUnit& function,
                                     std::uint32_t block) {
    std::uint64_t sites = 0;
    const ptx::BasicBlock& range = function.graph().blocks[block];
    const std::uint32_t block_id = function.first_block + block;
    for (std::uint32_t i = range.begin; i < range.end; ++i) {
      const ptx::Instruction& instruction = function.function->body->instructions[i];
      if (!probe.matches(instruction)) continue;
      ++sites;
      const std::uint32_t id = function.first_instruction + i;
      const bool guarded = instruction.guarded() && instruction.traits.kind != ptx::OpcodeClass::branch;
      const std::optional<ptx::MemoryAccess> access = probe.access_at(instruction);
      const std::uint64_t addend = addend_at(access, function, block);
      if (access && access->selects_lanes()) {
        add_taking(*access, block_id, id, addend);
      } else if (!counter_->counts_divergences) {
        add(*counter_, block_id, id, executions(counter_->counts_warps, guarded, block_id, id), addend);
      } else if (may_diverge(function, block, instruction)) {
        add(*counter_, block_id, id, {Kind::divergence, id, {}}, addend);
      }
    }
    return sites;
  }

  /// Adds counters for an access that selects its lanes: handlers run for those that take part.
  void add_taking(const ptx::MemoryAccess& access, std::uint32_t block, std::uint32_t instruction,
                  std::uint64_t addend) {
    const bool by_warps = counter_->counts_warps;
    add(*counter_, block, instruction, {by_warps ? Kind::warp_taking : Kind::thread_taking, instruction, {}},
        addend);
    if (counter_->addend != cod::SiteCounter::Addend::access_size || access.size == nullptr) return;
    add(*counter_, block, instruction,
        {by_warps ? Kind::warp_surplus : Kind::thread_surplus, instruction, {}}, 1);
  }

  /// True if lanes may diverge at a `bra`.
  static bool may_diverge(const ptx::FunctionUnit& function, std::uint32_t block,
                          const ptx::Instruction& instruction) {
    const ptx::BasicBlock& range = function.graph().blocks[block];
    return instruction.guarded() && !range.targets.empty();
  }

  void collect_tallies(std::uint32_t first_probe) {
    const std::vector<cod::Tally>& tallies = specification_->tallies();
    for (std::uint32_t number = 0; number < tallies.size(); ++number) {
      const cod::Tally& wanted = tallies[number];
      ptx::Probe& probe = probes_[first_probe + wanted.handler];
      if (!probe.enabled) continue;
      probe.tallies.push_back(number);
      counting_.has_paced_tallies |= wanted.is_paced;
      for (const ptx::FunctionUnit& function : reached_.instrumented()) {
        const auto& instructions = function.function->body->instructions;
        for (std::uint32_t i = 0; i < instructions.size(); ++i) {
          if (!probe.matches(instructions[i])) continue;
          if (is_left_out(wanted, probe, instructions[i])) continue;
          collect_tally(first_probe + wanted.handler, number, function, i);
        }
      }
    }
  }

  /// True if a handler adds 0 at the probe.
  static bool is_left_out(const cod::Tally& wanted, const ptx::Probe& probe,
                          const ptx::Instruction& instruction) {
    const std::optional<ptx::MemoryAccess> access = probe.access_at(instruction);
    const bool measures = probe.effect == ptx::ProbeEffect::measures_sectors ||
                          probe.effect == ptx::ProbeEffect::measures_banks;
    if (measures && (!access || !access->follows_from_lanes())) return true;
    return wanted.is_wide_only && access && access->bytes <= 4;
  }

  /// Collects a tally at one access.
  void collect_tally(std::uint32_t probe, std::uint32_t number, const ptx::FunctionUnit& function,
                     std::uint32_t index) {
    const cod::Tally& wanted = specification_->tallies()[number];
    const std::uint32_t block = function.first_block + function.graph().block_of[index];
    const std::uint32_t id = function.first_instruction + index;
    // An access is never a branch, so the guard applies.
    const ptx::Quantity by_warps =
        executions(true, function.function->body->instructions[index].guarded(), block, id);
    const std::optional<std::uint32_t> measured = memory_.measured_at(probe, id);
    if (!measured) {
      if (probes_[probe].effect == ptx::ProbeEffect::measures_sectors) add(wanted, block, id, by_warps, 1);
      return;
    }
    const ptx::MemorySite* const site = memory_.find(probe, *measured);
    if (site != nullptr && site->rows) {
      const std::uint64_t sectors = site->rows->sectors;
      add(wanted, block, id, by_warps, sectors);
      // One per handler, whatever its tally numbers: all of them grow by one per sector.
      ptx::Tally exception{probe, static_cast<std::uint32_t>(specification_->tallies().size()), false,
                           *measured};
      exception.is_exception = true;
      add(wanted, block, id, {Kind::tally, 0, exception}, 0 - sectors);
    }
    for (const bool is_high : {false, true}) {
      if (is_high && (wanted.adds_one || wanted.is_paced || request_.counting.wide)) continue;
      add(wanted, block, id, {Kind::tally, 0, {probe, number, is_high, *measured}},
          is_high ? std::uint64_t{1} << 32 : 1);
    }
  }

  std::uint64_t addend_at(const std::optional<ptx::MemoryAccess>& access, const ptx::FunctionUnit& function,
                          std::uint32_t block) const {
    if (counter_->addend == cod::SiteCounter::Addend::access_size) return access ? access->bytes : 0;
    if (counter_->addend != cod::SiteCounter::Addend::bank_groups) return addend_of(function, block);
    if (!access || !access->follows_from_lanes()) return 0;
    return access->bytes > 8 ? 4 : access->bytes > 4 ? 2 : 1;
  }

  std::uint64_t addend_of(const ptx::FunctionUnit& function, std::uint32_t block) const {
    const ptx::BasicBlock& range = function.graph().blocks[block];
    if (counter_->addend == cod::SiteCounter::Addend::constant) return counter_->constant;
    if (counter_->addend == cod::SiteCounter::Addend::instructions) return range.size();
    const auto& instructions = function.function->body->instructions;
    return static_cast<std::uint64_t>(
        std::count_if(instructions.begin() + range.begin, instructions.begin() + range.end,
                      [](const ptx::Instruction& each) { return each.guarded(); }));
  }

  /// Returns the quantity of a block, or of an instruction for the lanes whose guard holds.
  static ptx::Quantity executions(bool by_warps, bool guarded, std::uint32_t block,
                                  std::uint32_t instruction) {
    if (guarded) return {by_warps ? Kind::warp_guard : Kind::thread_guard, instruction, {}};
    return {by_warps ? Kind::warp_block : Kind::thread_block, block, {}};
  }

  /// Adds to the element of a counter or tally at a block and one of its instructions.
  template <typename Counter>
  void add(const Counter& counter, std::uint32_t block, std::uint32_t instruction,
           const ptx::Quantity& quantity, std::uint64_t addend) {
    const std::uint64_t element = element_of(counter.array, counter.indices, block, instruction);
    counting_.terms.push_back({index_, counter.array, element, quantity, addend});
  }

  std::uint64_t element_of(std::uint32_t array_index, const std::vector<cod::CounterIndex>& indices,
                           std::uint32_t block, std::uint32_t instruction) const {
    const cod::GlobalArray& array = specification_->arrays()[array_index];
    cod::LaunchExtents extents;
    extents.basic_blocks = reached_.basic_blocks;
    extents.instructions = reached_.instructions;
    std::uint64_t element = 0;
    for (std::size_t i = 0; i < array.dimensions.size(); ++i) {
      const cod::CounterIndex& index = indices[i];
      element *= cod::value_of(array.dimensions[i], extents);
      switch (index.kind) {
        case cod::CounterIndex::Kind::constant: element += index.constant; break;
        case cod::CounterIndex::Kind::basic_block: element += block; break;
        case cod::CounterIndex::Kind::instruction: element += instruction; break;
      }
    }
    return element;
  }

  /// Merges terms: one per element and quantity, in this order.
  void merge() {
    const auto key = [](const CountTerm& term) {
      return std::tuple(term.specification, term.array, term.element, term.quantity);
    };
    std::ranges::sort(counting_.terms, {}, key);
    std::vector<CountTerm> merged;
    for (const CountTerm& term : counting_.terms) {
      if (!merged.empty() && key(merged.back()) == key(term)) {
        merged.back().addend += term.addend;
      } else {
        merged.push_back(term);
      }
    }
    counting_.terms = std::move(merged);
  }

  const Request& request_;
  const ptx::ReachedFunctions& reached_;
  const ptx::MemorySites& memory_;
  std::vector<ptx::Probe>& probes_;
  Counting& counting_;
  std::uint32_t index_ = 0;  ///< of the specification
  const cod::Specification* specification_ = nullptr;
  const cod::SiteCounter* counter_ = nullptr;
};

/// Returns the sums whose values the array elements are. `terms` must be in their order.
ptx::CountRequest request_of(const std::vector<CountTerm>& terms) {
  const auto element = [](const CountTerm& term) {
    return std::tuple(term.specification, term.array, term.element);
  };
  ptx::CountRequest wanted;
  for (std::size_t i = 0; i < terms.size(); ++i) {
    if (i == 0 || element(terms[i - 1]) != element(terms[i])) ++wanted.sums;
    wanted.uses.push_back({terms[i].quantity, wanted.sums - 1, terms[i].addend});
  }
  return wanted;
}

/// Returns one mark per function with index checks, with a number that no tally of the probe has.
std::vector<ptx::Tally> marks_of(const ptx::ReachedFunctions& reached, const ptx::MemorySites& memory,
                                 const std::vector<ptx::Probe>& probes) {
  const auto measures = std::ranges::find_if(probes, [](const ptx::Probe& probe) {
    return probe.enabled && probe.effect == ptx::ProbeEffect::measures_sectors;
  });
  std::vector<ptx::Tally> marks;
  if (measures == probes.end()) return marks;
  std::uint32_t number = 0;
  for (const std::uint32_t each : measures->tallies) number = std::max(number, each + 2);
  for (const auto& [function, checks] : memory.index_checks) {
    ptx::Tally mark{static_cast<std::uint32_t>(measures - probes.begin()), number, false,
                    reached.functions[function].first_instruction + checks.begin()->instruction};
    mark.is_mark = true;
    marks.push_back(mark);
  }
  return marks;
}

}  // namespace

bool may_wrap_indices(const Counting& counting, std::span<const std::uint64_t> slots) {
  const ptx::CountPlan& plan = *counting.plan;
  return std::ranges::any_of(counting.marks, [&](const ptx::Tally& mark) {
    for (std::size_t at = plan.counter(plan.tallies.at(mark)).slot; at < slots.size(); at += plan.stride) {
      if (slots[at] != 0) return true;
    }
    return false;
  });
}

bool may_wrap(const Counting& counting, double milliseconds, std::uint32_t clock_khz) {
  constexpr std::uint32_t fastest_khz = 4'000'000;
  const auto has_registers = [](const ptx::FunctionCounters& function) { return function.registers != 0; };
  const auto has_several_points = [](const ptx::FunctionCounters& function) {
    return std::ranges::any_of(function.counters,
                               [](const ptx::Counter& each) { return each.increments.size() > 1; });
  };
  const std::vector<ptx::FunctionCounters>& functions = counting.plan->functions;
  if (counting.plan->is_wide || std::ranges::none_of(functions, has_registers)) return false;
  const bool may_grow_each_cycle =
      counting.has_paced_tallies || std::ranges::any_of(functions, has_several_points);
  const double cycles_to_wrap = (may_grow_each_cycle ? 1.0 : 2.0) * 4294967296.0;
  return milliseconds * (clock_khz == 0 ? fastest_khz : clock_khz) >= cycles_to_wrap;
}

ptx::CountRequest request_counts(const Request& request, const ptx::ReachedFunctions& reached,
                                 const ptx::MemorySites& memory, std::vector<ptx::Probe>& probes,
                                 Counting& counting) {
  TermCollector(request, reached, memory, probes, counting).run();
  ptx::CountRequest wanted = request_of(counting.terms);
  if (counting.terms.empty()) return wanted;
  counting.marks = marks_of(reached, memory, probes);
  for (const ptx::Tally& mark : counting.marks)
    wanted.uses.push_back({{Kind::tally, 0, mark}, wanted.sums++, 1});
  return wanted;
}

void fill_counted_arrays(const Counting& counting, const std::vector<SpecificationPtr>& specifications,
                         std::span<const std::uint64_t> slots, const ptx::LaunchedGrid& launched,
                         std::span<const std::vector<std::span<std::byte>>> arrays) {
  const std::vector<std::uint64_t> values = counting.plan->evaluate(slots, launched);
  for (const CountTerm& term : counting.terms) {
    const std::uint64_t amount = term.addend * values[counting.plan->quantities.at(term.quantity)];
    const cod::GlobalArray& array = specifications[term.specification]->arrays()[term.array];
    Elements(arrays[term.specification][term.array], cod::size_of(array.type)).add(term.element, amount);
  }
}

}  // namespace lynxpp::engine
