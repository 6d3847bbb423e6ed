#include "engine/instrument.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <limits>

#include "engine/counters.h"
#include "engine/handler_sites.h"
#include "engine/parameter_slots.h"
#include "engine/reach.h"
#include "engine/registers.h"
#include "engine/sites.h"
#include "engine/verify.h"
#include "ptx/analysis/waiting/block_waits.h"
#include "ptx/parser/parser.h"
#include "ptx/passes/module/shared_counters.h"
#include "ptx/passes/pipeline.h"
#include "ptx/perturb/perturb.h"
#include "support/check.h"
#include "support/text.h"

namespace lynxpp::engine {
namespace {

class Stopwatch {
 public:
  double lap() {
    const auto now = std::chrono::steady_clock::now();
    const std::chrono::duration<double, std::milli> spent = now - begin_;
    begin_ = now;
    return spent.count();
  }

 private:
  std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
};

// ---- the variant

/// Lanes that wait for the host may reconverge differently, so no count may rely on earlier convergence.
std::set<ptx::Refinement> options_without(const Request& request) {
  std::set<ptx::Refinement> without = request.limits.without;
  const bool may_wait =
      request.streams_traces && std::ranges::any_of(request.specifications, [](const SpecificationPtr& each) {
        return !each->streams().empty();
      });
  if (may_wait) without.insert(ptx::Refinement::lane_maxima);
  return without;
}

void set_options(const Request& request, ptx::InstrumentationUnit& unit) {
  unit.spliced.space_code = cod::space_bit;
  unit.options.assembler_contracts = request.assembler_contracts;
  unit.options.outline = request.limits.outline;
  unit.options.without = options_without(request);
}

/// Returns the compute capability of the variant. From Volta on, a newer target only adds instructions;
/// raising an older one would change how its warps are scheduled.
int choose_sm(const ptx::Target& target, int device_sm) {
  constexpr int independent_scheduling = 70;
  constexpr int warp_reduction = 80;
  if (target.suffix != '\0' || target.sm < independent_scheduling || device_sm < warp_reduction)
    return target.sm;
  return std::max(target.sm, warp_reduction);
}

/// Returns the module's own target with the architecture `sm`. Drops "debug": with it, ptxas requires debug
/// data, which the variant lacks (see keep_contraction.h for the consequences).
std::string target_text(const ptx::Target& target, int sm) {
  std::string text = "sm_" + std::to_string(sm);
  if (target.suffix != '\0') text += target.suffix;
  for (const std::string& each : split(target.text, ',')) {
    const std::string_view option = trim(each);
    if (!option.empty() && !option.starts_with("sm_") && option != "debug")
      text += ", " + std::string(option);
  }
  return text;
}

/// Sets the variant's version and target. Returns the compute capability × 10.
int set_target(const Request& request, ptx::InstrumentationUnit& unit) {
  ptx::VariantModule& variant = unit.variant;
  const int sm = choose_sm(unit.module.target, request.device_sm);
  variant.version = unit.module.version;
  variant.target = unit.module.target;
  variant.target.sm = sm;
  variant.target.text = target_text(unit.module.target, sm);
  if (sm >= 80) variant.version = std::max(variant.version, ptx::Version{7, 0});
  return sm;
}

/// Counts shared memory in device memory because of `obstacle`.
Result<Instrumented> without_shared_counters(const Request& request, const std::string& obstacle) {
  Request other = request;
  other.words.scheme.shared_bits = 0;
  Result<Instrumented> made = instrument(other);
  if (made && made->words != nullptr && !request.words.is_spare)
    made->notes.push_back("counters of shared memory stay in device memory: " + obstacle);
  return made;
}

/// The cpu device has no register limit.
bool is_for_ptxas(const Request& request) { return !request.variable_address || request.assembler_contracts; }

/// Replaces calls of handlers by copies because of `refusal`, if that is possible.
Result<Instrumented> without_calls(const Request& request, const Failure& refusal) {
  Request other = request;
  other.limits = without_functions(request.limits);
  if (other.limits.outline.sites == request.limits.outline.sites) return refusal;
  return instrument(other);
}

// ---- probes

ptx::ProbeEffect effect_of(const cod::Handler& handler) {
  switch (handler.measures) {
    case cod::Handler::Measures::banks: return ptx::ProbeEffect::measures_banks;
    case cod::Handler::Measures::sectors: return ptx::ProbeEffect::measures_sectors;
    case cod::Handler::Measures::anything: break;
  }
  return ptx::ProbeEffect::any;
}

Result<ptx::ProbeRoutine> routine_of(const cod::HandlerCode& code, const std::string& name,
                                     ptx::RoutineFunctions& functions) {
  Result<ptx::Module> module = ptx::parse_module(code.ptx, name);
  if (!module) return module.error();
  for (ptx::Function& function : module->functions) {
    if (function.is_declaration()) continue;
    if (Status parsed = ptx::parse_body(*module, function, name); !parsed) return parsed.error();
  }
  const ptx::Function* handler = module->find_function(cod::handler_function);
  if (handler == nullptr || !handler->body) return failure(name + ": the handler has no code");
  return ptx::ProbeRoutine::make(*module, *handler,
                                 {cod::word_prefix, cod::state_prefix, cod::site_prefix, cod::memory_prefix},
                                 functions);
}

/// Succeeds if a barrier before the kernel's end is safe: every thread of a block reaches it, and no thread
/// waits elsewhere for only some of them. Requires a single unguarded `ret` that ends all paths, and no
/// barriers other than those of the entire block.
Status leaves_together(const ptx::InstrumentationUnit& unit, const std::string& specification) {
  const auto refuse = [&](const std::string& why) {
    return failure("specification '" + specification + "' has a syncThreads() in ON_KERNEL_EXIT, and " + why);
  };
  const ptx::FunctionUnit& kernel = unit.reached.kernel();
  auto exits = std::ranges::count_if(
      kernel.graph().blocks, [&](const ptx::BasicBlock& block) { return kernel.falls_off_after(block); });
  for (const ptx::FunctionUnit& function : unit.reached.functions) {
    const bool is_kernel = &function == &kernel;
    for (const ptx::Instruction& instruction : function.function->body->instructions) {
      const bool leaves = instruction.traits.kind == ptx::OpcodeClass::exit &&
                          (is_kernel || instruction.traits.is_thread_exit());
      if (leaves && (instruction.guarded() || !is_kernel))
        return refuse("some of the kernel's threads may exit early");
      exits += leaves ? 1 : 0;
      const bool is_barrier = instruction.op() == ptx::Op::bar || instruction.op() == ptx::Op::barrier;
      if (!is_barrier || instruction.has_any({ptx::Modifier::warp, ptx::Modifier::cluster})) continue;
      const bool is_plain = instruction.has(ptx::Modifier::sync) && instruction.operands.size() == 1 &&
                            instruction.operands[0].kind == ptx::OperandKind::integer &&
                            instruction.operands[0].integer == 0;
      if (!is_plain || instruction.guarded())
        return refuse("the kernel has barriers for only some of its threads");
    }
  }
  return exits == 1 ? success()
                    : Status(refuse("the kernel has several exits, which threads may reach separately"));
}

/// True if the handler selects accesses or reads their values, and so runs for the lanes that take part in
/// them. Other handlers run for all lanes whose guard holds.
bool is_about_accesses(const cod::Specification& specification, std::size_t number) {
  using enum cod::SiteValue;
  using Addend = cod::SiteCounter::Addend;
  constexpr std::uint32_t classes = cod::mem_read | cod::mem_write | cod::atomic | cod::async_copy |
                                    cod::bulk | cod::unsized | cod::tensor_copy;
  constexpr std::array values{memory_address,     access_size,  access_kind,
                              follows_from_lanes, access_space, bulk_size};
  const cod::Handler& handler = specification.handlers()[number];
  const cod::InstructionFilter& filter = handler.filter;
  if ((filter.classes & classes) != 0 || filter.spaces != 0 || filter.transfers != 0) return true;
  if (handler.measures != cod::Handler::Measures::anything || !handler.counted_words.empty()) return true;
  const auto is_of_access = [&](cod::SiteValue value) { return std::ranges::count(values, value) != 0; };
  const auto adds_of_access = [&](const cod::SiteCounter& counter) {
    return counter.handler == number &&
           (counter.addend == Addend::access_size || counter.addend == Addend::bank_groups);
  };
  return std::ranges::any_of(handler.site_values, is_of_access) ||
         std::ranges::any_of(specification.counters(), adds_of_access);
}

/// Translates a handler's filter into the probe's callbacks.
void set_filter(const cod::InstructionFilter& filter, bool of_accesses, const ptx::Module& module,
                const ptx::ReachedFunctions& reached, ptx::Probe& probe) {
  constexpr std::uint32_t no_access = 2;  // an instruction has up to two
  const ptx::Transfers& transfers = reached.transfers;
  probe.matches = [filter, &module, &transfers](const ptx::Instruction& instruction) {
    return chooses(filter, module, transfers, instruction);
  };
  probe.access = [filter, of_accesses, &transfers](const ptx::Instruction& instruction) {
    if (!of_accesses) return no_access;
    return filter.choose(labels_of(transfers, instruction)).value_or(0);
  };
  const auto grouped = std::make_shared<GroupedSites>(module, reached);
  probe.constant = [filter, grouped, &transfers](std::string_view name,
                                                 const ptx::Instruction& instruction) -> std::uint64_t {
    if (const std::optional<std::uint32_t> number = grouped->value(name, instruction)) return *number;
    const std::optional<cod::InstructionFilter> asked = cod::filter_of_value(name);
    if (!asked) return 0;
    // The handler applies to one side of a copy.
    const cod::LabelSets labels = labels_of(transfers, instruction);
    const bool is_second = labels.second && filter.choose(labels) == 1;
    return asked->matches(is_second ? *labels.second : labels.first) ? 1 : 0;
  };
}

Result<ptx::Probe> probe_of(const Request& request, const cod::Specification& specification,
                            std::size_t number, const cod::HandlerCode& code,
                            ptx::InstrumentationUnit& unit) {
  const cod::Handler& handler = specification.handlers()[number];
  ptx::Probe probe;
  probe.enabled = request.counting.plain || !handler.is_counted;
  if (probe.enabled) {
    Result<ptx::ProbeRoutine> routine =
        routine_of(code, specification.name(), unit.spliced.routine_functions);
    if (!routine) return routine.error();
    probe.routine = std::move(*routine);
  }
  probe.point = handler.target;
  probe.is_initializer = handler.is_initializer;
  if (!request.counting.plain) probe.effect = effect_of(handler);
  if (!handler.wants_kernel(request.kernel)) probe.enabled = false;
  if (probe.enabled && handler.syncs_at_exit) {
    if (Status together = leaves_together(unit, specification.name()); !together) return together.error();
  }
  set_filter(handler.filter, is_about_accesses(specification, number), unit.module, unit.reached, probe);
  probe.first = {unit.hidden.size(), static_cast<std::uint32_t>(unit.spliced.state_bytes.size()),
                 static_cast<std::uint32_t>(unit.spliced.variables.size())};
  return probe;
}

/// Adds the lane-value forms of a specification's probes, and the routines that compute their values.
Status add_lane_values(const cod::Specification& specification, cod::DeviceTarget target,
                       std::size_t first_probe, ptx::InstrumentationUnit& unit) {
  const auto& handlers = specification.handlers();
  if (std::ranges::none_of(handlers, &cod::Handler::can_use_lane_values)) return success();
  target.lane_values = true;
  const Result<cod::DeviceCode> code = specification.lower_device(target);
  if (!code) return code.error();
  for (std::size_t i = 0; i < handlers.size(); ++i) {
    ptx::Probe& probe = unit.spliced.probes[first_probe + i];
    if (!probe.enabled || code->handlers[i].ptx.empty()) continue;
    Result<ptx::ProbeRoutine> routine =
        routine_of(code->handlers[i], specification.name(), unit.spliced.routine_functions);
    if (!routine) return routine.error();
    probe.with_lane_values = std::move(*routine);
  }
  using cod::SiteValue;
  // Values that routines read, and the routine that computes each.
  constexpr std::pair<SiteValue, SiteValue> routines[] = {
      {SiteValue::sector_threshold, SiteValue::sector_threshold},
      {SiteValue::hoisted_banks, SiteValue::hoisted_banks},
      {SiteValue::hoisted_banks, SiteValue::bank_lanes},
      {SiteValue::hoisted_banks, SiteValue::banks_of_some_lanes}};
  for (const auto& [read, value] : routines) {
    const std::string name(cod::name_of(value));
    const bool is_read =
        std::ranges::any_of(unit.spliced.probes, [of = cod::name_of(read)](const ptx::Probe& probe) {
          return probe.with_lane_values && probe.with_lane_values->reads_site_value(of);
        });
    if (!is_read || unit.spliced.lane_routines.contains(name)) continue;
    const Result<cod::HandlerCode> lowered = cod::lower_lane_value(value, target.sm);
    if (!lowered) return lowered.error();
    Result<ptx::ProbeRoutine> routine = routine_of(*lowered, name, unit.spliced.routine_functions);
    if (!routine) return routine.error();
    unit.spliced.lane_routines.emplace(name, std::move(*routine));
  }
  return success();
}

/// Adds the parameter slots and variables that the word-counting scheme needs in addition to the
/// specification's own (cod::DeviceTarget::words). Requires that its state and variables have been added, but
/// none of its slots.
void add_word_counters(const Request& request, std::uint32_t index, ptx::InstrumentationUnit& unit) {
  const cod::Specification& specification = *request.specifications[index];
  if (std::ranges::none_of(specification.arrays(), cod::is_of_words)) return;
  if (request.words.scheme.sample > 1) unit.spliced.state_bytes.push_back(4);
  if (request.words.scheme.shared_bits == 0) return;
  ptx::BlockCounters& counters = unit.words.block;
  counters.bits = request.words.scheme.shared_bits;
  const auto number_of = [&](const cod::Word& word) {
    return unit.hidden.size() + position_of_word(specification, word);
  };
  for (const cod::Word& word : specification.words()) {
    if (word.kind != cod::Word::Kind::shared_counters) continue;
    counters.extent_slot = number_of({cod::Word::Kind::extent, 0, cod::Extent::shared_words});
    counters.arrays.push_back({number_of(word), number_of({cod::Word::Kind::array_address, word.index}),
                               cod::size_of(specification.arrays()[word.index].type) == 8});
  }
  counters.variable = static_cast<std::uint32_t>(unit.spliced.variables.size());
  unit.spliced.variables.push_back({ptx::StateSpace::shared, 0, {}, true});
}

/// True if some access of the kernel may have a different number of bytes in each lane.
bool has_lane_sizes(const ptx::InstrumentationUnit& unit) {
  return std::ranges::any_of(unit.reached.functions, [](const ptx::FunctionUnit& function) {
    return std::ranges::any_of(
        function.function->body->instructions, [](const ptx::Instruction& instruction) {
          return std::ranges::any_of(ptx::memory_accesses(instruction),
                                     [](const ptx::MemoryAccess& access) { return access.size != nullptr; });
        });
  });
}

Status add_probes(const Request& request, int sm, ptx::InstrumentationUnit& unit) {
  cod::DeviceTarget target{sm,    request.counting.plain, request.counting.wide,
                           false, request.words.scheme,   request.streams_traces};
  target.has_lane_sizes = has_lane_sizes(unit);
  for (std::uint32_t index = 0; index < request.specifications.size(); ++index) {
    const cod::Specification& specification = *request.specifications[index];
    const Result<cod::DeviceCode> code = specification.lower_device(target);
    if (!code) return code.error();
    if (code->minimum_sm > sm) {
      return failure("specification '" + specification.name() + "' requires sm_" +
                     std::to_string(code->minimum_sm) + ", but the kernel is compiled for sm_" +
                     std::to_string(sm));
    }
    const ptx::Version needed{code->minimum_ptx / 10, code->minimum_ptx % 10};
    unit.variant.version = std::max(unit.variant.version, needed);
    const std::size_t first = unit.spliced.probes.size();
    for (std::size_t i = 0; i < specification.handlers().size(); ++i) {
      Result<ptx::Probe> probe = probe_of(request, specification, i, code->handlers[i], unit);
      if (!probe) return probe.error();
      unit.spliced.probes.push_back(std::move(*probe));
    }
    const bool uses_lane_values =
        !unit.options.has_few_registers && !unit.options.without.contains(ptx::Refinement::lane_values);
    if (uses_lane_values) {
      if (Status added = add_lane_values(specification, target, first, unit); !added) return added;
    }
    for (const cod::StateVariable& variable : specification.state()) {
      unit.spliced.state_bytes.push_back(std::max(4u, cod::size_of(variable.type)));
    }
    for (const cod::ModuleVariable& variable : specification.variables()) {
      unit.spliced.variables.push_back(
          {variable.is_shared ? ptx::StateSpace::shared : ptx::StateSpace::global, variable.bytes,
           variable.initial});
    }
    add_word_counters(request, index, unit);
    for (std::uint32_t word = 0; word < specification.words().size(); ++word)
      unit.hidden.add({ptx::HiddenSlot::Kind::specification, index, word});
  }
  return success();
}

/// Each specification is within the limit by itself (cod/sema/sema.h); all attached ones must share it.
Status check_shared_memory(const ptx::InstrumentationUnit& unit) {
  constexpr std::uint64_t most = 48 * 1024;
  std::uint64_t bytes = 0;
  for (const ptx::ModuleVariable& each : unit.spliced.variables)
    bytes += each.space == ptx::StateSpace::shared ? each.bytes : 0;
  if (bytes <= most) return success();
  return failure("the attached specifications need " + std::to_string(bytes) +
                     " bytes of shared memory in total, more than " + std::to_string(most),
                 "attach them in separate runs");
}

// ---- counts, and what the variant shares

/// Returns the counts of handlers that only count, without the plan; null: every handler runs. If no other
/// handler remains to be spliced, the variant needs no parameter slots except that of the counters.
std::shared_ptr<Counting> add_counters(const Request& request, ptx::InstrumentationUnit& unit) {
  if (request.counting.plain) return nullptr;
  if (std::ranges::none_of(unit.spliced.probes, &ptx::Probe::enabled)) unit.hidden.clear();
  unit.counting.is_wide = request.counting.wide;
  return std::make_shared<Counting>();
}

/// Shares the variables among the operands with the original module.
Status share_variables(const ptx::OperandList& operands, const Request& request,
                       ptx::InstrumentationUnit& unit, std::vector<std::uint64_t>& addresses) {
  for (const ptx::Operand& operand : operands) {
    if (Status shared = share_variables(operand.elements, request, unit, addresses); !shared) return shared;
    if (operand.kind != ptx::OperandKind::identifier || unit.variant.shared_variables.contains(operand.name))
      continue;
    const ptx::Variable* const variable = unit.module.find_variable(operand.name);
    const bool is_shared = variable != nullptr && (variable->space == ptx::StateSpace::global ||
                                                   variable->space == ptx::StateSpace::constant);
    if (!is_shared) continue;
    if (variable->type == ptx::DataType::opaque) {
      return failure("the kernel uses the texture or surface reference '" + variable->name +
                     "', which two modules cannot share");
    }
    const std::optional<std::uint64_t> address = request.variable_address(variable->name);
    if (!address)
      return failure("the device does not report the address of the variable '" + variable->name + "'");
    unit.variant.shared_variables.emplace(variable->name, static_cast<std::uint32_t>(addresses.size()));
    addresses.push_back(*address);
  }
  return success();
}

/// Shares every `.global` and `.const` variable that the unit's code names with the original module, and
/// appends their addresses.
Status share_variables(const Request& request, ptx::InstrumentationUnit& unit,
                       std::vector<std::uint64_t>& addresses) {
  if (!request.variable_address) return success();
  if (unit.reached.calls_indirectly) {
    // A pointer may come from the program's memory and refer to the original module, whose functions were
    // assembled for other kernels.
    return failure(
        "it calls functions through pointers, which may point to code of the program's own module");
  }
  if (!unit.reached.address_taken.empty()) {
    // The pointer would refer to the variant, and a later caller was assembled without it.
    const std::string& taken = unit.reached.address_taken.front();
    const bool is_kernel = std::ranges::any_of(unit.reached.functions, [&](const ptx::FunctionUnit& each) {
      return each.function->is_entry && each.function->name == taken;
    });
    if (is_kernel)
      return failure("it launches kernels from the device, such as '" + taken + "', which are not measured");
    return failure("it takes the address of the function '" + taken +
                   "', which code of the program's own module may call");
  }
  for (const ptx::FunctionUnit& function : unit.reached.functions) {
    for (const ptx::Instruction& instruction : function.function->body->instructions) {
      if (Status shared = share_variables(instruction.operands, request, unit, addresses); !shared)
        return shared;
    }
  }
  constexpr std::size_t most = 8192;  // of the 64 KiB of constant memory
  if (addresses.size() > most)
    return failure("it uses more than " + std::to_string(most) + " variables of the program");
  return success();
}

/// Returns the slots of the hidden parameter with their specifications' words.
std::vector<ProbeWord> probe_words(const Request& request, const ptx::HiddenLayout& hidden) {
  using Kind = ProbeWord::Kind;
  std::vector<ProbeWord> words;
  for (const ptx::HiddenSlot& slot : hidden.slots()) {
    ProbeWord& word = words.emplace_back(ProbeWord{slot.kind, slot.specification, {}});
    if (slot.kind == Kind::specification) {
      word.word = request.specifications[slot.specification]->words()[slot.index];
    } else {
      word.parameter_offset = slot.index;
    }
  }
  return words;
}

// ---- properties of the variant

/// Counter registers, without handler state: a handler may read a clock, whose values depend on the number of
/// registers.
std::uint32_t kept_registers(const ptx::InstrumentationUnit& unit) {
  std::uint32_t registers = 0;
  if (unit.counting.plan == nullptr) return registers;
  constexpr std::uint32_t bits_of_register = 32;
  const auto words = [](std::uint32_t bits) { return (bits + bits_of_register - 1) / bits_of_register; };
  for (const ptx::FunctionCounters& function : unit.counting.plan->functions) {
    if (function.unit != 0) continue;
    registers += function.registers * (unit.counting.plan->is_wide ? 2 : 1) + words(function.bits);
  }
  return registers;
}

/// True if a count of the variant may overflow in a launch that runs long enough.
bool may_overflow(const Request& request, const Instrumented& result) {
  constexpr double forever = std::numeric_limits<double>::infinity();
  if (result.counting != nullptr && may_wrap(*result.counting, forever, 0)) return true;
  for (std::size_t i = 0; i < request.specifications.size() && result.words != nullptr; ++i) {
    if (words_may_wrap(*result.words, *request.specifications[i], i)) return true;
  }
  return false;
}

/// Empty if unreadable; the loader reports the error.
device::DirectiveRange directives_of(const std::string& ptx, const std::string& kernel) {
  const Result<ptx::Module> module = ptx::parse_module(ptx);
  const ptx::Function* const function = module ? module->find_function(kernel) : nullptr;
  if (function == nullptr || function->is_declaration()) return {};
  const ptx::TextRange& before =
      function->parameter_list.empty() ? function->name_text : function->parameter_list;
  return {before.end, function->body_text.begin};
}

/// Finds the functions that the kernel reaches. Fails if the variant cannot be made of them.
Status reach(const Request& request, ptx::Module& module, ptx::InstrumentationUnit& unit) {
  Result<ptx::ReachedFunctions> reached = find_reachable(module, request.kernel, request.launch);
  if (!reached) return reached.error();
  unit.reached = std::move(*reached);
  unit.notes = std::move(unit.reached.notes);
  // The driver loads a variant on its own; a variant that is only written may still be linked by the caller.
  if (request.variable_address && request.assembler_contracts && !unit.reached.undefined.empty()) {
    return failure(
        "it calls '" + unit.reached.undefined.front() + "', which the PTX of its module does not define",
        "the program's module was linked with machine code that defines it");
  }
  // Analyses of a large function are slow, and its variant is larger still.
  return check_size(request.limits, unit.reached.instructions, 0);
}

/// Fills in the properties of the kernel and its variant.
void describe(const Request& request, ptx::InstrumentationUnit& unit, Instrumented& result) {
  if (request.inspection.wants_registers) {
    if (const Result<RegisterEstimate> registers = estimate_registers(unit.reached, result.ptx)) {
      result.size.registers = *registers;
    } else {
      unit.notes.push_back("registers not estimated: " + registers.error().diagnostics.front().message);
    }
  }
  result.kernel = request.kernel;
  result.traits = {kept_registers(unit),
                   ptx::may_wait_for_blocks(unit.module, *unit.reached.kernel().function),
                   directives_of(result.ptx, request.kernel),
                   may_overflow(request, result),
                   {std::string(ptx::variable_table), std::move(result.traits.variables.addresses)}};
  result.parameters = parameter_slots(*unit.reached.kernel().function);
  if (std::ranges::any_of(request.specifications, [](const auto& each) { return each->asks_for_boxes(); }))
    result.tensor_copies = tensor_copies(unit.reached, result.parameters, unit.notes);
  result.size.basic_blocks = unit.reached.basic_blocks;
  result.size.instructions = unit.reached.instructions;
  result.sites = std::make_shared<const cod::SiteTable>(describe_sites(unit.module, unit.reached));
  for (std::size_t i = 0; i < unit.spliced.probes.size(); ++i) {
    const std::uint64_t predicted = result.words == nullptr ? 0 : result.words->predicted.at(i);
    result.sites_per_handler.push_back(unit.spliced.probes[i].sites + predicted);
  }
  result.notes = std::move(unit.notes);
}

/// Plans and inserts the probes of the specifications, then runs all passes.
Status add_specifications(const Request& request, int sm, ptx::InstrumentationUnit& unit,
                          Instrumented& result) {
  const auto uses_transfer_labels = [](const SpecificationPtr& each) { return each->uses_transfer_labels(); };
  if (std::ranges::any_of(request.specifications, uses_transfer_labels))
    unit.reached.transfers = find_transfers(unit.module, unit.reached);
  if (Status added = add_probes(request, sm, unit); !added) return added.error();
  if (Status fits = check_shared_memory(unit); !fits) return fits.error();
  const std::shared_ptr<Counting> counting = add_counters(request, unit);
  if (Status shared = share_variables(request, unit, result.traits.variables.addresses); !shared)
    return shared.error();
  const std::shared_ptr<WordCounting> words = plan_word_counts(request, unit);

  ptx::PassManager passes = ptx::make_pipeline();
  if (request.inspection.verify) passes.verify_with(verify);
  passes.observe_with(request.inspection.observer);
  if (Status ran = passes.run_through("memory-sites", unit); !ran) return ran.error();
  if (counting != nullptr) {
    unit.counting.request =
        request_counts(request, unit.reached, unit.memory, unit.spliced.probes, *counting);
  }
  if (Status ran = passes.run(unit); !ran) return ran.error();
  if (unit.counting.plan != nullptr) {
    counting->plan = unit.counting.plan;
    result.counting = counting;
  }
  result.words = words;
  result.spent.passes = passes.timings();
  result.spent.verify_ms = passes.verify_milliseconds();
  return success();
}

/// Adds the code of the perturbation.
Status perturb(const Request& request, ptx::InstrumentationUnit& unit, Instrumented& result) {
  LYNXPP_CHECK(request.specifications.empty(), "a perturbed variant measures nothing");
  if (Status shared = share_variables(request, unit, result.traits.variables.addresses); !shared)
    return shared.error();
  ptx::PassManager passes = ptx::make_perturbation_pipeline(*request.perturbation, result.perturbed);
  if (request.inspection.verify) passes.verify_with(verify);
  passes.observe_with(request.inspection.observer);
  if (Status ran = passes.run(unit); !ran) return ran.error();
  result.spent.passes = passes.timings();
  result.spent.verify_ms = passes.verify_milliseconds();
  return success();
}

}  // namespace

Result<Instrumented> instrument(const Request& request) {
  Instrumented result;
  Stopwatch watch;
  Result<ptx::Module> module = ptx::parse_module(*request.ptx);
  if (!module) return module.error();
  ptx::InstrumentationUnit unit(*module, request.launch);
  set_options(request, unit);
  if (Status reached = reach(request, *module, unit); !reached) return reached.error();
  unit.options.has_few_registers = is_for_ptxas(request) && has_few_registers(*module, unit.reached.kernel());
  result.spent.parse_ms = watch.lap();

  const int sm = set_target(request, unit);
  if (request.words.scheme.shared_bits != 0) {
    const std::string obstacle = ptx::obstacle_to_shared_counters(unit.reached);
    if (!obstacle.empty()) return without_shared_counters(request, obstacle);
  }
  if (Status added = request.perturbation ? perturb(request, unit, result)
                                          : add_specifications(request, sm, unit, result);
      !added)
    return added.error();
  result.probe = probe_words(request, unit.hidden);
  result.size.added_instructions = added_instructions(unit.edits);
  if (Status fits = check_size(request.limits, unit.reached.instructions, result.size.added_instructions);
      !fits)
    return fits.error();
  result.spent.instrument_ms = watch.lap();

  result.ptx = ptx::emit(*module, unit.edits);
  result.spent.emit_ms = watch.lap();
  const Status fits = is_for_ptxas(request)
                          ? check_register_budget(*module, *unit.reached.kernel().function, result.ptx)
                          : success();
  if (!fits) return without_calls(request, fits.error());
  describe(request, unit, result);
  return result;
}

}  // namespace lynxpp::engine
