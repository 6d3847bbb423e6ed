// Code in which some registers are placeholders for operands of a site, and the binding that supplies them.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ptx/ir/code_builder.h"
#include "ptx/passes/module/parameter_slots.h"

namespace lynxpp::ptx {

/// The prefix of tally names among site values.
inline constexpr std::string_view tally_prefix = "tally_";

struct PlaceholderPrefixes {
  std::string_view slot;
  std::string_view state;
  std::string_view site;
  std::string_view variable = {};  ///< empty: no variables
};

/// The first parameter slot, state and variable of a specification. Its routines number their own from 0.
struct FirstOfSpecification {
  std::uint32_t slot = 0;
  std::uint32_t state = 0;
  std::uint32_t variable = 0;
};

/// The operands that a routine reads and writes besides its own registers, at one site.
struct SiteBinding {
  ParameterSlots slots;        ///< the routine's slots start at first.slot
  FirstOfSpecification first;  ///< of the routine's specification
  /// By index over all specifications.
  std::function<CodeOperand(std::uint32_t)> state = {};
  /// By name. nullopt: the value is unused; reads yield 0 and writes are discarded.
  std::function<std::optional<CodeOperand>(std::string_view)> site_value = {};
  /// Returns an operand that replaces the parameter slot.
  std::function<CodeOperand(std::uint32_t)> slot = {};
  /// In a loop: the registers that hold the routine's invariants. Empty: the copy computes them itself.
  std::vector<VirtualRegister> invariants = {};
};

/// Code in which some registers are placeholders for the operands of a binding.
struct CodeTemplate {
  struct Placeholder {
    enum class Kind { slot, state, variable, site_value, invariant };
    Kind kind = Kind::slot;
    std::uint32_t index = 0;
    std::string name = {};  ///< site_value
  };

  NameSource names;  ///< of its registers and labels
  Code code;
  std::map<VirtualRegister, Placeholder> placeholders;

  /// Returns a copy with fresh names.
  Code copy(const SiteBinding& binding, NameSource& names_of_function) const;
};

/// The placeholders of a template.
struct RoutineUses {
  std::set<std::uint32_t> slots, states, written_states;
  std::set<std::string, std::less<>> site_values;
};

RoutineUses uses_of(const CodeTemplate& code);

/// Returns the registers and placeholders of all instructions.
std::set<VirtualRegister> registers_of(std::span<const CodeStatement> statements);

/// Returns the name of variable `index` of SplicedCode::variables.
std::string variable_name(std::uint32_t index);

}  // namespace lynxpp::ptx
