// What a routine can know of the place it stands at. Most values are immediates; those that the thread has to
// find out are put into registers right before the routine, or, for routines behind an instruction, before
// the instruction, which may overwrite what they come from.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <string_view>

#include "ptx/ir/memory_access.h"
#include "ptx/passes/unit.h"

namespace lynxpp::ptx {

/// A place in a function where routines stand.
struct Site {
  ProbePoint point = ProbePoint::kernel_entry;
  std::uint32_t block = 0;
  const Instruction* instruction = nullptr;  ///< before or behind which, or null
  std::uint32_t access = 0;                  ///< of memory_accesses(*instruction)
  const ProbeRoutine* routine = nullptr;     ///< which form; null: Probe::routine
};

/// What stands at the site.
inline const ProbeRoutine& routine_at(const Probe& probe, const Site& site) {
  return site.routine != nullptr ? *site.routine : probe.routine;
}

/// "@%p1 " or "@!%p1 ": the instruction's guard, or its opposite.
std::string guard_prefix(const Guard& guard, bool opposite);

/// The values at the sites of one function.
class SiteValues {
 public:
  SiteValues(InstrumentationUnit& unit, const FunctionUnit& function);

  void append_declarations(std::string& text) const;

  /// What the probe's values need and stands before its site's instruction.
  void append_preparation(const Probe& probe, const Site& site, std::string& text) const;
  /// What it needs besides, behind the instruction.
  void append_loaded_values(const Probe& probe, const Site& site, std::string& text) const;
  /// The operand that stands for the value `name`.
  std::string operand(const Probe& probe, std::string_view name, const Site& site) const;

  // ---- instructions a thread has executed in a block: guards are counted as they are met, since a guard may
  // be overwritten
  void append_block_start(std::uint32_t block, std::string& text) const;
  /// Before an instruction that does not end its block.
  void append_guard_count(std::uint32_t block, const Instruction& instruction, std::string& text) const;
  /// Before the routines of a block's exit; `terminator` ends the block, or is null.
  void append_block_total(std::uint32_t block, const Instruction* terminator, std::string& text) const;

 private:
  const BasicBlock& range_of(std::uint32_t block) const { return function_.graph.blocks[block]; }
  /// The instruction that ends the block and nothing else, or null.
  const Instruction* terminator_of(const BasicBlock& block) const;
  std::uint32_t inner_guarded(const BasicBlock& block) const;
  bool counts_guards(const BasicBlock& block) const;
  std::string block_operand(std::string_view name, const Site& site) const;
  std::string instruction_operand(const Probe& probe, std::string_view name, const Site& site) const;
  void append_value(std::string_view name, const Site& site, std::string& text) const;
  /// target_register = where the lane goes from this branch; lanes with the same number go to the same block.
  void append_branch_target(const Instruction& branch, std::string& text) const;
  void append_operand(std::string_view name, const Site& site, std::string& text) const;
  void append_space(const MemoryAccess& access, const Site& site, std::string& text) const;
  void append_bits(std::string_view name, const Site& site, const Operand* operand, std::uint32_t element,
                   std::uint32_t most_bytes, std::string& text) const;

  InstrumentationUnit& unit_;
  const FunctionUnit& function_;
  const Body& body_;
  std::set<std::string, std::less<>> wanted_;  ///< what some routine asks for
};

}  // namespace lynxpp::ptx
