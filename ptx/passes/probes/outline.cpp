#include "ptx/passes/probes/outline.h"

#include <algorithm>

#include "ptx/passes/counting/emit/flush.h"

namespace lynxpp::ptx {
namespace {

/// Per probe. Sites with further combinations of immediates share a function with all values as parameters.
constexpr std::size_t most_functions = 16;

std::uint64_t count_sites(const InstrumentationUnit& unit, const Probe& probe) {
  std::uint64_t sites = 0;
  for (const FunctionUnit& function : unit.reached.functions) {
    if (!function.instrumented) continue;
    switch (probe.point) {
      case ProbePoint::kernel_entry:
      case ProbePoint::kernel_exit: break;  // a few sites
      case ProbePoint::function_entry:
      case ProbePoint::function_exit: ++sites; break;
      case ProbePoint::loop_entry:
      case ProbePoint::loop_iteration:
      case ProbePoint::loop_exit: sites += function.analyses->loops().loops().size(); break;
      case ProbePoint::basic_block_entry:
      case ProbePoint::basic_block_exit: sites += function.graph().blocks.size(); break;
      case ProbePoint::instruction:
      case ProbePoint::instruction_after:
        sites += static_cast<std::uint64_t>(
            std::ranges::count_if(function.function->body->instructions, probe.matches));
    }
  }
  return sites;
}

/// Returns the number of instructions at a site, including those that add tallies to memory.
std::uint64_t length_of_copy(const Probe& probe) {
  constexpr std::uint64_t of_tally = 50;
  return probe.routine.instructions() + of_tally * probe.tallies.size();
}

/// Immediates that identify a site are not specialized.
bool tells_sites_apart(std::string_view value) {
  return value.ends_with("_id") || value.starts_with("loop_") || value.starts_with("basic_block");
}

std::uint32_t bytes_of(RegisterType type) {
  return type == RegisterType::b16 ? 2 : type == RegisterType::b32 ? 4 : type == RegisterType::b64 ? 8 : 16;
}

std::string type_of(const char* opcode, std::uint32_t bytes) {
  return opcode + (".b" + std::to_string(8 * bytes));
}

/// Parameters and results of one function, and their values on both sides of the call.
class Signature {
 public:
  /// Passes `value` at the site to register `reg` of the function.
  void add_parameter(VirtualRegister reg, std::uint32_t bytes, CodeOperand value) {
    parameters_.push_back({reg, bytes, std::move(value), {}});
  }
  /// Passes a parameter slot to register `reg` of the function.
  void add_slot(VirtualRegister reg, std::uint32_t slot) { parameters_.push_back({reg, 8, 0, slot}); }
  /// Returns register `reg` of the function to `value` at the site.
  void add_result(VirtualRegister reg, std::uint32_t bytes, CodeOperand value) {
    results_.push_back({reg, bytes, std::move(value), {}});
  }

  void declare(CodeFunction& function) const {
    if (!results_.empty()) function.result = declaration_of_results();
    for (std::size_t i = 0; i < parameters_.size(); ++i) function.parameters.push_back(declaration(i));
  }

  void add_entry(CodeBuilder& code) const {
    for (std::size_t i = 0; i < parameters_.size(); ++i)
      code.emit(type_of("ld.param", parameters_[i].bytes), {parameters_[i].reg, CodeAddress{parameter(i)}});
  }

  void add_exit(CodeBuilder& code) const {
    for (std::size_t i = 0; i < results_.size(); ++i)
      code.emit(type_of("st.param", results_[i].bytes), {result(i), results_[i].reg});
    code.emit("ret", {});
  }

  /// `binding` defines how the site reads parameter slots.
  void add_call(const std::string& callee, const SiteBinding& binding, CodeBuilder& code) const {
    CodeList arguments{CodeList::Kind::arguments, {}};
    code.open_scope();
    for (std::size_t i = 0; i < parameters_.size(); ++i) {
      CodeOperand value = parameters_[i].value;
      if (const std::optional<std::uint32_t> slot = parameters_[i].slot) {
        value = binding.slots.load(*slot, code);
      }
      code.add_text(declaration(i) + ";");
      code.emit(type_of("st.param", parameters_[i].bytes), {CodeAddress{parameter(i)}, std::move(value)});
      arguments.elements.emplace_back(parameter(i));
    }
    std::vector<CodeOperand> operands{Name{callee}};
    if (!results_.empty()) {
      code.add_text(declaration_of_results() + ";");
      operands.insert(operands.begin(), CodeList{CodeList::Kind::arguments, {Name{result_name}}});
    }
    if (!arguments.elements.empty()) operands.emplace_back(std::move(arguments));
    code.emit("call", std::move(operands));
    for (std::size_t i = 0; i < results_.size(); ++i)
      code.emit(type_of("ld.param", results_[i].bytes), {results_[i].value, result(i)});
    code.close_scope();
  }

 private:
  static constexpr const char* result_name = "__lynxpp_result";

  struct Passed {
    VirtualRegister reg;
    std::uint32_t bytes = 4;
    CodeOperand value;
    std::optional<std::uint32_t> slot;  ///< instead of `value`
  };
  static Name parameter(std::size_t index) { return {"__lynxpp_parameter_" + std::to_string(index)}; }
  static CodeAddress result(std::size_t index) {
    return {Name{result_name}, static_cast<std::int64_t>(8 * index)};
  }
  std::string declaration(std::size_t index) const {
    return type_of(".param ", parameters_[index].bytes) + " " + parameter(index).text;
  }
  std::string declaration_of_results() const {
    return std::string(".param .align 8 .b8 ") + result_name + "[" + std::to_string(8 * results_.size()) +
           "]";
  }

  std::vector<Passed> parameters_, results_;
};

/// One call: its arguments, and the called function.
class OutlinedCall {
 public:
  /// `binding.invariants`: the registers that the test sets, if the function is the rest of a routine.
  OutlinedCall(InstrumentationUnit& unit, const Probe& probe, const SiteBinding& binding,
               const std::vector<SiteTally>& tallies, bool is_specialised)
      : unit_(unit),
        routine_(probe.routine),
        code_(routine_.parts() ? routine_.parts()->rest : routine_.whole()),
        uses_(uses_of(code_)),
        binding_(binding),
        tallies_(tallies),
        is_specialised_(is_specialised) {
    pass_invariants();
    pass_words();
    pass_states();
    pass_site_values();
    pass_tallies();
  }

  /// Calls with equal keys call the same function.
  const std::string& key() const { return key_; }

  CodeFunction function() const {
    CodeFunction made;
    signature_.declare(made);
    made.names = inside_.names;
    CodeBuilder code(made.names);
    if (routine_.depot_bytes() != 0) code.add_text(declaration_of_depot(routine_.depot_bytes()));
    signature_.add_entry(code);
    for (const Flushed& each : flushed_) code.mov(each.sum, 0);
    SiteBinding inner;
    inner.first.variable = binding_.first.variable;
    inner.slot = [&](std::uint32_t index) { return CodeOperand(inside_.slots.at(index)); };
    inner.state = [&](std::uint32_t index) { return CodeOperand(inside_.states.at(index)); };
    inner.site_value = [&](std::string_view name) { return inside_.site_values.find(name)->second; };
    inner.invariants = inside_.invariants;
    code.append(code_.copy(inner, made.names));
    add_flushes(code);
    signature_.add_exit(code);
    made.code = code.take();
    return made;
  }

  void add(const std::string& callee, CodeBuilder& code) const {
    signature_.add_call(callee, binding_, code);
  }

 private:
  /// The first one is the predicate of the branch, which the rest does not read.
  void pass_invariants() {
    for (const VirtualRegister outer : binding_.invariants) {
      const VirtualRegister inner = inside_.names.fresh(outer.type);
      inside_.invariants.push_back(inner);
      if (outer.type != RegisterType::pred) signature_.add_parameter(inner, bytes_of(outer.type), outer);
    }
  }

  void pass_words() {
    for (const std::uint32_t slot : uses_.slots) {
      inside_.slots.emplace(slot, inside_.names.fresh(RegisterType::b64));
      signature_.add_slot(inside_.slots.at(slot), binding_.first.slot + slot);
    }
  }

  void pass_states() {
    for (const std::uint32_t state : uses_.states) {
      const std::uint32_t outer = binding_.first.state + state;
      const std::uint32_t bytes = unit_.spliced.state_bytes[outer];
      const VirtualRegister inner = fresh(bytes);
      inside_.states.emplace(state, inner);
      signature_.add_parameter(inner, bytes, binding_.state(outer));
      if (uses_.written_states.contains(state)) signature_.add_result(inner, bytes, binding_.state(outer));
    }
  }

  void pass_site_values() {
    for (const std::string& name : uses_.site_values) {
      if (name.starts_with(tally_prefix)) continue;
      const CodeOperand value = *binding_.site_value(name);
      const auto* const immediate = std::get_if<std::int64_t>(&value.value);
      if (is_specialised_ && immediate != nullptr && !tells_sites_apart(name)) {
        key_ += name + "=" + std::to_string(*immediate) + ";";
        inside_.site_values.emplace(name, value);
        continue;
      }
      const std::uint32_t bytes = routine_.is_wide(name) ? 8 : 4;
      const VirtualRegister inner = fresh(bytes);
      signature_.add_parameter(inner, bytes, value);
      inside_.site_values.emplace(name, inner);
    }
  }

  /// Tallies in thread registers are passed in and returned; those in memory are added by the function.
  void pass_tallies() {
    const std::uint32_t bytes = unit_.counting.plan != nullptr && unit_.counting.plan->is_wide ? 8 : 4;
    for (const SiteTally& tally : tallies_) {
      const bool is_register = tally.storage && !tally.storage.is_shared();
      key_ += tally.name + (is_register ? "=register;" : tally.storage ? "=memory;" : "=none;");
      if (!tally.storage) {
        inside_.site_values.emplace(tally.name, std::nullopt);
        continue;
      }
      const VirtualRegister inner = fresh(bytes);
      inside_.site_values.emplace(tally.name, inner);
      if (is_register) {
        signature_.add_parameter(inner, bytes, tally.reg);
        signature_.add_result(inner, bytes, tally.reg);
        continue;
      }
      const VirtualRegister offset = fresh(8);
      signature_.add_parameter(offset, 8, std::int64_t{8} * tally.storage.counter->slot);
      flushed_.push_back({inner, offset});
    }
    if (flushed_.empty()) return;
    inside_.counters = fresh(8);
    signature_.add_slot(inside_.counters, unit_.counting.slot);
  }

  void add_flushes(CodeBuilder& code) const {
    for (const Flushed& each : flushed_) {
      const VirtualRegister first = code.b64("add.u64", {each.offset, inside_.counters});
      const VirtualRegister slot = slots_of_warp(code, *unit_.counting.plan, first);
      append_flush_of_sum(code, count_context(unit_, 0), each.sum, at_slot(slot, 0));
    }
  }

  VirtualRegister fresh(std::uint32_t bytes) { return inside_.names.fresh(*register_of_bytes(bytes)); }

  /// A tally in memory: the amount that the function adds, and its slot.
  struct Flushed {
    VirtualRegister sum;
    VirtualRegister offset;  ///< of the slot, in bytes
  };

  /// The routine's registers inside the function.
  struct Inside {
    NameSource names;
    std::map<std::uint32_t, VirtualRegister> slots, states;
    std::map<std::string, std::optional<CodeOperand>, std::less<>> site_values;
    VirtualRegister counters;
    std::vector<VirtualRegister> invariants;
  };

  InstrumentationUnit& unit_;
  const ProbeRoutine& routine_;
  const CodeTemplate& code_;
  const RoutineUses uses_;
  const SiteBinding& binding_;
  const std::vector<SiteTally>& tallies_;
  const bool is_specialised_;
  Signature signature_;
  std::string key_;
  Inside inside_;
  std::vector<Flushed> flushed_;
};

}  // namespace

Outliner::Outliner(InstrumentationUnit& unit) : unit_(unit), functions_(unit.spliced.probes.size()) {
  const OutlineRule& rule = unit.options.outline;
  for (const Probe& probe : unit.spliced.probes) {
    const std::uint32_t sites =
        probe.routine.parts() ? std::min(rule.sites, rule.sites_after_test) : rule.sites;
    outlined_.push_back(probe.enabled && length_of_copy(probe) >= rule.instructions &&
                        count_sites(unit, probe) >= sites);
  }
}

bool Outliner::is_outlined(const Probe& probe, const std::vector<SiteTally>& tallies) const {
  if (!outlined_[number_of(unit_, probe)]) return false;
  const auto is_in_register = [](const SiteTally& tally) { return !tally.storage.is_shared(); };
  const auto is_bit = [](const SiteTally& tally) { return tally.storage.is_bit(); };
  if (std::ranges::any_of(tallies, is_bit)) return false;
  return unit_.options.outline.instructions == 0 || tallies.empty() ||
         !std::ranges::all_of(tallies, is_in_register);
}

void Outliner::add_call(const Probe& probe, const SiteBinding& binding, const std::vector<SiteTally>& tallies,
                        CodeBuilder& code) {
  const std::optional<RoutineParts>& parts = probe.routine.parts();
  if (!parts) return add_call_of_function(probe, binding, tallies, code);
  SiteBinding own = binding;
  for (const RegisterType type : parts->passed) own.invariants.push_back(code.fresh(type));
  code.append(parts->test.copy(own, code.names()));
  const Label end = code.fresh_label();
  code.branch_if(CodePredicate(own.invariants.front(), !parts->ends_if), end);
  add_call_of_function(probe, own, tallies, code);
  code.place(end);
}

void Outliner::add_call_of_function(const Probe& probe, const SiteBinding& binding,
                                    const std::vector<SiteTally>& tallies, CodeBuilder& code) {
  std::map<std::string, std::uint32_t>& functions = functions_[number_of(unit_, probe)];
  std::optional<OutlinedCall> call(std::in_place, unit_, probe, binding, tallies, true);
  if (!functions.contains(call->key()) && functions.size() >= most_functions)
    call.emplace(unit_, probe, binding, tallies, false);
  const auto [known, is_new] = functions.try_emplace(call->key());
  if (is_new)
    known->second = unit_.spliced.routine_functions.add(call->function(), probe.routine.functions());
  unit_.spliced.routine_functions.use({known->second});
  call->add(RoutineFunctions::name(known->second), code);
}

}  // namespace lynxpp::ptx
