// Static patterns of how the addresses of an access differ between the lanes of a warp.
//
// The address is written as U + V. U is uniform among the lanes that execute the access together and may
// change from one execution to the next. V is a sum of registers and thread indices with constant
// coefficients, which a lane already holds at an earlier program point P. Between P and the access no
// lane leaves and none joins (LaneCohorts), so what the active lanes determine at P about their Vs holds for
// their addresses whenever they reach the access from P.
//
// All arithmetic is machine arithmetic modulo 2^bits: the analysis assumes nothing about overflow. The
// difference of two lanes' addresses is that of their Vs, read as a signed integer, for addresses that memory
// can have.
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "ptx/analysis/values/affine.h"
#include "ptx/analysis/values/cohorts.h"

namespace lynxpp::ptx {

/// One term of V.
struct LaneTerm {
  enum class Kind : std::uint8_t {
    thread_index,   ///< %tid; LaneTerm::id is the dimension, 0 for x
    value,          ///< the register `id`, as wide as the pattern
    sign_extended,  ///< the 32-bit register `id`, sign-extended to the pattern's 64 bits
    zero_extended,  ///< the same, zero-extended
  };
  Kind kind = Kind::value;
  std::uint32_t id = 0;
  std::int64_t coefficient = 0;  ///< nonzero; modulo 2^bits
  auto operator<=>(const LaneTerm&) const = default;
};

/// Accesses with equal patterns differ only in their Us.
struct LanePattern {
  std::uint32_t block = 0;        ///< block of P
  std::uint32_t instruction = 0;  ///< P is right before this instruction
  std::uint8_t bits = 64;         ///< width of the address register: 32 or 64
  std::vector<LaneTerm> terms;    ///< ascending; empty: the address is uniform
  auto operator<=>(const LanePattern&) const = default;
};

/// A check that a 32-bit index does not wrap around where `instruction` widens it from `reg`. The index is
/// the sum of a uniform value and thread indices that differ by at most `span` between the lanes. If it wraps
/// around between two lanes, some lane has an index that in_range() excludes.
struct IndexCheck {
  std::uint32_t instruction = 0;
  std::uint32_t reg = 0;  ///< RegisterId
  std::uint32_t span = 0;
  bool is_signed = true;

  /// Signed: minimum (inclusive). Unsigned: maximum (exclusive).
  std::uint32_t bound() const { return is_signed ? 0x80000000u + span : 0u - span; }
  auto operator<=>(const IndexCheck&) const = default;
};

/// A pattern that holds unless some lane's index wraps around when it is widened.
struct IndexPattern {
  LanePattern pattern;
  std::vector<IndexCheck> checks;  ///< ascending; each execution of their instructions must pass
};

/// Formats "4*tid.x + 8*s(%r3) - %rd5"; s and z are sign and zero extension, the empty sum is "0".
std::string to_string(const LanePattern& pattern, const RegisterUsage& usage);

/// How the addresses of neighbouring lanes differ in launches with whole rows (LaunchShape).
struct LaneStep {
  std::int64_t bytes = 0;          ///< between the addresses of lanes i and i + 1
  std::vector<IndexCheck> checks;  ///< as in IndexPattern
};

class LanePatterns {
 public:
  LanePatterns(const Function& function, const ControlFlowGraph& graph, const DominatorTree& dominators,
               const LoopNest& loops, const RegisterUsage& usage, const SsaForm& ssa,
               const Uniformity& uniformity, const AffineAnalysis& affine, const LaunchShape& launch);

  /// The pattern of `address`, an address operand of `instruction`. nullopt if it is unknown before the
  /// access, or if the guard may diverge. P is as early as the lanes and their registers allow.
  std::optional<LanePattern> of_address(std::uint32_t instruction, const Operand& address) const;

  /// The same, but follows 32-bit indices through their widening if lanes then differ only by thread indices.
  std::optional<IndexPattern> of_index(std::uint32_t instruction, const Operand& address) const;

  /// True if the addresses of any two lanes that execute the access together are provably less than 2^37
  /// bytes apart, so that the lower 32 bits of their 32-byte sector numbers distinguish them.
  bool is_near(std::uint32_t instruction, const Operand& address) const;

  /// True if no earlier branch diverged (LaneCohorts).
  bool is_converged(std::uint32_t block) const { return cohorts_.is_converged(block); }

  /// The same as of_address() with a P that all lanes of the warp reach together and an access that any
  /// subset of them executes: branches and the guard may have diverged, but all lanes that execute the access
  /// together last passed P together. Kernels only.
  std::optional<LanePattern> of_some_lanes(std::uint32_t instruction, const Operand& address) const;

  /// The step between lanes if the address is linear in the lane number, whichever lanes execute the access.
  /// Follows 32-bit indices as of_index(). For launches with whole rows and kernels only.
  std::optional<LaneStep> step_of_some_lanes(std::uint32_t instruction, const Operand& address) const;

 private:
  class Decomposition;
  struct Sum;
  enum class Lanes : std::uint8_t { same, some };
  enum class Indices : std::uint8_t { as_they_are, followed };
  bool is_guarded_apart(std::uint32_t instruction) const;
  std::optional<Sum> sum_of_address(std::uint32_t instruction, const Operand& address, Lanes lanes,
                                    Indices indices = Indices::as_they_are) const;
  LanePattern pattern_at(std::uint32_t block, std::uint32_t position, const Sum& sum) const;
  std::optional<LanePattern> place(std::uint32_t instruction, const Sum& sum) const;
  std::optional<std::uint32_t> position_in(std::uint32_t block, std::uint32_t access, const Sum& sum) const;
  std::uint32_t after_joins(std::uint32_t first, std::uint32_t end) const;
  bool makes_term(std::uint32_t block, const Sum& sum) const;
  bool is_converged_in_kernel(std::uint32_t block) const;

  const Function& function_;
  const ControlFlowGraph& graph_;
  const DominatorTree& dominators_;
  const LoopNest& loops_;
  const RegisterUsage& usage_;
  const SsaForm& ssa_;
  const Uniformity& uniformity_;
  const AffineAnalysis& affine_;
  const bool has_whole_rows_;
  LaneCohorts cohorts_;
  std::vector<std::uint32_t> writes_of_;  ///< per register
};

}  // namespace lynxpp::ptx
