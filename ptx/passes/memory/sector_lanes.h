// Which lanes are the first in their sectors of 32 bytes, computed right at an access, where nothing is known
// of the lanes' addresses before it.
//
// Of the lanes that are there each compares its sector with that of the next lower one. Where addresses
// ascend with the lanes' numbers, lanes in one sector are neighbours, and that is all; else match.any finds
// those that share one. Comparisons take 32 bits: of addresses whose upper halves are those of one lane, or
// which cannot be farther apart than that. Accesses of a block with one register as their address share one
// comparison (of addresses instead of sectors): of each of them only where it lies in its sector is looked
// at. At the access itself its address is kept, and nothing else done: a comparison waits for the address,
// which may come from memory, and its branch would keep all loads after it waiting, too. The comparisons of a
// block stand after the last of its accesses, as long as no lanes can join in between.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "ptx/ir/code_builder.h"
#include "ptx/passes/unit.h"

namespace lynxpp::ptx {

/// The code of one function, block after block.
class SectorLanes {
 public:
  SectorLanes(InstrumentationUnit& unit, const FunctionUnit& function);

  static bool is_possible(const InstrumentationUnit& unit) { return unit.variant.target.sm >= 70; }

  /// `instructions`, ascending: those of the block for which add_access() will be called, unguarded and with
  /// one access each.
  void begin_block(const std::vector<std::uint32_t>& instructions);
  /// Before an access to `address`, of 64 bits. `increments` follow where first() is known.
  void add_access(std::uint32_t instruction, const CodeOperand& address, Code increments, CodeBuilder& code);
  /// Before every other instruction of the block.
  void add_before(const Instruction& instruction, CodeBuilder& code);
  /// After every instruction of the block.
  void add_behind(std::uint32_t instruction, CodeBuilder& code);

  /// Sets `threshold` as `sector_threshold` of the lane values (lane_values.h) where the addresses of the
  /// lanes that are there ascend with their numbers, and goes to `known` then. `address` has 64 bits.
  static void add_threshold_where_ascending(VirtualRegister address, VirtualRegister threshold, Label known,
                                            CodeBuilder& code);

  /// A predicate: the lane is the first in its sector.
  VirtualRegister first();

 private:
  /// An access whose sectors have not been compared yet.
  struct Access {
    std::uint32_t instruction = 0;
    Code increments;
    std::optional<std::uint32_t> group;  ///< those of one group share a comparison
    /// The address, or its sector's number where the lanes' addresses are near each other; nothing: it
    /// follows from that of another access.
    std::optional<VirtualRegister> address = {};
    std::optional<VirtualRegister> sector = {};
  };
  /// The lanes that compare.
  struct Lanes {
    VirtualRegister mask;
    VirtualRegister lowest;                    ///< a predicate: the lane is the lowest of them
    VirtualRegister next;                      ///< the number of the next lower one; for the lowest itself
    std::optional<VirtualRegister> high = {};  ///< the upper half of some lane's address
  };

  bool has_one_base(std::uint32_t instruction, std::uint32_t other) const;
  std::int64_t constant_of(std::uint32_t instruction) const;
  bool is_near(std::uint32_t instruction) const;
  void add_comparisons(CodeBuilder& code);
  void add_comparison(const Access& access, Lanes& lanes, CodeBuilder& code);
  void add_far_match(VirtualRegister address, const Lanes& lanes, Label known, CodeBuilder& code);
  void add_any_order(VirtualRegister sector, const Lanes& lanes, Label known, CodeBuilder& code);
  void add_threshold(const Access& access, Lanes& lanes, VirtualRegister threshold, CodeBuilder& code);
  void add_place(const Access& access, const Access& known, VirtualRegister threshold, CodeBuilder& code);

  static Lanes find_lanes(CodeBuilder& code);
  static VirtualRegister high_of(VirtualRegister address, Lanes& lanes, CodeBuilder& code);
  static void add_threshold_of(VirtualRegister address, VirtualRegister threshold, Lanes& lanes, Label known,
                               CodeBuilder& code);

  InstrumentationUnit& unit_;
  const FunctionUnit& function_;
  const Body& body_;
  FunctionAnalyses& analyses_;
  std::optional<VirtualRegister> first_;
  std::uint32_t last_ = 0;  ///< of the block's accesses
  std::vector<Access> open_;
  std::map<std::uint32_t, std::uint32_t> groups_;  ///< by instruction
};

}  // namespace lynxpp::ptx
