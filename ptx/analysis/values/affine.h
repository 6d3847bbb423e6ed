// Affine forms of a function's integer values and addresses, induction variables and static trip counts of
// its loops.
//
// Every 32- and 64-bit value has a form; at worst it is a symbol of its own (SymbolKind::value). The analysis
// follows mov, add, sub, neg, not, mul.lo, mul.wide, mad.lo, mad.wide, shl by a constant, `or` and `xor` of
// disjoint bits, `and` with a mask that keeps all bits, cvt, cvta to global, kernel parameters, and loop
// variables. It follows widening from 32 to
// 64 bits if the value provably fits, assuming that a grid has fewer than 2³¹ - 1024 threads along each
// dimension; otherwise the form is marked as inexact.
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
  AffineForm initial;  ///< expressed in affine forms
  AffineForm step;     ///< invariant in the loop; usually a constant
};

class AffineAnalysis {
 public:
  /// `most_threads`: bound of the threads in a thread block.
  AffineAnalysis(const Function& function, const ControlFlowGraph& graph, const DominatorTree& dominators,
                 const LoopNest& loops, const RegisterUsage& usage, const SsaForm& ssa,
                 std::uint32_t most_threads);

  const std::vector<Symbol>& symbols() const { return symbols_; }
  /// nullopt for values that are neither 32 nor 64 bits wide, and in unreachable blocks.
  std::optional<AffineForm> of_value(ValueId value) const {
    return value == no_value ? std::nullopt : forms_[value];
  }
  /// True if the `or` or `xor` provably is a sum, because its operands have disjoint bits.
  bool adds_disjoint_bits(std::uint32_t instruction) const { return disjoint_[instruction]; }
  /// The address in the first address operand of an instruction, including its offset; 64 bits unless its
  /// register has 32. nullopt if there is no such operand.
  std::optional<AffineForm> of_address(std::uint32_t instruction) const { return addresses_[instruction]; }

  const std::vector<InductionVariable>& induction_variables() const { return induction_; }
  /// Number of times the loop's header executes per entry of the loop, if it is a known constant: the loop
  /// has one exit, tested in every iteration, on an induction variable with constant start, step and bound
  /// that does not overflow.
  std::optional<std::uint64_t> trip_count(std::uint32_t loop) const { return trip_counts_[loop]; }

  std::string text(const AffineForm& form) const { return to_string(form, symbols_); }

 private:
  using SymbolKey = std::tuple<SymbolKind, std::uint32_t, std::string_view, std::int64_t>;

  // ---- forms of values; loop variables are symbols
  void evaluate_all();
  void evaluate_block(std::uint32_t block);
  AffineForm evaluate_phi(ValueId phi);
  std::optional<AffineForm> evaluate(std::uint32_t instruction);
  std::optional<AffineForm> evaluate_arithmetic(std::uint32_t at, std::uint8_t bits);
  std::optional<AffineForm> evaluate_product(std::uint32_t at, std::uint8_t bits);
  bool keeps_all_bits(const AffineForm& form, const AffineForm& mask) const;
  std::optional<AffineForm> evaluate_bits(std::uint32_t at, std::uint8_t bits);
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
    bool stays_when_true = false;  ///< true keeps the loop running
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
  const std::uint32_t most_threads_;
  std::vector<Symbol> symbols_;
  std::map<SymbolKey, SymbolId> interned_;
  std::vector<std::optional<AffineForm>> forms_;      // per value
  std::vector<std::optional<AffineForm>> addresses_;  // per instruction
  std::vector<bool> disjoint_;                        // per instruction
  std::vector<InductionVariable> induction_;
  std::map<SymbolId, AffineForm> closed_;  // loop variables in terms of iterations, outer loops first
  std::vector<std::optional<std::uint64_t>> trip_counts_;
};

}  // namespace lynxpp::ptx
