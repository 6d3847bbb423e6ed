// Which lanes are the first in their sectors of 32 bytes, found out right at an access, where nothing is
// known of the lanes' addresses before it.
//
// Of the lanes that are there each compares its sector with that of the next lower one. Where addresses
// ascend with the lanes' numbers, lanes in one sector are neighbours, and that is all; else match.any finds
// out who shares one. Comparisons take 32 bits: of addresses whose upper halves are those of one lane, or
// which cannot be farther apart than that. Accesses of a block with one register as their address share one
// comparison (of addresses instead of sectors): of each of them only where it lies in its sector is looked
// at. At the access itself its address is kept, and nothing else done: a comparison waits for the address,
// which may come from memory, and its branch would keep all loads behind it waiting, too. The comparisons of
// a block stand behind the last of its accesses, as long as no lanes can join in between.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "ptx/passes/unit.h"

namespace lynxpp::ptx {

/// The text of one function, block after block.
class SectorLanes {
 public:
  /// Labels and their numbers are those of sites.
  SectorLanes(InstrumentationUnit& unit, const FunctionUnit& function, std::uint32_t& next_label);

  static bool is_possible(const InstrumentationUnit& unit) { return unit.target.sm >= 70; }

  void append_declarations(std::string& text) const;
  /// `instructions`, ascending: those of the block for which append_access() will be called, unguarded and
  /// with one access each.
  void begin_block(const std::vector<std::uint32_t>& instructions);
  /// Before an access to `address`, a register of 64 bits. `raise` will follow where first_register is known.
  void append_access(std::uint32_t instruction, const std::string& address, const std::string& raise,
                     std::string& text);
  /// Before every other instruction of the block.
  void append_before(const Instruction& instruction, std::string& text);
  /// Behind every instruction of the block.
  void append_behind(std::uint32_t instruction, std::string& text);

  /// Sets `threshold` as `sector_threshold` of the lane values (lane_values.h) where the addresses of the
  /// lanes that are there ascend with their numbers, and goes to `known` then. `address` is a register of 64
  /// bits.
  static std::string threshold_where_ascending(const std::string& address, const std::string& threshold,
                                               const std::string& known);

  /// A predicate: the lane is the first in its sector.
  static constexpr std::string_view first_register = "%lynxpp_sector_first";

 private:
  /// An access whose sectors have not been compared yet.
  struct Access {
    std::uint32_t instruction = 0;
    /// which registers keep its address, if it does not follow from that of another one
    std::uint32_t place = 0;
    std::string raise;
  };

  bool may_join_between(std::uint32_t first, std::uint32_t end) const;
  bool has_one_base(std::uint32_t instruction, std::uint32_t other) const;
  std::int64_t constant_of(std::uint32_t instruction) const;
  bool is_near(std::uint32_t instruction) const;
  void append_comparisons(std::string& text);
  void append_high(const std::string& address, std::string& text);
  void append_comparison(const Access& access, std::string& text);
  std::string in_any_order(const Access& access, bool is_near, const std::string& known) const;
  void append_threshold(const Access& access, std::uint32_t group, std::string& text);
  void append_place(const Access& access, std::uint32_t group, std::string& text) const;

  InstrumentationUnit& unit_;
  const FunctionUnit& function_;
  const Body& body_;
  FunctionAnalyses& analyses_;
  std::uint32_t& next_label_;
  std::uint32_t last_ = 0;  ///< of the block's accesses
  std::vector<Access> open_;
  /// by instruction: those with one number share a comparison
  std::map<std::uint32_t, std::uint32_t> groups_;
  std::map<std::uint32_t, Access> known_;  ///< by group: the one that was compared
  bool has_high_ = false;                  ///< the upper half of an address is at hand
};

}  // namespace lynxpp::ptx
