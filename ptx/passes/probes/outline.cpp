#include "ptx/passes/probes/outline.h"

#include <algorithm>
#include <cctype>

#include "ptx/passes/counting/emit/text.h"

namespace lynxpp::ptx {
namespace {

/// Of one probe. Sites whose immediates ask for more get one that has everything as parameters.
constexpr std::size_t most_functions = 16;

std::string number(std::uint64_t value) { return std::to_string(value); }

std::uint64_t count_sites(const InstrumentationUnit& unit, const Probe& probe) {
  std::uint64_t sites = 0;
  for (const FunctionUnit& function : unit.functions) {
    if (!function.instrumented) continue;
    switch (probe.point) {
      case ProbePoint::kernel_entry:
      case ProbePoint::kernel_exit: break;  // a few places
      case ProbePoint::block_entry:
      case ProbePoint::block_exit: sites += function.graph.blocks.size(); break;
      case ProbePoint::instruction:
      case ProbePoint::instruction_after:
        sites += static_cast<std::uint64_t>(
            std::ranges::count_if(function.function->body->instructions, probe.matches));
    }
  }
  return sites;
}

/// Instructions at a site, with those that add tallies to memory.
std::uint64_t length_of_copy(const Probe& probe) {
  constexpr std::uint64_t of_tally = 50;
  return probe.routine.instructions() + of_tally * probe.tallies.size();
}

bool is_immediate(std::string_view operand) {
  return !operand.empty() && (std::isdigit(static_cast<unsigned char>(operand[0])) != 0 || operand[0] == '-');
}

/// Immediates that tell sites apart: no function for each of them.
bool tells_sites_apart(std::string_view value) {
  return value == "instruction_id" || value.starts_with("basic_block");
}

/// Parameters and results of one function, and what stands for them on both sides.
class Signature {
 public:
  /// `value` at the site ▶ the register `name` of the function.
  void add_parameter(const std::string& name, std::uint32_t bytes, const std::string& value) {
    parameters_.push_back({name, bytes, value});
  }
  /// The register `name` of the function ▶ `value` at the site.
  void add_result(const std::string& name, std::uint32_t bytes, const std::string& value) {
    results_.push_back({name, bytes, value});
  }

  std::string header() const {
    std::string text = ".func ";
    if (!results_.empty()) text += "(.param .align 8 .b8 __lynxpp_result[" + result_bytes() + "]) ";
    text += std::string(1, RoutineFunctions::own_name) + "(";
    for (std::size_t i = 0; i < parameters_.size(); ++i)
      text += (i == 0 ? "" : ", ") + declaration(".param", i, parameter(i));
    return text + ")\n{\n";
  }

  std::string entry() const {
    std::string text;
    for (std::size_t i = 0; i < parameters_.size(); ++i) {
      text += "\t" + declaration(".reg", i, parameters_[i].name) + ";\n\tld.param" + type(parameters_[i]) +
              " " + parameters_[i].name + ", [" + parameter(i) + "];\n";
    }
    return text;
  }

  std::string exit() const {
    std::string text;
    for (std::size_t i = 0; i < results_.size(); ++i)
      text += "\tst.param" + type(results_[i]) + " " + result(i) + ", " + results_[i].name + ";\n";
    return text + "\tret;\n}\n";
  }

  void append_call(const std::string& callee, const std::string& loads, std::string& text) const {
    text += "\t{\n" + loads;
    std::string arguments;
    for (std::size_t i = 0; i < parameters_.size(); ++i) {
      text += "\t" + declaration(".param", i, parameter(i)) + ";\n\tst.param" + type(parameters_[i]) + " [" +
              parameter(i) + "], " + parameters_[i].value + ";\n";
      arguments += (i == 0 ? "" : ", ") + parameter(i);
    }
    if (!results_.empty()) text += "\t.param .align 8 .b8 __lynxpp_result[" + result_bytes() + "];\n";
    text += std::string("\tcall ") + (results_.empty() ? "" : "(__lynxpp_result), ") + callee +
            (arguments.empty() ? "" : ", (" + arguments + ")") + ";\n";
    for (std::size_t i = 0; i < results_.size(); ++i)
      text += "\tld.param" + type(results_[i]) + " " + results_[i].value + ", " + result(i) + ";\n";
    text += "\t}\n";
  }

 private:
  struct Passed {
    std::string name;
    std::uint32_t bytes = 4;
    std::string value;
  };
  static std::string type(const Passed& passed) { return ".b" + number(8 * passed.bytes); }
  static std::string parameter(std::size_t index) { return "__lynxpp_parameter_" + number(index); }
  static std::string result(std::size_t index) { return "[__lynxpp_result+" + number(8 * index) + "]"; }
  std::string declaration(const char* space, std::size_t index, const std::string& name) const {
    return std::string(space) + " " + type(parameters_[index]) + " " + name;
  }
  std::string result_bytes() const { return number(8 * results_.size()); }

  std::vector<Passed> parameters_, results_;
};

}  // namespace

/// One call: what is passed, and the function behind it.
class OutlinedCall {
 public:
  OutlinedCall(InstrumentationUnit& unit, const Probe& probe, const SiteBinding& binding,
               const std::vector<OutlinedTally>& tallies, bool is_specialised)
      : unit_(unit),
        routine_(probe.routine),
        binding_(binding),
        tallies_(tallies),
        is_specialised_(is_specialised) {
    pass_words();
    pass_states();
    pass_site_values();
    pass_tallies();
  }

  /// Calls with the same key call the same function.
  const std::string& key() const { return key_; }

  std::string function_text(std::uint32_t& next_label) const {
    std::string text = signature_.header();
    if (routine_.depot_bytes() != 0) {
      text += "\t.local .align 16 .b8 " + std::string(depot_variable) + "[" + number(routine_.depot_bytes()) +
              "];\n";
    }
    text += signature_.entry() + declarations_;
    SiteBinding inner;
    inner.word_opcode = "mov.b64";
    inner.first_variable = binding_.first_variable;
    inner.word = word_register;
    inner.site_value = [&](std::string_view name) { return inner_values_.find(name)->second; };
    routine_.append(inner, text);
    append_flushes(next_label, text);
    return text + signature_.exit();
  }

  void append(const std::string& callee, std::string& text) const {
    signature_.append_call(callee, loads_, text);
  }

 private:
  static std::string word_register(std::uint32_t index) { return "%lynxpp_word_" + number(index); }

  /// A word of the hidden parameter comes in a register on both sides of the call.
  void load_word(const std::string& name, std::uint32_t word) {
    loads_ += "\t.reg .b64 " + name + ";\n\t" + binding_.word_opcode + " " + name + ", [" +
              binding_.word_base + "+" + number(8 * std::uint64_t{word}) + "];\n";
    signature_.add_parameter(name, 8, name);
  }

  void pass_words() {
    for (const std::uint32_t word : routine_.words())
      load_word(word_register(word), binding_.first_word + word);
  }

  void pass_states() {
    for (const std::uint32_t state : routine_.states()) {
      const std::uint32_t outer = binding_.first_state + state;
      const std::uint32_t bytes = unit_.state_bytes[outer];
      signature_.add_parameter(state_register(state), bytes, state_register(outer));
      if (routine_.writes_state(state))
        signature_.add_result(state_register(state), bytes, state_register(outer));
    }
  }

  void pass_site_values() {
    for (const std::string& name : routine_.site_values()) {
      if (name.starts_with("tally_")) continue;
      const std::string value = binding_.site_value(name);
      if (is_specialised_ && is_immediate(value) && !tells_sites_apart(name)) {
        key_ += name + "=" + value + ";";
        inner_values_[name] = value;
        continue;
      }
      // Another register than the site's: its name is taken by what the routine declares, perhaps.
      const std::string inner = "%lynxpp_of_site_" + name;
      signature_.add_parameter(inner, routine_.is_wide(name) ? 8 : 4, value);
      inner_values_[name] = inner;
    }
  }

  /// Those in registers of the thread go in and come back; those in memory are added there by the function.
  void pass_tallies() {
    const bool is_wide = unit_.counting != nullptr && unit_.counting->is_wide;
    const std::string type = is_wide ? "b64 " : "b32 ";
    bool adds_to_memory = false;
    for (const OutlinedTally& tally : tallies_) {
      const std::string inner = "%lynxpp_" + tally.name;
      inner_values_[tally.name] = inner;
      const bool is_register = tally.counter != nullptr && tally.counter->storage != Counter::Storage::memory;
      key_ += tally.name + (is_register ? "=register;" : tally.counter != nullptr ? "=memory;" : "=none;");
      if (is_register) {
        const std::string outer = CountText::name(tally.counter->reg);
        signature_.add_parameter(inner, is_wide ? 8 : 4, outer);
        signature_.add_result(inner, is_wide ? 8 : 4, outer);
        continue;
      }
      declarations_ += "\t.reg ." + type + inner + ";\n\tmov." + type + inner + ", 0;\n";
      if (tally.counter == nullptr) continue;
      adds_to_memory = true;
      signature_.add_parameter(inner + "_offset", 8, number(8 * std::uint64_t{tally.counter->slot}));
    }
    if (adds_to_memory) load_word("%lynxpp_slots", unit_.counter_word);
  }

  void append_flushes(std::uint32_t& next_label, std::string& text) const {
    for (const OutlinedTally& tally : tallies_) {
      if (tally.counter == nullptr || tally.counter->storage != Counter::Storage::memory) continue;
      const std::string inner = "%lynxpp_" + tally.name;
      const CountPlan& plan = *unit_.counting;
      Counter given = *tally.counter;
      given.storage = Counter::Storage::summed;
      given.slot = 0;
      CountText counts(
          {plan.is_wide, unit_.target.sm >= 80, true, 0, plan.replicas, plan.stride, inner + "_offset"},
          next_label);
      text += "\tadd.u64 " + inner + "_offset, " + inner + "_offset, %lynxpp_slots;\n\t{\n\t.reg " +
              (plan.is_wide ? ".b64 " : ".b32 ") + CountText::name(given.reg) + ";\n\tmov." +
              (plan.is_wide ? "b64 " : "b32 ") + CountText::name(given.reg) + ", " + inner + ";\n" +
              counts.flush({&given}, {}) + "\t}\n";
    }
  }

  InstrumentationUnit& unit_;
  const ProbeRoutine& routine_;
  const SiteBinding& binding_;
  const std::vector<OutlinedTally>& tallies_;
  const bool is_specialised_;
  Signature signature_;
  std::string key_, loads_, declarations_;
  std::map<std::string, std::string, std::less<>> inner_values_;
};

Outliner::Outliner(InstrumentationUnit& unit, std::uint32_t& next_tally_label)
    : unit_(unit), next_tally_label_(next_tally_label), functions_(unit.probes.size()) {
  for (const Probe& probe : unit.probes) {
    outlined_.push_back(probe.enabled && length_of_copy(probe) >= unit.outline.instructions &&
                        count_sites(unit, probe) >= unit.outline.sites);
  }
}

bool Outliner::is_outlined(const Probe& probe, const std::vector<OutlinedTally>& tallies) const {
  if (!outlined_[static_cast<std::size_t>(&probe - unit_.probes.data())]) return false;
  const auto is_in_register = [](const OutlinedTally& tally) {
    return tally.counter == nullptr || tally.counter->storage != Counter::Storage::memory;
  };
  const auto is_bit = [](const OutlinedTally& tally) {
    return tally.counter != nullptr && tally.counter->is_bit;
  };
  if (std::ranges::any_of(tallies, is_bit)) return false;
  return unit_.outline.instructions == 0 || tallies.empty() || !std::ranges::all_of(tallies, is_in_register);
}

void Outliner::append_call(const Probe& probe, const SiteBinding& binding,
                           const std::vector<OutlinedTally>& tallies, std::string& text) {
  const auto index = static_cast<std::size_t>(&probe - unit_.probes.data());
  std::map<std::string, std::uint32_t>& functions = functions_[index];
  const OutlinedCall special(unit_, probe, binding, tallies, true);
  if (functions.contains(special.key()) || functions.size() < most_functions)
    return append_call(probe, special, functions, text);
  append_call(probe, OutlinedCall(unit_, probe, binding, tallies, false), functions, text);
}

void Outliner::append_call(const Probe& probe, const OutlinedCall& call,
                           std::map<std::string, std::uint32_t>& functions, std::string& text) {
  auto known = functions.find(call.key());
  if (known == functions.end()) {
    const std::uint32_t function = unit_.routine_functions.add(
        call.function_text(next_tally_label_), probe.routine.functions(), probe.routine.instructions());
    known = functions.emplace(call.key(), function).first;
  }
  unit_.routine_functions.use(known->second);
  call.append(RoutineFunctions::name(known->second), text);
}

}  // namespace lynxpp::ptx
