#include "engine/word_counts.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <set>
#include <tuple>

#include "cod/word_map.h"
#include "engine/elements.h"
#include "ptx/ir/memory_access.h"
#include "ptx/passes/module/shared_addresses.h"
#include "ptx/replay/program_builder.h"
#include "ptx/replay/word_counts.h"

namespace lynxpp::engine {
namespace {

/// The maximum size that devices reserve below the first shared variable: 1024 bytes on sm_80 and later.
constexpr std::uint64_t reserved_shared_bytes = 1024;
/// of a specification's array
constexpr std::uint64_t most_alignment = 16;
constexpr std::uint64_t word_bytes = 4;

bool is_of_shared_words(const cod::GlobalArray& array) {
  return array.dimensions.size() == 1 && array.dimensions[0].extent == cod::Extent::shared_words;
}

bool is_of_device_words(const cod::GlobalArray& array) {
  return cod::is_of_words(array) && !is_of_shared_words(array);
}

/// True if a callee of the kernel may exit the thread.
bool may_exit_in_calls(const ptx::ReachedFunctions& reached) {
  const auto exits = [](const ptx::Instruction& instruction) { return instruction.traits.is_thread_exit(); };
  const auto may_exit = [&](const ptx::FunctionUnit& function) {
    return !function.function->is_entry && std::ranges::any_of(function.function->body->instructions, exits);
  };
  return reached.calls_indirectly || std::ranges::any_of(reached.functions, may_exit);
}

void find_names(const ptx::OperandList& operands, std::set<std::string_view>& names) {
  for (const ptx::Operand& operand : operands) {
    if (operand.kind == ptx::OperandKind::identifier) names.insert(operand.name);
    find_names(operand.elements, names);
  }
}

/// True if a specification uses shared variables' addresses.
bool asks_for_shared_memory(const SpecificationPtr& specification) {
  return specification->lists_arrays() ||
         std::ranges::any_of(specification->arrays(), [](const cod::GlobalArray& array) {
           return std::ranges::any_of(array.dimensions, [](const cod::Dimension& each) {
             return each.extent == cod::Extent::shared_words;
           });
         });
}

/// If not `all`, finds only those whose addresses replay needs.
void find_shared_arrays(ptx::InstrumentationUnit& unit, bool all, WordCounting& counting) {
  std::set<std::string_view> named;
  for (const ptx::FunctionUnit& function : unit.reached.functions) {
    for (const ptx::Instruction& instruction : function.function->body->instructions)
      find_names(instruction.operands, named);
  }
  counting.static_shared_bytes = reserved_shared_bytes;
  const auto add_static = [&](const ptx::Variable& variable) {
    if (variable.space != ptx::StateSpace::shared) return;
    counting.static_shared_bytes += variable.size_bytes() + variable.alignment;
  };
  for (const ptx::FunctionUnit& function : unit.reached.functions)
    std::ranges::for_each(function.function->body->variables, add_static);
  for (const ptx::Variable& variable : unit.module.variables) {
    if (named.contains(variable.name)) add_static(variable);
  }
  // Arrays of the specifications may precede those of the program.
  for (const ptx::ModuleVariable& variable : unit.spliced.variables) {
    if (variable.space == ptx::StateSpace::shared && variable.bytes != 0)
      counting.static_shared_bytes += variable.bytes + most_alignment;
  }
  for (const ptx::FunctionUnit& function : unit.reached.instrumented()) {
    for (const ptx::Variable* each : ptx::addressable_shared_variables(unit.module, *function.function)) {
      if (!named.contains(each->name)) continue;
      const bool is_dynamic = each->is_extern && each->size_bytes() == 0;
      const bool is_own = function.function->body->find_variable(each->name, 0) == each;
      WordCounting::SharedArray array{each->name, each->size_bytes(), is_dynamic};
      if (is_own) array.function = unit.reached.position_of(function);
      const ptx::ReplayVariable asked{each->name, array.function};
      if (!all && std::ranges::find(counting.program.variables, asked) == counting.program.variables.end())
        continue;
      counting.shared_arrays.push_back(std::move(array));
      unit.words.shared.variables.push_back({each->name, function.function});
    }
  }
}

/// Considers the entire module: pointers may refer to variables that the kernel does not name.
void find_device_variables(const Request& request, const ptx::InstrumentationUnit& unit,
                           WordCounting& counting) {
  if (!request.variable_address) return;
  for (const ptx::Variable& each : unit.module.variables) {
    if (each.space != ptx::StateSpace::global) continue;
    if (const std::optional<std::uint64_t> address = request.variable_address(each.name))
      counting.device_variables.push_back({each.name, *address, each.size_bytes()});
  }
}

ptx::ReplayProgram replay_program_of(ptx::InstrumentationUnit& unit, bool follows_shared) {
  ptx::ReplayedFunctions replayed{unit.module, {}, {}, follows_shared, may_exit_in_calls(unit.reached)};
  for (const ptx::FunctionUnit& each : unit.reached.functions)
    replayed.functions.push_back(each.analyses.get());
  replayed.callee = [&](const ptx::Instruction& call) -> std::optional<std::uint32_t> {
    const ptx::FunctionUnit* const callee = unit.reached.find(ptx::direct_callee(unit.module, call));
    return callee == nullptr ? std::nullopt : std::optional(unit.reached.position_of(*callee));
  };
  return ptx::make_replay_program(replayed);
}

/// Sorts the accesses of one probe: those that replay can follow become uses and lose their probe; of the
/// others, the static analysis determines which are counted less often than they are executed.
class ProbeSorter {
 public:
  ProbeSorter(ptx::InstrumentationUnit& unit, WordCounting& counting)
      : counting_(counting),
        unit_(unit),
        sorts_kinds_(counting.scheme.analysis == cod::WordScheme::Analysis::invariants) {
    if (!sorts_kinds_) return;
    // A thread that exits in a callee would lose the counts that it has kept.
    if (may_exit_in_calls(unit.reached)) return;
    const std::vector<bool> together = ptx::functions_entered_together(unit.module, unit.reached);
    for (std::size_t i = 0; i < unit.reached.functions.size(); ++i) {
      const ptx::FunctionUnit& function = unit.reached.functions[i];
      analyses_.emplace(&function, ptx::WordSiteAnalysis(*function.analyses, together[i]));
    }
  }

  /// Returns the number of uses of the probe.
  std::uint64_t sort(std::uint32_t specification, const std::vector<cod::GlobalArray>& arrays,
                     const std::vector<std::uint32_t>& counted, ptx::Probe& probe) {
    std::set<const ptx::Instruction*> predicted;
    const bool notes_kinds = sorts_kinds_ && !arrays[counted[0]].counts_ranges;  // each access once
    if (sorts_kinds_) probe.effect = ptx::ProbeEffect::counts_words;
    for (const ptx::FunctionUnit& function : unit_.reached.functions) {
      const std::vector<ptx::Instruction>& instructions = function.function->body->instructions;
      for (const ptx::Instruction& instruction : instructions) {
        if (!probe.matches(instruction)) continue;
        const auto index = static_cast<std::uint32_t>(&instruction - instructions.data());
        const std::uint32_t side = probe.side_at(instruction);
        if (!is_predicted(function, index, side)) {
          if (sorts_kinds_)
            sort_by_kind(notes_kinds ? &counting_.kinds[specification] : nullptr, function, index, side);
          continue;
        }
        if (notes_kinds) ++counting_.kinds[specification].fully_static;
        predicted.insert(&instruction);
        const std::uint32_t position = unit_.reached.position_of(function);
        for (const std::uint32_t array : counted)
          counting_.uses.push_back(
              {position, index, side, specification, array, is_of_shared_words(arrays[array])});
      }
    }
    if (predicted.empty()) return 0;
    probe.matches = [matches = probe.matches, predicted](const ptx::Instruction& instruction) {
      return !predicted.contains(&instruction) && matches(instruction);
    };
    return predicted.size();
  }

 private:
  bool is_predicted(const ptx::FunctionUnit& function, std::uint32_t index, std::uint32_t side) const {
    if (!function.instrumented ||
        !counting_.program.predicts(unit_.reached.position_of(function), index, side))
      return false;
    if (!sorts_kinds_) return true;
    const auto analysis = analyses_.find(&function);
    return &function == &unit_.reached.kernel() && analysis != analyses_.end() &&
           analysis->second.is_static(index);
  }

  /// `kinds` is null if another handler of the specification has noted the access.
  void sort_by_kind(WordCounting::Kinds* kinds, const ptx::FunctionUnit& function, std::uint32_t index,
                    std::uint32_t side) {
    const auto analysis = analyses_.find(&function);
    std::optional<ptx::WordSite> site;
    if (analysis != analyses_.end() && function.instrumented) {
      const ptx::Instruction& instruction = function.function->body->instructions[index];
      site = analysis->second.find(index, ptx::memory_accesses(instruction).access[side]);
    }
    if (site) unit_.words.sites[{function.first_instruction + index, side}] = *site;
    if (kinds == nullptr) return;
    if (!site) {
      ++kinds->each_time;
      return;
    }
    const bool is_kept = site->loop != ptx::no_loop;
    const bool is_each = site->threads == ptx::WordSite::Threads::each;
    ++(!is_kept ? kinds->by_one_thread : is_each ? kinds->after_loops : kinds->both);
  }

  WordCounting& counting_;
  ptx::InstrumentationUnit& unit_;
  const bool sorts_kinds_;
  std::map<const ptx::FunctionUnit*, ptx::WordSiteAnalysis> analyses_;
};

/// Counts of one array's memory, per accessed range.
class RangeCounts {
 public:
  explicit RangeCounts(const std::vector<CountedRange>& ranges) : ranges_(ranges), counts_(ranges.size()) {}

  void add(const ptx::ReplayedAccess& access) {
    const ptx::NumberRange range = ptx::range_of(access.address, access.box);
    const ptx::WideNumber end = range.greatest + access.bytes;
    const auto next = std::upper_bound(
        ranges_.begin(), ranges_.end(), range.least,
        [](ptx::WideNumber address, const CountedRange& each) { return address < each.address; });
    ptx::WideNumber bound = 0;
    if (next != ranges_.begin() && range.least < ptx::WideNumber{(next - 1)->address} + (next - 1)->bytes) {
      const CountedRange& own = *(next - 1);
      const ptx::WideNumber own_end = ptx::WideNumber{own.address} + own.bytes;
      if (end <= own_end) return counts_of(own).add(access);
      bound = own_end - access.bytes + 1;
    } else {
      if (next == ranges_.end() || range.greatest < next->address) {
        outside_ += access.box.threads();
        return;
      }
      bound = next->address;
    }
    const ptx::Answer<bool> below = ptx::is_less(access.address, bound, access.box);
    if (below.value) {  // one access that is partly in a range
      outside_ += access.box.threads();
      return;
    }
    for (const ptx::ThreadBox& box : ptx::divide(access.box, below.cut)) {
      ptx::ReplayedAccess part = access;
      part.box = box;
      add(part);
    }
  }

  std::uint64_t outside() const { return outside_; }

  /// Calls visit(element, words, count) for runs of accessed words. Returns false if some are missing,
  /// because they take too much memory.
  template <typename Visit>
  bool finish(Visit visit) {
    bool is_complete = true;
    for (std::size_t i = 0; i < ranges_.size(); ++i) {
      if (!counts_[i]) continue;
      is_complete &= counts_[i]->finish([&](std::uint64_t first, std::uint64_t words, std::uint64_t count) {
        visit(ranges_[i].element + first, words, count);
      });
    }
    return is_complete;
  }

 private:
  ptx::WordCounts& counts_of(const CountedRange& range) {
    std::optional<ptx::WordCounts>& counts = counts_[static_cast<std::size_t>(&range - ranges_.data())];
    const std::uint64_t before = range.address % word_bytes;  // in the first word
    if (!counts) counts.emplace(range.address - before, range.bytes + before);
    return *counts;
  }

  const std::vector<CountedRange>& ranges_;
  std::vector<std::optional<ptx::WordCounts>> counts_;
  std::uint64_t outside_ = 0;
};

ptx::ReplayLaunch replay_launch(const WordCounting& counting, const LaunchedWords& launch) {
  ptx::ReplayLaunch replayed;
  std::copy(std::begin(launch.grid), std::end(launch.grid), replayed.grid);
  std::copy(std::begin(launch.block), std::end(launch.block), replayed.block);
  replayed.parameters = launch.parameters;
  for (const ptx::ReplayVariable& variable : counting.program.variables) {
    const auto global =
        std::ranges::find(counting.device_variables, variable.name, &WordCounting::DeviceVariable::name);
    const auto shared = std::ranges::find_if(counting.shared_arrays, [&](const auto& each) {
      return each.name == variable.name && each.function == variable.function;
    });
    const auto index = static_cast<std::size_t>(shared - counting.shared_arrays.begin());
    std::optional<std::uint64_t> address;
    if (global != counting.device_variables.end() && !variable.function) address = global->address;
    if (shared != counting.shared_arrays.end() && index < launch.shared_addresses.size())
      address = launch.shared_addresses[index];
    replayed.variables.push_back(address);
  }
  return replayed;
}

/// Textures and surfaces are addressed by coordinates: the words that they access are unknown.
void note_textures(const Request& request, ptx::InstrumentationUnit& unit) {
  std::size_t count = 0;
  for (const ptx::FunctionUnit& function : unit.reached.functions) {
    count += static_cast<std::size_t>(
        std::ranges::count_if(function.function->body->instructions, [](const ptx::Instruction& instruction) {
          const ptx::StateSpace space = instruction.traits.space;
          return space == ptx::StateSpace::texture || space == ptx::StateSpace::surface;
        }));
  }
  if (count == 0) return;
  for (const SpecificationPtr& specification : request.specifications) {
    if (std::ranges::none_of(specification->arrays(), is_of_device_words)) continue;
    unit.notes.push_back(specification->name() + ": " + std::to_string(count) +
                         (count == 1 ? " instruction on a texture or surface is"
                                     : " instructions on textures and surfaces are") +
                         " not counted: they have no address");
  }
}

/// Notes how many accesses of each specification fall into each kind.
void note_kinds(const Request& request, const WordCounting& counting, ptx::InstrumentationUnit& unit) {
  for (std::size_t i = 0; i < request.specifications.size(); ++i) {
    const cod::Specification& specification = *request.specifications[i];
    if (std::ranges::none_of(specification.arrays(), cod::is_of_words)) continue;
    const WordCounting::Kinds& kinds = counting.kinds[i];
    unit.notes.push_back(
        specification.name() + ": accesses in the code: " + std::to_string(kinds.fully_static) +
        " fully static, " + std::to_string(kinds.by_one_thread) + " invariant to the thread, " +
        std::to_string(kinds.after_loops) + " invariant to a loop, " + std::to_string(kinds.both) +
        " to both, " + std::to_string(kinds.each_time) + " counted each time");
  }
}

/// True if the probe is at an access that may refer to shared memory.
bool probes_shared_memory(const ptx::Probe& probe, const ptx::InstrumentationUnit& unit) {
  const auto may_be_shared = [&](const ptx::Instruction& instruction) {
    if (!probe.matches(instruction)) return false;
    const std::optional<ptx::MemoryAccess> access = probe.access_at(instruction);
    return access && (access->space == ptx::StateSpace::shared || access->space == ptx::StateSpace::generic);
  };
  return std::ranges::any_of(unit.reached.functions, [&](const ptx::FunctionUnit& function) {
    return std::ranges::any_of(function.function->body->instructions, may_be_shared);
  });
}

/// Returns for each of BlockCounters::arrays whether an access that may refer to shared memory is left to a
/// handler that may count in it.
std::vector<bool> probed_counters(const Request& request, const ptx::InstrumentationUnit& unit) {
  std::vector<bool> probed;
  std::size_t next = 0;
  for (const SpecificationPtr& specification : request.specifications) {
    std::vector<bool> arrays(specification->arrays().size());
    for (const cod::Handler& handler : specification->handlers()) {
      const ptx::Probe& probe = unit.spliced.probes[next++];
      if (!probe.enabled || !cod::is_instruction(handler.target) || !probes_shared_memory(probe, unit))
        continue;
      if (handler.counted_words.empty()) arrays.assign(arrays.size(), true);  // it may do anything
      for (const std::uint32_t array : handler.counted_words) arrays[array] = true;
    }
    for (const cod::Word& word : specification->words()) {
      if (word.kind == cod::Word::Kind::shared_counters) probed.push_back(arrays[word.index]);
    }
  }
  return probed;
}

/// True if a handler only counts live ranges.
bool counts_only_ranges(const cod::Specification& specification, const cod::Handler& handler) {
  return !handler.counted_words.empty() &&
         std::ranges::all_of(handler.counted_words, [&](std::uint32_t array) {
           return specification.arrays()[array].counts_ranges;
         });
}

/// Drops counters to which nothing adds, after the last ones in use: offsets follow from the position.
void drop_idle_counters(const std::vector<bool>& probed, ptx::BlockCounters& block) {
  while (!block.arrays.empty() && !probed[block.arrays.size() - 1]) block.arrays.pop_back();
}

/// True if a handler's only effect at an access is an addition that inline code can perform.
bool adds_exactly(const cod::WordScheme& scheme) {
  return scheme.is_exact() && scheme.analysis != cod::WordScheme::Analysis::invariants &&
         (scheme.shared_bits == 0 || scheme.shared_bits == 32);
}

/// Returns the location of the counts to which the handler adds. The handler has only one array.
ptx::CountedWords counted_words(const Request& request, const cod::Specification& specification,
                                std::uint32_t array, std::uint32_t first_word) {
  const auto number_of = [&](const cod::Word& word) {
    return first_word + position_of_word(specification, word);
  };
  using Kind = cod::Word::Kind;
  ptx::CountedWords counted;
  counted.array_slot = number_of({Kind::array_address, array});
  counted.element_bytes = cod::size_of(specification.arrays()[array].type);
  counted.is_shared = is_of_shared_words(specification.arrays()[array]);
  if (counted.is_shared) {
    counted.extent_slot = number_of({Kind::extent, 0, cod::Extent::shared_words});
    if (request.words.scheme.shared_bits != 0)
      counted.block_offset_slot = number_of({Kind::shared_counters, array});
  } else {
    counted.begin_slot = number_of({Kind::word_map, cod::WordMap::part_window_begin});
    counted.bytes_slot = number_of({Kind::word_map, cod::WordMap::part_window_bytes});
    counted.margin_bytes = cod::WordMap::margin_bytes;
  }
  return counted;
}

/// True if the handlers of a specification, which begin at `first`, only count words and have no code in the
/// kernel.
bool is_replayed(const cod::Specification& specification, std::size_t first,
                 const ptx::InstrumentationUnit& unit) {
  const auto has_code = [&](const ptx::Probe& probe) {
    return std::ranges::any_of(unit.reached.functions, [&](const ptx::FunctionUnit& function) {
      return std::ranges::any_of(function.function->body->instructions, probe.matches);
    });
  };
  for (const cod::Handler& handler : specification.handlers()) {
    const ptx::Probe& probe = unit.spliced.probes[first++];
    if (handler.counted_words.empty() || (probe.enabled && has_code(probe))) return false;
  }
  return true;
}

/// Sorts runs and combines those that overlap: variables may share a word.
void combine(std::vector<cod::ElementRun>& runs, std::uint64_t most) {
  std::ranges::sort(runs, {}, &cod::ElementRun::first);
  const auto overlap = [](const cod::ElementRun& run, const cod::ElementRun& next) {
    return run.first + run.elements > next.first;
  };
  if (std::ranges::adjacent_find(runs, overlap) == runs.end()) return;
  std::map<std::uint64_t, std::uint64_t> changes;  // of the value, by element, modulo 2^64
  for (const cod::ElementRun& run : runs) {
    changes[run.first] += run.value;
    changes[run.first + run.elements] -= run.value;
  }
  runs.clear();
  std::uint64_t value = 0;
  for (auto at = changes.begin(); at != changes.end(); ++at) {
    value += at->second;
    if (value != 0) runs.push_back({at->first, std::next(at)->first - at->first, std::min(value, most)});
  }
}

/// More runs of an array are not kept.
constexpr std::size_t most_kept_runs = 1 << 16;

using Specifications = std::vector<std::shared_ptr<const cod::Specification>>;
using ArraysOfSpecifications = std::span<const std::vector<std::span<std::byte>>>;

Elements elements_of(const Specifications& specifications, ArraysOfSpecifications arrays,
                     std::uint32_t specification, std::uint32_t array) {
  return {arrays[specification][array], cod::size_of(specifications[specification]->arrays()[array].type)};
}

void add_runs(std::span<const cod::ElementRun> runs, Elements& elements) {
  for (const cod::ElementRun& each : runs) elements.add_up_to_most(each.first, each.elements, each.value);
}

void finish_elements(const cod::WordScheme& scheme, Elements elements) {
  for (std::uint64_t at = 0; at < elements.size(); ++at) {
    std::uint64_t value = elements[at];
    if (value == 0) continue;
    value = value > elements.most() / scheme.sample ? elements.most() : value * scheme.sample;
    if (scheme.threshold != 0) value = std::min<std::uint64_t>(value, scheme.threshold);
    elements.set(at, value);
  }
}

}  // namespace

std::uint32_t position_of_word(const cod::Specification& specification, const cod::Word& word) {
  const auto found = std::ranges::find_if(specification.words(), [&](const cod::Word& each) {
    return each.kind == word.kind && each.index == word.index && each.extent == word.extent;
  });
  return static_cast<std::uint32_t>(found - specification.words().begin());
}

bool words_may_wrap(const WordCounting& counting, const cod::Specification& specification,
                    std::size_t index) {
  const auto is_narrow = [](const cod::GlobalArray& array) {
    return array.counts_words && cod::size_of(array.type) == sizeof(std::uint32_t);
  };
  return !counting.saturates && counting.scheme.threshold == 0 && !counting.is_replayed[index] &&
         std::ranges::any_of(specification.arrays(), is_narrow);
}

std::shared_ptr<WordCounting> plan_word_counts(const Request& request, ptx::InstrumentationUnit& unit) {
  const auto counts_words = [](const SpecificationPtr& specification) {
    return specification->lists_arrays() || std::ranges::any_of(specification->arrays(), cod::is_of_words);
  };
  if (std::ranges::none_of(request.specifications, counts_words)) return nullptr;
  auto counting = std::make_shared<WordCounting>();
  counting->scheme = request.words.scheme;
  counting->saturates = request.counting.wide;
  const bool replays = !request.counting.plain &&
                       request.words.scheme.analysis != cod::WordScheme::Analysis::none &&
                       !unit.options.without.contains(ptx::Refinement::replayed_accesses);
  const bool asks_for_shared = std::ranges::any_of(request.specifications, asks_for_shared_memory);
  if (replays) counting->program = replay_program_of(unit, asks_for_shared);
  find_device_variables(request, unit, *counting);
  find_shared_arrays(unit, asks_for_shared, *counting);
  counting->kinds.resize(request.specifications.size());
  ProbeSorter sorter(unit, *counting);
  const bool adds_in_line = !request.counting.plain && adds_exactly(request.words.scheme) &&
                            !unit.options.without.contains(ptx::Refinement::word_counters);
  std::size_t next = 0;
  for (std::uint32_t i = 0; i < request.specifications.size(); ++i) {
    const std::size_t first = next;
    for (const cod::Handler& handler : request.specifications[i]->handlers()) {
      ptx::Probe& probe = unit.spliced.probes[next++];
      if (!request.words.scheme.is_exact() && counts_only_ranges(*request.specifications[i], handler))
        probe.enabled = false;  // nothing would be emitted
      const bool counts = !handler.counted_words.empty() && probe.enabled;
      counting->predicted.push_back(
          counts ? sorter.sort(i, request.specifications[i]->arrays(), handler.counted_words, probe) : 0);
      if (counts && adds_in_line && handler.counted_words.size() == 1)
        unit.words.counted.emplace(next - 1, counted_words(request, *request.specifications[i],
                                                           handler.counted_words[0], probe.first.slot));
    }
    counting->is_replayed.push_back(replays && adds_exactly(request.words.scheme) &&
                                    is_replayed(*request.specifications[i], first, unit));
  }
  if (request.words.scheme.analysis == cod::WordScheme::Analysis::invariants)
    note_kinds(request, *counting, unit);
  note_textures(request, unit);
  // Without a shared variable, no pointer refers to shared memory.
  if (request.words.is_spare && counting->shared_arrays.empty()) unit.words.block.arrays.clear();
  if (request.words.is_spare || !request.words.scheme.is_exact())
    drop_idle_counters(probed_counters(request, unit), unit.words.block);
  counting->block_counters = static_cast<std::uint32_t>(unit.words.block.arrays.size());
  return counting;
}

Status check_replay(const WordCounting& counting, const LaunchedWords& launch) {
  if (counting.uses.empty()) return success();
  constexpr ptx::ReplayLimits limits{1'000'000};
  ptx::ReplayLaunch replayed = replay_launch(counting, launch);
  for (std::optional<std::uint64_t>& each : replayed.variables) each = each.value_or(0);
  return ptx::replay(
      counting.program, replayed, [](const ptx::ReplayedAccess&) {}, limits);
}

ReplayedCounts fill_counted_words(
    const WordCounting& counting, const LaunchedWords& launch,
    const std::vector<std::shared_ptr<const cod::Specification>>& specifications,
    std::span<const std::vector<std::span<std::byte>>> arrays) {
  using ArrayKey = std::pair<std::uint32_t, std::uint32_t>;  // specification, array
  std::map<ArrayKey, RangeCounts> counts;
  std::multimap<std::tuple<std::uint32_t, std::uint32_t, std::uint32_t>, const WordCounting::Use*> uses;
  for (const WordCounting::Use& use : counting.uses)
    uses.emplace(std::tuple(use.function, use.instruction, use.side), &use);
  ReplayedCounts replayed{success(), std::vector<std::uint64_t>(specifications.size()), {}, {}};
  replayed.runs.resize(specifications.size());
  for (std::size_t i = 0; i < specifications.size(); ++i) {
    for (std::uint32_t k = 0; k < arrays[i].size(); ++k) {
      if (arrays[i][k].empty() && specifications[i]->arrays()[k].counts_words) replayed.runs[i][k] = {};
    }
  }
  if (counting.uses.empty()) return replayed;
  replayed.status =
      ptx::replay(counting.program, replay_launch(counting, launch), [&](const ptx::ReplayedAccess& access) {
        const auto [first, last] = uses.equal_range({access.function, access.instruction, access.side});
        for (auto use = first; use != last; ++use) {
          if (use->second->is_shared != access.is_shared) continue;
          const ArrayKey key{use->second->specification, use->second->array};
          const auto known =
              counts.try_emplace(key, use->second->is_shared ? launch.shared : launch.device).first;
          known->second.add(access);
        }
      });
  replayed.added.emplace(specifications.size());
  for (auto& [key, each] : counts) {
    const auto [specification, array] = key;
    Elements elements = elements_of(specifications, arrays, specification, array);
    const bool is_added = !replayed.runs[specification].contains(array);
    std::vector<cod::ElementRun> runs;
    replayed.outside[specification] += each.outside();
    const bool is_complete = each.finish([&](std::uint64_t first, std::uint64_t words, std::uint64_t amount) {
      runs.push_back({first, words, std::min(amount, elements.most())});
      if (!is_added || runs.size() != most_kept_runs) return;
      add_runs(runs, elements);
      runs.clear();
      replayed.added.reset();
    });
    if (replayed.status && !is_complete)
      replayed.status = failure("counting the words of replayed accesses takes too much memory");
    if (!is_added) {
      combine(runs, elements.most());
      replayed.runs[specification][array] = std::move(runs);
      continue;
    }
    add_runs(runs, elements);
    if (replayed.added) (*replayed.added)[specification][array] = std::move(runs);
  }
  return replayed;
}

void add_runs(const RunsOfArrays& runs,
              const std::vector<std::shared_ptr<const cod::Specification>>& specifications,
              std::span<const std::vector<std::span<std::byte>>> arrays) {
  for (std::uint32_t i = 0; i < runs.size(); ++i) {
    for (const auto& [array, its] : runs[i]) {
      Elements elements = elements_of(specifications, arrays, i, array);
      add_runs(its, elements);
    }
  }
}

void finish_counted_words(const cod::WordScheme& scheme,
                          const std::vector<std::shared_ptr<const cod::Specification>>& specifications,
                          std::span<const std::vector<std::span<std::byte>>> arrays) {
  if (scheme.sample == 1 && scheme.threshold == 0) return;
  for (std::size_t i = 0; i < specifications.size(); ++i) {
    for (std::size_t k = 0; k < arrays[i].size(); ++k) {
      const cod::GlobalArray& array = specifications[i]->arrays()[k];
      if (!array.counts_words) continue;
      finish_elements(scheme, {arrays[i][k], cod::size_of(array.type)});
    }
  }
}

}  // namespace lynxpp::engine
