// Values that a routine can read about its site. Most are immediates. Values that the thread must compute are
// put into registers directly before the routine or, for routines after an instruction, before the
// instruction, which may overwrite their sources.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>

#include "ptx/ir/code_builder.h"
#include "ptx/ir/memory_access.h"
#include "ptx/passes/memory/taking_lanes.h"
#include "ptx/passes/probes/operand_reader.h"
#include "ptx/passes/probes/site.h"

namespace lynxpp::ptx {

inline constexpr std::string_view loop_trips_value = "loop_trips";

/// The values at the sites of one function. Each value has one register, which all sites share.
class SiteValues {
 public:
  SiteValues(InstrumentationUnit& unit, const FunctionUnit& function);

  /// Adds the computation of the probe's values before the site's instruction.
  void add_preparation(const Probe& probe, const Site& site, CodeBuilder& code);
  /// Adds the computation of values that are available only after the instruction.
  void add_loaded_values(const Probe& probe, const Site& site, CodeBuilder& code);
  /// Returns the operand for the value `name`.
  CodeOperand operand(const Probe& probe, std::string_view name, const Site& site);

  /// True if some routine reads the value.
  bool wants(std::string_view name) const { return wanted_.contains(name); }
  /// The 64-bit register that counts the thread's iterations of a loop since it entered the loop.
  VirtualRegister trips_of(std::uint32_t loop) {
    return wide(std::string(loop_trips_value) + "_" + std::to_string(loop));
  }

  // ---- executed instructions of a block: each guard is counted where it is read, because its predicate may
  // be overwritten
  void add_block_start(std::uint32_t block, CodeBuilder& code);
  /// Before an instruction that does not end its block.
  void add_guard_count(std::uint32_t block, const Instruction& instruction, CodeBuilder& code);
  /// Before the routines of a block's exit.
  void add_block_total(std::uint32_t block, CodeBuilder& code);

 private:
  const BasicBlock& range_of(std::uint32_t block) const { return function_.graph().blocks[block]; }
  /// Returns the instruction whose only effect is to end the block, or null.
  const Instruction* terminator_of(const BasicBlock& block) const;
  /// Returns that instruction's guard; empty if it is unguarded or null.
  Guard guard_at_end(const BasicBlock& block) const;
  std::uint32_t inner_guarded(const BasicBlock& block) const;
  bool counts_guards(const BasicBlock& block) const;
  OperandReader reader_at(const Site& site, CodeBuilder& code) const {
    return {unit_.module, unit_.variant.shared_variables, body_, *site.instruction, code};
  }
  CodeOperand loop_operand(std::string_view name, const Site& site);
  CodeOperand block_operand(std::string_view name, const Site& site);
  CodeOperand instruction_operand(const Probe& probe, std::string_view name, const Site& site);
  void add_value(std::string_view name, const Site& site, CodeBuilder& code);
  /// Sets the register of branch_target to the lane's successor at this branch; lanes with equal numbers go
  /// to the same block.
  void add_branch_target(const Site& site, CodeBuilder& code);
  void add_written(std::string_view name, const Site& site, bool is_written, DataType type,
                   CodeBuilder& code);
  void add_operand(std::string_view name, const Site& site, CodeBuilder& code);
  void add_space(const MemoryAccess& access, const Site& site, CodeBuilder& code);
  void add_bits(std::string_view name, const Site& site, const Operand* operand, std::uint32_t element,
                std::uint32_t most_bytes, CodeBuilder& code);
  /// Returns the register that holds a value or an intermediate result.
  VirtualRegister word(std::string_view value) { return reg(value, RegisterType::b32); }
  VirtualRegister wide(std::string_view value) { return reg(value, RegisterType::b64); }
  VirtualRegister reg(std::string_view value, RegisterType type);
  /// The two sides of a copy have separate registers.
  VirtualRegister address_register(std::uint32_t access);
  VirtualRegister space_register(std::uint32_t access);
  VirtualRegister bytes_register(std::uint32_t access);
  /// True if the lanes' byte counts are in a register.
  bool has_own_bytes(const Site& site, const MemoryAccess& access) const;

  InstrumentationUnit& unit_;
  const FunctionUnit& function_;
  const Body& body_;
  const TakingLanes lanes_;
  std::set<std::string, std::less<>> wanted_;  ///< values that some routine reads
  std::map<std::string, VirtualRegister, std::less<>> registers_;
};

}  // namespace lynxpp::ptx
