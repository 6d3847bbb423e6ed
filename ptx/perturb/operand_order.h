// Which operand of an instruction is available last, so that making it later makes the instruction later.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "ptx/analysis/analyses.h"

namespace lynxpp::ptx {

/// Chooses the operand that an instruction waits for: one of a chain from iteration to iteration that the
/// instruction is part of; without one, the operand at the end of the longest chain within the basic block.
class OperandOrder {
 public:
  /// `analyses` must outlive this object.
  explicit OperandOrder(FunctionAnalyses& analyses);

  /// Returns the index of the operand in the instruction; nullopt if none of the candidates is a register
  /// that the innermost loop around the instruction computes. The assembler would move an operation on
  /// anything else out of the loop.
  std::optional<std::size_t> last(std::uint32_t instruction, std::span<const std::size_t> candidates) const;

  /// True if the instruction's result is used for addresses and comparisons alone.
  bool is_for_addresses(std::uint32_t instruction) const;

  /// Returns the value that the instruction reads from a register operand; no_value for other operands.
  ValueId value_of(std::uint32_t instruction, const Operand& operand) const;

  /// Returns the instruction that computes a register operand; null if there are several, or none.
  const Instruction* definition(std::uint32_t instruction, const Operand& operand) const;

 private:
  struct Rank {
    bool is_recurrent = false;
    std::uint32_t depth = 0;
    auto operator<=>(const Rank&) const = default;
  };
  std::optional<Rank> rank(std::uint32_t instruction, const Operand& operand) const;
  void find_recurrences();
  void find_depths();
  void find_addresses();
  bool is_constant(std::uint32_t instruction) const;

  FunctionAnalyses& analyses_;
  std::vector<std::uint32_t> recurrence_;  ///< by value; equal for values of one cycle, 0: in no cycle
  std::vector<std::uint32_t> depth_;       ///< by instruction, from the begin of its block
  std::vector<bool> is_for_addresses_;     ///< by value
};

}  // namespace lynxpp::ptx
