// A probe routine: the code of a compiled handler, ready to be copied into other functions any number of
// times.
//
// Each copy has registers and labels of its own, and `ret` becomes a branch to the end of the copy. Memory of
// the routine's own (`.local`) becomes the local depot that all copies in a function share, since nothing in
// it outlives a copy. Functions that it calls stand once in the variant (routine_functions.h), and each copy
// has the calls. Operands whose names begin with one of four prefixes are values that a SiteBinding tells:
//   mov.b64 d, <word prefix>3;    a word of the hidden parameter
//   <state prefix>0               a per-thread state register, read or written
//   <variable prefix>1            the name of a variable of the variant, declared in
//                                 SplicedCode::variables
//   <site prefix>basic_block_id   a value known at the site: an immediate or a register
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "ptx/ir/code_builder.h"
#include "ptx/ir/module.h"
#include "ptx/passes/module/hidden_words.h"
#include "ptx/passes/probes/routine_functions.h"
#include "support/result.h"

namespace lynxpp::ptx {

struct PlaceholderPrefixes {
  std::string_view word;
  std::string_view state;
  std::string_view site;
  std::string_view variable = {};  ///< empty: there are none
};

/// Of the words, states and variables of all specifications those that are the first of one. Its routines
/// number their own from 0.
struct FirstOfSpecification {
  std::uint32_t word = 0;
  std::uint32_t state = 0;
  std::uint32_t variable = 0;
};

/// What a routine reads and writes besides its own registers, at one site.
struct SiteBinding {
  HiddenWords words;           ///< its own are those from first.word on
  FirstOfSpecification first;  ///< of the routine's specification
  /// Of all specifications.
  std::function<CodeOperand(std::uint32_t)> state = {};
  /// By name. Nothing: the value is not needed; it is 0, and what is written to it is dropped.
  std::function<std::optional<CodeOperand>(std::string_view)> site_value = {};
  /// What is moved instead of the word in memory.
  std::function<CodeOperand(std::uint32_t)> word = {};
  /// In a loop: the registers that hold the routine's invariants. Empty: the copy computes them itself.
  std::vector<VirtualRegister> invariants = {};
};

/// Code in which some registers are no registers, but stand for what a binding tells.
struct CodeTemplate {
  struct Placeholder {
    enum class Kind { word, state, variable, site_value, invariant };
    Kind kind = Kind::word;
    std::uint32_t index = 0;
    std::string name = {};  ///< site_value
  };

  NameSource names;  ///< of its registers and labels
  Code code;
  std::map<VirtualRegister, Placeholder> placeholders;

  /// A copy with names of its own.
  Code copy(const SiteBinding& binding, NameSource& names_of_function) const;
};

class ProbeRoutine {
 public:
  /// `function` is the routine; it and the functions it calls have their bodies parsed, and the latter are
  /// added to `functions`. Failure: it declares memory that is not `.local`, or calls what add_function()
  /// refuses.
  static Result<ProbeRoutine> make(const Module& module, const Function& function,
                                   const PlaceholderPrefixes& prefixes, RoutineFunctions& functions);

  /// One copy, for the function that takes its names from there.
  Code copy(const SiteBinding& binding, NameSource& names) const {
    return (binding.invariants.empty() ? whole_ : in_loops_).copy(binding, names);
  }

  /// Values that copies in loops may take from registers (routine_invariants.h), by type.
  const std::vector<RegisterType>& invariants() const { return invariant_types_; }
  /// What computes invariant `index` into `target`; equal code for the same value of any routine, if `names`
  /// are.
  Code invariant(std::uint32_t index, const SiteBinding& binding, VirtualRegister target,
                 NameSource& names) const;

  bool reads_site_value(std::string_view name) const { return site_values_.contains(name); }
  const std::set<std::string, std::less<>>& site_values() const { return site_values_; }
  const std::set<std::uint32_t>& functions() const { return functions_; }  ///< that it calls itself
  std::uint64_t depot_bytes() const { return depot_bytes_; }               ///< local memory that a copy needs
  std::uint32_t instructions() const { return instructions_; }
  /// Lanes may wait for each other in it: it has votes, shuffles or the like, or calls.
  bool may_join_lanes() const { return may_join_lanes_; }
  // What a copy uses, for a call that stands for it (outline.h).
  const std::set<std::uint32_t>& words() const { return words_; }
  const std::set<std::uint32_t>& states() const { return states_; }
  bool writes_state(std::uint32_t index) const { return written_states_.contains(index); }
  /// Whether the routine reads the value as 64 bits; else as 32.
  bool is_wide(std::string_view site_value) const { return wide_site_values_.contains(site_value); }

 private:
  friend class RoutineBuilder;

  CodeTemplate whole_;
  CodeTemplate in_loops_;                           ///< with invariants in registers, if there are some
  std::vector<CodeTemplate> invariant_code_;        ///< each moves its result to placeholder 0
  std::vector<RegisterType> invariant_types_;       ///< b32 or b64
  std::set<std::string, std::less<>> site_values_;  ///< names of those that it reads
  std::set<std::string, std::less<>> wide_site_values_;
  std::set<std::uint32_t> functions_, words_, states_, written_states_;
  std::uint32_t instructions_ = 0;
  std::uint64_t depot_bytes_ = 0;
  bool may_join_lanes_ = false;
};

/// The number at the end of the name of a placeholder or of a site's value: 2 of "loaded_value_2".
std::uint32_t number_at_end(std::string_view name);

/// The name of variable `index` of SplicedCode::variables.
std::string variable_name(std::uint32_t index);

/// The local memory of a function's probes, aligned to 16 bytes.
inline constexpr std::string_view depot_variable = "__lynxpp_depot";
/// Its declaration.
std::string declaration_of_depot(std::uint64_t bytes);

}  // namespace lynxpp::ptx
