#include "engine/counters.h"

#include <algorithm>
#include <map>
#include <tuple>

#include "engine/elements.h"
#include "engine/instrument.h"
#include "ptx/ir/memory_access.h"

namespace lynxpp::engine {
namespace {

using Kind = ptx::Quantity::Kind;

/// Collects the terms of one request.
class TermCollector {
 public:
  TermCollector(const Request& request, ptx::InstrumentationUnit& unit) : request_(request), unit_(unit) {}

  bool has_paced_tallies = false;

  std::vector<CountTerm> run() {
    std::size_t first_probe = 0;
    for (std::uint32_t index = 0; index < request_.specifications.size(); ++index) {
      const cod::Specification& specification = *request_.specifications[index];
      specification_ = &specification;
      term_.specification = index;
      std::vector<std::uint64_t> sites(specification.handlers().size());
      for (const cod::SiteCounter& counter : specification.counters()) {
        const cod::Handler& handler = specification.handlers()[counter.handler];
        if (!handler.wants_kernel(request_.kernel)) continue;
        counter_ = &counter;
        probe_ = &unit_.spliced.probes[first_probe + counter.handler];
        sites[counter.handler] = collect();
      }
      collect_tallies(static_cast<std::uint32_t>(first_probe));
      for (std::size_t i = 0; i < sites.size(); ++i) {
        if (specification.handlers()[i].is_counted) unit_.spliced.probes[first_probe + i].sites = sites[i];
      }
      first_probe += specification.handlers().size();
    }
    merge();
    return std::move(terms_);
  }

 private:
  std::uint64_t collect() {
    std::uint64_t sites = 0;
    for (const ptx::FunctionUnit& function : unit_.reached.functions) {
      if (!function.instrumented) continue;
      for (std::uint32_t block = 0; block < function.graph().blocks.size(); ++block) {
        sites += probe_->point == ptx::ProbePoint::instruction ? collect_instructions(function, block)
                                                               : collect_block(function, block);
      }
    }
    return sites;
  }

  static bool is_last(const ptx::BasicBlock& range, std::uint32_t index) { return index + 1 == range.end; }

  std::uint64_t collect_block(const ptx::FunctionUnit& function, std::uint32_t block) {
    const ptx::BasicBlock& range = function.graph().blocks[block];
    const std::uint32_t id = function.first_block + block;
    const std::uint64_t element = element_of(id, 0);
    const Kind kind = counter_->counts_warps ? Kind::warp_block : Kind::thread_block;
    if (counter_->addend != cod::SiteCounter::Addend::executed) {
      add(element, kind, id, addend_of(function, block));
      return 1;
    }
    std::uint64_t unguarded = 0;
    for (std::uint32_t i = range.begin; i < range.end; ++i) {
      if (function.function->body->instructions[i].guarded()) {
        add(element, Kind::thread_guard, function.first_instruction + i, 1);
      } else {
        ++unguarded;
      }
    }
    if (unguarded != 0) add(element, Kind::thread_block, id, unguarded);
    return 1;
  }

  /// Handlers of instructions run for the lanes whose guard holds, those of branches for all.
  std::uint64_t collect_instructions(const ptx::FunctionUnit& function, std::uint32_t block) {
    std::uint64_t sites = 0;
    const ptx::BasicBlock& range = function.graph().blocks[block];
    for (std::uint32_t i = range.begin; i < range.end; ++i) {
      const ptx::Instruction& instruction = function.function->body->instructions[i];
      if (!probe_->matches(instruction)) continue;
      ++sites;
      const std::uint32_t block_id = function.first_block + block;
      const std::uint32_t id = function.first_instruction + i;
      const bool guarded = instruction.guarded() && instruction.traits.kind != ptx::OpcodeClass::branch;
      const Kind by_threads = guarded ? Kind::thread_guard : Kind::thread_block;
      const Kind by_warps = guarded ? Kind::warp_guard : Kind::warp_block;
      const std::uint64_t addend = addend_at(function, block, instruction);
      if (counter_->counts_divisions) {
        if (divides(function, block, instruction))
          add(element_of(block_id, id), Kind::divergence, id, addend);
        continue;
      }
      add(element_of(block_id, id), counter_->counts_warps ? by_warps : by_threads, guarded ? id : block_id,
          addend);
    }
    return sites;
  }

  /// Whether lanes may go to different places from a `bra`.
  static bool divides(const ptx::FunctionUnit& function, std::uint32_t block,
                      const ptx::Instruction& instruction) {
    const ptx::BasicBlock& range = function.graph().blocks[block];
    return instruction.guarded() && !range.targets.empty() && range.targets[0] != range.fall_through;
  }

  void collect_tallies(std::uint32_t first_probe) {
    const std::vector<cod::Tally>& tallies = specification_->tallies();
    for (std::uint32_t number = 0; number < tallies.size(); ++number) {
      const cod::Tally& wanted = tallies[number];
      ptx::Probe& probe = unit_.spliced.probes[first_probe + wanted.handler];
      if (!probe.enabled) continue;
      probe.tallies.push_back(number);
      has_paced_tallies |= wanted.is_paced;
      term_.array = wanted.array;
      for (const ptx::FunctionUnit& function : unit_.reached.functions) {
        if (!function.instrumented) continue;
        const auto& instructions = function.function->body->instructions;
        for (std::uint32_t i = 0; i < instructions.size(); ++i) {
          if (!probe.matches(instructions[i])) continue;
          if (wanted.is_wide_only && bytes_at(probe, instructions[i]) <= 4) continue;
          const std::uint32_t id = function.first_instruction + i;
          const std::uint32_t block = function.first_block + function.graph().block_of[i];
          const std::uint64_t element = element_of(wanted.array, wanted.indices, block, id);
          const std::optional<std::uint32_t> measured =
              unit_.memory.measured_at(first_probe + wanted.handler, id);
          if (!measured) {
            if (probe.effect == ptx::ProbeEffect::measures_sectors)
              add_by_warps(element, instructions[i], block, id, 1);
            continue;
          }
          const ptx::MemorySite* const site = unit_.memory.find(first_probe + wanted.handler, *measured);
          if (site != nullptr && site->rows) {
            const std::uint64_t sectors = site->rows->sectors;
            add_by_warps(element, instructions[i], block, id, sectors);
            // One for the handler, whatever its numbers are: they all grow by one for each sector.
            term_.quantity.tally = {first_probe + wanted.handler, static_cast<std::uint32_t>(tallies.size()),
                                    false, *measured};
            term_.quantity.tally.is_exception = true;
            add(element, Kind::tally, id, 0 - sectors);
          }
          for (const bool is_high : {false, true}) {
            if (is_high && (wanted.adds_one || wanted.is_paced || request_.counting.wide)) continue;
            term_.quantity.tally = {first_probe + wanted.handler, number, is_high, *measured};
            add(element, Kind::tally, id, is_high ? std::uint64_t{1} << 32 : 1);
          }
        }
      }
    }
    term_.quantity.tally = {};
  }

  /// For an access, which no branch is.
  void add_by_warps(std::uint64_t element, const ptx::Instruction& instruction, std::uint32_t block,
                    std::uint32_t id, std::uint64_t addend) {
    term_.quantity.tally = {};
    term_.element = element;
    term_.quantity.kind = instruction.guarded() ? Kind::warp_guard : Kind::warp_block;
    term_.quantity.place = instruction.guarded() ? id : block;
    term_.addend = addend;
    terms_.push_back(term_);
  }

  std::uint64_t addend_at(const ptx::FunctionUnit& function, std::uint32_t block,
                          const ptx::Instruction& instruction) const {
    if (counter_->addend == cod::SiteCounter::Addend::access_size) return instruction.traits.access_bytes();
    if (counter_->addend != cod::SiteCounter::Addend::bank_groups) return addend_of(function, block);
    const std::uint32_t bytes = bytes_at(*probe_, instruction);
    return bytes > 8 ? 4 : bytes > 4 ? 2 : 1;
  }

  /// What the handler knows as accessSize().
  static std::uint32_t bytes_at(const ptx::Probe& probe, const ptx::Instruction& instruction) {
    const std::optional<ptx::MemoryAccess> access = probe.access_at(instruction);
    return access ? access->bytes : 0;
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

  std::uint64_t element_of(std::uint32_t block, std::uint32_t instruction) const {
    return element_of(counter_->array, counter_->indices, block, instruction);
  }

  std::uint64_t element_of(std::uint32_t array_index, const std::vector<cod::CounterIndex>& indices,
                           std::uint32_t block, std::uint32_t instruction) const {
    const cod::GlobalArray& array = specification_->arrays()[array_index];
    cod::LaunchExtents extents;
    extents.basic_blocks = unit_.reached.basic_blocks;
    extents.instructions = unit_.reached.instructions;
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

  void add(std::uint64_t element, Kind kind, std::uint32_t place, std::uint64_t addend) {
    if (kind != Kind::tally) term_.array = counter_->array;
    term_.element = element;
    term_.quantity.kind = kind;
    term_.quantity.place = kind == Kind::tally ? 0 : place;
    term_.addend = addend;
    terms_.push_back(term_);
  }

  /// One term for each element and place.
  void merge() {
    const auto key = [](const CountTerm& term) {
      return std::tuple(term.specification, term.array, term.element, term.quantity);
    };
    std::ranges::sort(terms_, {}, key);
    std::size_t kept = 0;
    for (std::size_t i = 0; i < terms_.size(); ++i) {
      if (kept != 0 && key(terms_[kept - 1]) == key(terms_[i])) {
        terms_[kept - 1].addend += terms_[i].addend;
      } else {
        terms_[kept++] = terms_[i];
      }
    }
    terms_.resize(kept);
  }

  const Request& request_;
  ptx::InstrumentationUnit& unit_;
  const cod::Specification* specification_ = nullptr;
  const cod::SiteCounter* counter_ = nullptr;
  const ptx::Probe* probe_ = nullptr;
  CountTerm term_;
  std::vector<CountTerm> terms_;
};

/// What the arrays are made of: their elements are sums.
std::vector<ptx::CountUse> uses_of(const std::vector<CountTerm>& terms, std::uint32_t& sums) {
  std::map<std::tuple<std::uint32_t, std::uint32_t, std::uint64_t>, std::uint32_t> known;
  std::vector<ptx::CountUse> uses;
  for (const CountTerm& term : terms) {
    const auto next = static_cast<std::uint32_t>(known.size());
    const std::uint32_t sum =
        known.try_emplace({term.specification, term.array, term.element}, next).first->second;
    uses.push_back({term.quantity, sum, term.addend});
  }
  sums = static_cast<std::uint32_t>(known.size());
  return uses;
}

/// One for each function whose indices are checked; a number that none of the probe's tallies has.
std::vector<ptx::Tally> marks_of(const ptx::InstrumentationUnit& unit) {
  const auto measures = std::ranges::find_if(unit.spliced.probes, [](const ptx::Probe& probe) {
    return probe.enabled && probe.effect == ptx::ProbeEffect::measures_sectors;
  });
  std::vector<ptx::Tally> marks;
  if (measures == unit.spliced.probes.end()) return marks;
  std::uint32_t number = 0;
  for (const std::uint32_t each : measures->tallies) number = std::max(number, each + 2);
  for (const auto& [function, checks] : unit.memory.index_checks) {
    ptx::Tally mark{static_cast<std::uint32_t>(measures - unit.spliced.probes.begin()), number, false,
                    unit.reached.functions[function].first_instruction + checks.begin()->instruction};
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
  const auto has_several_places = [](const ptx::FunctionCounters& function) {
    return std::ranges::any_of(function.accumulators,
                               [](const ptx::Accumulator& each) { return each.increments.size() > 1; });
  };
  const std::vector<ptx::FunctionCounters>& functions = counting.plan->functions;
  if (counting.plan->is_wide || std::ranges::none_of(functions, has_registers)) return false;
  const bool may_grow_each_cycle =
      counting.has_paced_tallies || std::ranges::any_of(functions, has_several_places);
  const double cycles_to_wrap = (may_grow_each_cycle ? 1.0 : 2.0) * 4294967296.0;
  return milliseconds * (clock_khz == 0 ? fastest_khz : clock_khz) >= cycles_to_wrap;
}

ptx::CountRequest ask_for_counts(const Request& request, ptx::InstrumentationUnit& unit, Counting& counting) {
  TermCollector collector(request, unit);
  counting.terms = collector.run();
  counting.has_paced_tallies = collector.has_paced_tallies;
  ptx::CountRequest wanted;
  if (counting.terms.empty()) return wanted;
  wanted.uses = uses_of(counting.terms, wanted.sums);
  counting.marks = marks_of(unit);
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
