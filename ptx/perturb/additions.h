// The code that a perturbation adds to a kernel: code at its sites, values that this code shares, and a sink
// that keeps the assembler from removing it.
//
// The sink is an accumulator: a register of each thread that added operations combine their results into.
// Before the kernel's exits it is compared with a word that the assembler does not know; if they are equal by
// chance, it is stored to the scratch buffer, which nothing reads.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "ptx/analysis/values/address_roots.h"
#include "ptx/ir/code_builder.h"
#include "ptx/passes/probes/carry_flag.h"
#include "ptx/passes/unit.h"
#include "ptx/perturb/operand_order.h"
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
  /// Replaces an operand of the site.
  void replace(const Operand& operand, CodeOperand by) {
    replaced_.emplace_back(operand.text, std::move(by));
  }
  /// Inserts code() before the instruction, and replaces operands.
  void insert();
  /// Discards code() and the replacements.
  void discard() {
    code_.take();
    replaced_.clear();
  }
  /// Builds the code at the kernel's entry.
  CodeBuilder& entry() { return entry_; }

  // ---- words of the hidden parameter, for use in code()

  /// Loads the low 32 bits of a slot, or all. The assembler makes it a constant operand, not a register.
  VirtualRegister word(HiddenSlot::Kind kind, std::uint32_t index = 0);
  VirtualRegister long_word(HiddenSlot::Kind kind, std::uint32_t index = 0);

  // ---- values from the entry on

  // Offsets at which the form `harmless` accesses memory; 0 in the form `again`, which the assembler does not
  // know.

  /// The lane's offset in an array of elements of this size, plus one of four multiples of 1 KiB for the
  /// block: less than 4 KiB in all.
  VirtualRegister lane_offset(std::uint32_t bytes);
  /// The thread's offset in an array of elements of this size, modulo `size`, a power of two.
  VirtualRegister thread_offset(std::uint32_t bytes, std::uint32_t size);
  /// The address of shared memory that is added to the kernel, aligned to 16 bytes: always of this size.
  VirtualRegister added_shared_memory(std::uint32_t bytes);
  /// The lane's number.
  VirtualRegister lane();
  /// One of several accumulators, with any value.
  VirtualRegister accumulator(RegisterType type, std::uint32_t index);

  /// A number that the assembler does not know: 32 bits, or 64 bits whose lower half is 0.
  VirtualRegister unknown(std::uint32_t value);
  VirtualRegister unknown_upper(std::uint32_t high);
  /// 0. The assembler only knows that it is a multiple of 16.
  VirtualRegister aligned_zero();
  /// The order of operands, for dependence.h.
  const OperandOrder& order();
  /// Returns true the first time that a value is passed.
  bool mark(ValueId value) { return marked_.insert(value).second; }

  // ---- operands of the site

  /// The text of an operand.
  Name text(const Operand& operand) const { return {std::string(module().text(operand.text))}; }
  /// The register or variable of an address operand; nullopt for an immediate address and an array element.
  std::optional<CodeRegister> base_of(const Operand& address);
  /// The low 32 bits of an address; nullopt as for base_of().
  std::optional<VirtualRegister> low_address(const Operand& address);
  /// The address of a module's variable, in 64 bits.
  VirtualRegister address_of(const Variable& variable);
  /// The address of the shared variable at this position.
  VirtualRegister shared_address(std::uint32_t position);
  /// True if an instruction of the kernel reads the register that `operand` names.
  bool is_read(const Operand& operand);
  /// The type of the register that the operand names; none for anything else.
  DataType type_of(const Operand& operand) const;

  // ---- results of added operations

  /// Returns a new register for each of `count` values of the size; nullopt if there is no such register.
  std::optional<std::vector<VirtualRegister>> results(std::uint32_t bytes, std::uint32_t count);
  /// Combines values into 32 bits that depend on all bits of each.
  VirtualRegister mixed(const std::vector<VirtualRegister>& values);
  /// Combines values into the sink, where the site's guard holds. Predicates are not supported.
  void keep(const std::vector<VirtualRegister>& values);

  // ---- values that a variant counts

  /// Adds the value of a 64-bit register to a word of HiddenSlot::Kind::results (result_words) in each thread
  /// that exits. The register must be written at the entry.
  void add_to_result(std::uint32_t word, VirtualRegister value) { results_.push_back({word, value, false}); }
  /// Adds the cycles since `begin`, a value of %clock64.
  void add_cycles_to_result(std::uint32_t word, VirtualRegister begin) {
    results_.push_back({word, begin, true});
  }

  /// Only threads in which this 64-bit register is not 0 when they exit add to results.
  void select_results(VirtualRegister nonzero) { selected_ = nonzero; }

  /// Adds all code to the unit.
  void finish();

 private:
  std::uint32_t slot(HiddenSlot::Kind kind, std::uint32_t index);
  VirtualRegister zero_offset();
  VirtualRegister thread_of_grid();
  std::vector<VirtualRegister> words_of(const std::vector<VirtualRegister>& values);
  void add_sink();
  void add_results();
  /// Adds code before each exit, under its guard, and at the end of the body.
  void add_at_exits(const std::function<Code(const std::optional<CodePredicate>& guard)>& code);

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
  std::map<std::pair<RegisterType, std::uint32_t>, VirtualRegister> unknown_;
  std::optional<VirtualRegister> zero_, aligned_zero_, lane_, thread_, shared_;
  std::unique_ptr<OperandOrder> order_;
  std::set<ValueId> marked_;
  std::vector<std::pair<TextRange, CodeOperand>> replaced_;  ///< of the site
  std::vector<std::pair<std::uint32_t, Code>> inserted_;     ///< positions
  struct ResultWord {
    std::uint32_t word = 0;
    VirtualRegister value;
    bool is_begin = false;  ///< of an interval that ends where the thread exits
  };
  std::vector<ResultWord> results_;
  std::optional<VirtualRegister> selected_;
};

/// Returns {a, b} for several registers, or the register.
CodeOperand vector_of(const std::vector<VirtualRegister>& registers);

}  // namespace lynxpp::ptx
