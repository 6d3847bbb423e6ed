// A probe routine: the PTX of a compiled handler, ready to be written into another function any number of
// times.
//
// Registers are renamed into lynxpp's own name space and live in a PTX scope of their own, labels carry the
// number of the site, and `ret` becomes a jump to the end of the copy. Memory of the routine's own (`.local`)
// becomes the local depot that all copies in a function share, since nothing in it outlives a copy. Functions
// that it calls stand once in the variant (routine_functions.h), and each copy has the calls. Four kinds of
// placeholder are filled in per site:
//   mov.b64 d, <word prefix>3;    a word of the hidden parameter
//   <state prefix>0               a per-thread state register, read or written
//   <variable prefix>1            the name of a variable of the variant, declared in
//                                 InstrumentationUnit::variables
//   <site prefix>basic_block_id   a value known at the site: an immediate or a register
#pragma once

#include <cstdint>
#include <functional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "ptx/ir/module.h"
#include "ptx/passes/probes/routine_functions.h"
#include "support/result.h"

namespace lynxpp::ptx {

struct PlaceholderPrefixes {
  std::string_view word;
  std::string_view state;
  std::string_view site;
  std::string_view variable = {};  ///< empty: there are none
};

/// What the placeholders stand for at one site.
struct SiteBinding {
  std::uint32_t site = 0;            ///< unique in the function; makes labels unique
  std::string word_opcode;           ///< "ld.param.b64"
  std::string word_base;             ///< "__lynxpp_probe": word k is [base + 8 * (first_word + k)]
  std::uint32_t first_word = 0;      ///< of the routine's specification
  std::uint32_t first_state = 0;     ///< likewise
  std::uint32_t first_variable = 0;  ///< likewise
  std::function<std::string(std::string_view)> site_value;
  /// What word_opcode reads instead of memory at word_base.
  std::function<std::string(std::uint32_t)> word = {};
  /// In a loop: the register that holds invariant `index` of the routine's. Empty: the copy computes them
  /// itself.
  std::function<std::string(std::uint32_t)> invariant = {};
};

class ProbeRoutine {
 public:
  /// `function` is the routine; it and the functions it calls have their bodies parsed, and the latter are
  /// added to `functions`. Failure: it declares memory that is not `.local`, calls what add_function()
  /// refuses, or calls at all while `functions` is null.
  static Result<ProbeRoutine> make(const Module& module, const Function& function,
                                   const PlaceholderPrefixes& prefixes,
                                   RoutineFunctions* functions = nullptr);

  /// Appends one copy, a scope `{ … }` of its own, to `out`.
  void append(const SiteBinding& binding, std::string& out) const;

  /// Values that copies in loops may take from registers (routine_invariants.h), each of 32 or of 64 bits.
  const std::vector<std::uint32_t>& invariant_bits() const { return invariant_bits_; }
  /// What computes invariant `index` into `target`, a scope of its own; the same text for the same value of
  /// any routine.
  void append_invariant(std::uint32_t index, const SiteBinding& binding, const std::string& target,
                        std::string& out) const;

  bool reads_site_value(std::string_view name) const { return site_values_.contains(name); }
  const std::set<std::string, std::less<>>& site_values() const { return site_values_; }
  const std::set<std::uint32_t>& functions() const { return functions_; }  ///< that it calls itself
  std::uint64_t depot_bytes() const { return depot_bytes_; }               ///< local memory that a copy needs
  std::uint32_t instructions() const { return instructions_; }
  // What a copy uses, for a call that stands for it (outline.h).
  const std::set<std::uint32_t>& words() const { return words_; }
  const std::set<std::uint32_t>& states() const { return states_; }
  bool writes_state(std::uint32_t index) const { return written_states_.contains(index); }
  /// Whether the routine reads the value as 64 bits; else as 32.
  bool is_wide(std::string_view site_value) const { return wide_site_values_.contains(site_value); }

 private:
  struct Piece {
    enum class Kind { text, word, word_opcode, state, variable, site_value, label, invariant };
    Kind kind;
    std::string text;         ///< text; site_value: its name; label: the part after the site number
    std::uint32_t index = 0;  ///< word, state, variable, invariant
  };
  friend class RoutineBuilder;
  static void append(const std::vector<Piece>& pieces, const SiteBinding& binding, std::string& out);

  std::vector<Piece> pieces_;
  std::vector<Piece> loop_pieces_;  ///< of copies with invariants in registers; empty: there are none
  std::vector<std::vector<Piece>> invariant_pieces_;  ///< what computes each; the last register is its own
  std::vector<std::uint32_t> invariant_bits_;
  std::set<std::string, std::less<>> site_values_;  ///< names of those that it reads
  std::set<std::string, std::less<>> wide_site_values_;
  std::set<std::uint32_t> functions_, words_, states_, written_states_;
  std::uint32_t instructions_ = 0;
  std::uint64_t depot_bytes_ = 0;
};

/// The name of state register `index` in an instrumented function.
std::string state_register(std::uint32_t index);

/// The name of variable `index` of InstrumentationUnit::variables.
std::string variable_name(std::uint32_t index);

/// The local memory of a function's probes, aligned to 16 bytes.
inline constexpr std::string_view depot_variable = "__lynxpp_depot";

}  // namespace lynxpp::ptx
