// Affine forms of a function's integer values and addresses, its loops' induction variables and static trip
// counts.
//
// Every 32- and 64-bit value has a form; at worst it is a symbol of its own (SymbolKind::value). Followed are
// mov, add, sub, neg, not, mul.lo, mul.wide, mad.lo, mad.wide, shl by a constant, `or` and `xor` of bits that
// cannot meet, cvt, cvta to global, kernel parameters, and loop variables. Widening 32 to 64 bits is followed
// where the value provably fits, for which a grid is taken to have fewer than 2³¹ - 1024 threads along a
// dimension; elsewhere the form is marked as not exact.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <tuple>
#include <vector>

#include "ptx/analysis/flow/loops.h"
#include "ptx/analysis/flow/ssa.h"
#include "ptx/analysis/values/affine_form.h"

namespace lynxpp::ptx {

/// A register that changes by the same step in every iteration of a loop: initial + iteration × step.
struct InductionVariable {
  std::uint32_t loop = no_loop;
  ValueId phi = no_value;  ///< its value at the top of the loop
  RegisterId reg = no_register;
  AffineForm initial;  ///< in the terms of affine forms
  AffineForm step;     ///< the same in every iteration; usually a constant
};

class AffineAnalysis {
 public:
  AffineAnalysis(const Function& function, const ControlFlowGraph& graph, const DominatorTree& dominators,
                 const LoopNest& loops, const RegisterUsage& usage, const SsaForm& ssa);

  const std::vector<Symbol>& symbols() const { return symbols_; }
  /// nullopt for values that are neither 32 nor 64 bits wide, and in unreachable blocks.
  std::optional<AffineForm> of_value(ValueId value) const {
    return value == no_value ? std::nullopt : forms_[value];
  }
  /// The address in the first address operand of an instruction, its offset included, 64 bits unless its
  /// register has 32. nullopt when it has none.
  std::optional<AffineForm> of_address(std::uint32_t instruction) const { return addresses_[instruction]; }

  const std::vector<InductionVariable>& induction_variables() const { return induction_; }
  /// How often the loop's header runs each time the loop is entered, where that is the same every time and
  /// known: one exit, which is tested in every iteration, on an induction variable with constant start,
  /// step and bound that does not overflow before.
  std::optional<std::uint64_t> trip_count(std::uint32_t loop) const { return trip_counts_[loop]; }

  std::string text(const AffineForm& form) const { return to_string(form, symbols_); }

 private:
  using SymbolKey = std::tuple<SymbolKind, std::uint32_t, std::string_view, std::int64_t>;

  // ---- forms of values, loop variables being symbols
  void evaluate_all();
  void evaluate_block(std::uint32_t block);
  AffineForm evaluate_phi(ValueId phi);
  std::optional<AffineForm> evaluate(std::uint32_t instruction);
  std::optional<AffineForm> evaluate_arithmetic(std::uint32_t at, std::string_view root, std::uint8_t bits);
  std::optional<AffineForm> evaluate_product(std::uint32_t at, std::string_view root, std::uint8_t bits);
  std::optional<AffineForm> evaluate_bits(std::uint32_t at, std::string_view root, std::uint8_t bits);
  std::optional<AffineForm> evaluate_conversion(std::uint32_t at);
  std::optional<AffineForm> evaluate_parameter(std::uint32_t at);
  std::optional<AffineForm> operand_form(std::uint32_t at, std::size_t index, std::uint8_t bits);
  std::optional<AffineForm> operand_form(std::uint32_t at, const Operand& operand, std::uint8_t bits);
  std::optional<AffineForm> address_form(std::uint32_t at);
  std::optional<AffineForm> widen(const AffineForm& form, bool is_signed) const;
  void bound_value(ValueId value, std::uint32_t at);
  std::optional<Interval> range_of_result(std::uint32_t at);
  std::uint8_t bits_of(ValueId value) const;

  SymbolId intern(Symbol symbol);
  SymbolId value_symbol(ValueId value);
  std::optional<SymbolId> special_register(std::string_view name);

  // ---- loops
  void find_induction_variables();
  std::optional<InductionVariable> induction_of(std::uint32_t loop, ValueId phi);
  bool is_invariant(const AffineForm& form, std::uint32_t loop) const;
  struct ExitTest {
    std::uint32_t instruction = 0;
    bool stays_when_true = false;  ///< in the loop
  };
  void find_trip_counts();
  std::optional<ExitTest> exit_test_of(std::uint32_t loop) const;
  std::optional<std::uint64_t> count_trips(std::uint32_t loop);
  void close_induction_variables();
  std::optional<AffineForm> resolve(AffineForm form) const;

  const Function& function_;
  const ControlFlowGraph& graph_;
  const DominatorTree& dominators_;
  const LoopNest& loops_;
  const RegisterUsage& usage_;
  const SsaForm& ssa_;
  std::vector<Symbol> symbols_;
  std::map<SymbolKey, SymbolId> interned_;
  std::vector<std::optional<AffineForm>> forms_;      // per value
  std::vector<std::optional<AffineForm>> addresses_;  // per instruction
  std::vector<InductionVariable> induction_;
  std::map<SymbolId, AffineForm> closed_;  // loop variables in terms of iterations, outer loops first
  std::vector<std::optional<std::uint64_t>> trip_counts_;
};

}  // namespace lynxpp::ptx
