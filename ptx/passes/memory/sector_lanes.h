// Determines which lanes are the first in their 32-byte sectors, directly at an access, if nothing is known
// about the lanes' addresses earlier.
//
// Each active lane compares its sector with that of the next lower active lane. If addresses ascend with the
// lane number, lanes in one sector are neighbours and this suffices; otherwise match.any finds lanes that
// share a sector. Comparisons use 32 bits, which suffices if the upper halves of all addresses are equal or
// the addresses are close enough together. At the access itself, code only saves the address: a comparison
// would wait for the address, which may come from memory, and its branch would delay all later loads. The
// comparisons of a block follow its last access, unless lanes can join in between.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "ptx/ir/code_builder.h"
#include "ptx/passes/unit.h"
#include "support/check.h"

namespace lynxpp::ptx {

/// Emits the code of one function, block by block.
class SectorLanes {
 public:
  SectorLanes(InstrumentationUnit& unit, const FunctionUnit& function);

  static bool is_possible(const InstrumentationUnit& unit) { return unit.variant.target.sm >= 70; }

  /// `last` is the block's last instruction for which add_access() will be called; all are unguarded and have
  /// one access each. nullopt: the block has none.
  void begin_block(std::optional<std::uint32_t> last) {
    LYNXPP_CHECK(open_.empty(), "accesses of the block before have not been compared");
    last_ = last;
  }
  /// Called before an access to the 64-bit `address`. `increments` run once first() is known.
  void add_access(std::uint32_t instruction, const CodeOperand& address, Code increments, CodeBuilder& code);
  /// Called before every other instruction of the block.
  void add_before(const Instruction& instruction, CodeBuilder& code);
  /// Called after every instruction of the block.
  void add_after(std::uint32_t instruction, CodeBuilder& code);

  /// If the addresses of the active lanes ascend with their numbers, sets `threshold` as `sector_threshold`
  /// of the lane values (lane_values.h) and branches to `known`. `address` has 64 bits.
  static void add_threshold_where_ascending(VirtualRegister address, VirtualRegister threshold, Label known,
                                            CodeBuilder& code);

  /// A predicate: the lane is the first in its sector.
  VirtualRegister first();

  /// The same, if the lanes' addresses are `step` bytes apart: compares the lane's offset in its sector with
  /// the distance to the next lower active lane.
  static VirtualRegister first_of_steps(CodeOperand address, std::int64_t step, CodeBuilder& code);

 private:
  /// An access whose sectors have not been compared yet.
  struct Access {
    std::uint32_t instruction = 0;
    Code increments;
    /// The address, or its sector number if the lanes' addresses are close together.
    std::optional<VirtualRegister> address = {};
    std::optional<VirtualRegister> sector = {};
  };
  /// The lanes that compare.
  struct Lanes {
    VirtualRegister mask;
    VirtualRegister lowest;                    ///< a predicate: the lane is the lowest
    VirtualRegister next;                      ///< number of the next lower lane; for the lowest its own
    std::optional<VirtualRegister> high = {};  ///< upper half of some lane's address
  };

  bool is_near(std::uint32_t instruction) const;
  void add_comparisons(CodeBuilder& code);
  void add_comparison(const Access& access, Lanes& lanes, CodeBuilder& code);
  void add_far_match(VirtualRegister address, const Lanes& lanes, Label known, CodeBuilder& code);
  void add_any_order(VirtualRegister sector, const Lanes& lanes, Label known, CodeBuilder& code);

  static Lanes find_lanes(CodeBuilder& code);
  static VirtualRegister high_of(VirtualRegister address, Lanes& lanes, CodeBuilder& code);

  InstrumentationUnit& unit_;
  const FunctionUnit& function_;
  const Body& body_;
  FunctionAnalyses& analyses_;
  std::optional<VirtualRegister> first_;
  std::optional<std::uint32_t> last_;  ///< last access of the block
  std::vector<Access> open_;
};

}  // namespace lynxpp::ptx
