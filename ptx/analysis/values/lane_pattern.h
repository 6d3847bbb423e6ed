// How the addresses of an access differ between the lanes of a warp, where that is known before the access
// runs.
//
// The address is written as U + V. U is the same for all lanes that make the access together and may change
// from one execution to the next. V is a sum of registers and thread indices with constant coefficients, all
// of which a lane holds already at an earlier place P. Between P and the access no lane leaves and none joins
// (LaneCohorts), so what the active lanes find out at P about their Vs is true of their addresses whenever
// they come to the access from there.
//
// All arithmetic is that of the machine, modulo 2^bits: nothing is assumed about overflow. A difference of
// two lanes' addresses is that of their Vs, read as a signed number, for addresses that memory can have.
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "ptx/analysis/values/affine.h"
#include "ptx/analysis/values/cohorts.h"

namespace lynxpp::ptx {

/// One summand of V.
struct LaneTerm {
  enum class Kind : std::uint8_t {
    thread_index,   ///< %tid; LaneTerm::id is the dimension, 0 for x
    value,          ///< the register `id`, as wide as the pattern
    sign_extended,  ///< the register `id`, 32 bits, widened to the pattern's 64
    zero_extended,  ///< likewise
  };
  Kind kind = Kind::value;
  std::uint32_t id = 0;
  std::int64_t coefficient = 0;  ///< not 0; modulo 2^bits
  auto operator<=>(const LaneTerm&) const = default;
};

/// Accesses with equal patterns differ in their Us alone.
struct LanePattern {
  std::uint32_t block = 0;        ///< P: right before …
  std::uint32_t instruction = 0;  ///< … this instruction of it
  std::uint8_t bits = 64;         ///< of the address register: 32 or 64
  std::vector<LaneTerm> terms;    ///< ascending; none: all lanes have one address
  auto operator<=>(const LanePattern&) const = default;
};

/// An index of 32 bits is widened at `instruction`, which reads it from `reg`. It is a sum of thread indices
/// that differ by at most `span` between the lanes, and of what is the same for all of them. Where it wraps
/// around between two lanes, some lane has an index that in_range() excludes.
struct IndexCheck {
  std::uint32_t instruction = 0;
  std::uint32_t reg = 0;  ///< RegisterId
  std::uint32_t span = 0;
  bool is_signed = true;

  /// Signed: at least this. Unsigned: below this.
  std::uint32_t bound() const { return is_signed ? 0x80000000u + span : 0u - span; }
  auto operator<=>(const IndexCheck&) const = default;
};

/// What the pattern is unless some lane's index wraps around where it is widened.
struct IndexPattern {
  LanePattern pattern;
  std::vector<IndexCheck> checks;  ///< ascending; to be made in each execution of their instructions
};

/// "4*tid.x + 8*s(%r3) - %rd5"; s and z stand for widening, the empty sum is "0".
std::string to_string(const LanePattern& pattern, const RegisterUsage& usage);

class LanePatterns {
 public:
  LanePatterns(const Function& function, const ControlFlowGraph& graph, const DominatorTree& dominators,
               const LoopNest& loops, const RegisterUsage& usage, const SsaForm& ssa,
               const Uniformity& uniformity, const AffineAnalysis& affine);

  /// Of `address`, an address operand of `instruction`. nullopt: nothing is known, or not before the access;
  /// the guard may divide the lanes. P is as far up as the lanes and their registers allow.
  std::optional<LanePattern> of_address(std::uint32_t instruction, const Operand& address) const;

  /// The same with indices of 32 bits followed beyond the place where they are widened, if of what lanes
  /// differ by only thread indices are left.
  std::optional<IndexPattern> of_index(std::uint32_t instruction, const Operand& address) const;

  /// Whether the addresses of any two lanes that make the access together surely lie less than 2^37 bytes
  /// apart, so that the lower 32 bits of the numbers of their sectors of 32 bytes tell them apart.
  bool is_near(std::uint32_t instruction, const Operand& address) const;

  /// No branch before the block has divided the lanes (LaneCohorts).
  bool is_whole(std::uint32_t block) const { return cohorts_.is_whole(block); }

  /// The same as of_address() where P is a place that all lanes of the warp come to together, and those that
  /// make the access are any of them: branches and the guard may have divided the lanes, but all that make
  /// the access together have been at P the same time last. Kernels only.
  std::optional<LanePattern> of_some_lanes(std::uint32_t instruction, const Operand& address) const;

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
  std::uint32_t behind_joins(std::uint32_t first, std::uint32_t end) const;
  bool makes_term(std::uint32_t block, const Sum& sum) const;
  bool is_whole_of_kernel(std::uint32_t block) const;

  const Function& function_;
  const ControlFlowGraph& graph_;
  const DominatorTree& dominators_;
  const LoopNest& loops_;
  const RegisterUsage& usage_;
  const SsaForm& ssa_;
  const Uniformity& uniformity_;
  const AffineAnalysis& affine_;
  LaneCohorts cohorts_;
  std::vector<std::uint32_t> writes_of_;  ///< per register
};

}  // namespace lynxpp::ptx
