// The code that a perturbation adds to a kernel: code at its sites, values that this code shares, and a sink
// that keeps the assembler from removing it.
//
// The sink is an accumulator: a register of each thread that added operations combine their results into.
// Before the kernel's exits it is compared with a word that the assembler does not know; if they are equal by
// chance, it is stored to the scratch buffer, which nothing reads.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "ptx/analysis/values/address_roots.h"
#include "ptx/ir/code_builder.h"
#include "ptx/passes/probes/carry_flag.h"
#include "ptx/passes/unit.h"
#include "ptx/perturb/perturbation.h"

namespace lynxpp::ptx {

class Additions {
 public:
  Additions(InstrumentationUnit& unit, Form form);

  const Module& module() const { return unit_.module; }
  const FunctionUnit& kernel() const { return unit_.reached.kernel(); }
  const Body& body() const { return *kernel().function->body; }
  const Instruction& at(std::uint32_t instruction) const { return body().instructions[instruction]; }
  FunctionAnalyses& analyses() const { return *kernel().analyses; }
  AddressRoots& roots() { return roots_; }
  bool is_again() const { return form_ == Form::again; }

  /// Begins the code before an instruction, which code() builds.
  void begin(std::uint32_t instruction) { site_ = instruction; }
  const Instruction& site() const { return at(site_); }
  std::uint32_t site_index() const { return site_; }
  std::optional<CodePredicate> guard() const { return predicate_of(site().guard); }
  CodeBuilder& code() { return code_; }
  /// Inserts code() before the instruction.
  void insert();
  /// Discards code().
  void discard() { code_.take(); }
  /// Builds the code at the kernel's entry.
  CodeBuilder& entry() { return entry_; }

  // ---- words of the hidden parameter, for use in code()

  /// Loads the low or the high 32 bits of a slot, or both. The assembler makes it a constant operand, not a
  /// register.
  VirtualRegister word(HiddenSlot::Kind kind, std::uint32_t index = 0);
  VirtualRegister upper_word(HiddenSlot::Kind kind, std::uint32_t index = 0);
  VirtualRegister long_word(HiddenSlot::Kind kind, std::uint32_t index = 0);

  // ---- values from the entry on

  // Offsets at which the form `harmless` accesses memory; 0 in the form `again`, which the assembler does not
  // know.

  /// The lane's offset in an array of elements of this size, plus one of four multiples of 1 KiB for the
  /// block: less than 4 KiB in all.
  VirtualRegister lane_offset(std::uint32_t bytes);
  /// The thread's offset in an array of elements of this size, modulo `size`, a power of two.
  VirtualRegister thread_offset(std::uint32_t bytes, std::uint32_t size);
  /// The lane's number.
  VirtualRegister lane();
  /// One of several accumulators, with any value.
  VirtualRegister accumulator(RegisterType type, std::uint32_t index);

  // ---- operands of the site

  /// The text of an operand.
  Name text(const Operand& operand) const { return {std::string(module().text(operand.text))}; }
  /// The register or variable of an address operand; nullopt for an immediate address and an array element.
  std::optional<CodeRegister> base_of(const Operand& address);
  /// The low 32 bits of an address; nullopt as for base_of().
  std::optional<VirtualRegister> low_address(const Operand& address);
  /// True if an instruction of the kernel reads the register that `operand` names.
  bool is_read(const Operand& operand);
  /// The type of the register that the operand names; none for anything else.
  DataType type_of(const Operand& operand) const;

  // ---- results of added operations

  /// Returns a new register for each of `count` values of the size; nullopt if there is no such register.
  std::optional<std::vector<VirtualRegister>> results(std::uint32_t bytes, std::uint32_t count);
  /// Combines values into the sink, where the site's guard holds. Predicates are not supported.
  void keep(const std::vector<VirtualRegister>& values);

  /// Adds all code to the unit.
  void finish();

 private:
  std::uint32_t slot(HiddenSlot::Kind kind, std::uint32_t index);
  VirtualRegister zero_offset();
  VirtualRegister thread_of_grid();
  void add_sink();

  InstrumentationUnit& unit_;
  Form form_;
  AddressRoots roots_;
  CarryFlag carry_;
  std::uint32_t site_ = 0;
  CodeBuilder code_, entry_;
  std::map<std::pair<HiddenSlot::Kind, std::uint32_t>, std::uint32_t> slots_;
  std::map<std::uint32_t, VirtualRegister> lane_offsets_;  ///< by element size
  std::map<std::pair<std::uint32_t, std::uint32_t>, VirtualRegister> thread_offsets_;
  std::map<std::pair<RegisterType, std::uint32_t>, VirtualRegister> accumulators_;
  std::optional<VirtualRegister> zero_, lane_, thread_;
  std::vector<std::pair<std::uint32_t, Code>> inserted_;  ///< positions
};

/// Returns {a, b} for several registers, or the register.
CodeOperand vector_of(const std::vector<VirtualRegister>& registers);

}  // namespace lynxpp::ptx
