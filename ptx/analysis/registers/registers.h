// Registers that each instruction of a body reads and writes, with dense register numbers.
//
// Registers are numbered from 0 in order of first mention. A component (`v.x`) refers to its whole vector
// register. The carry flag of add.cc, addc and similar instructions is a separate register named "%cc".
// Operands that are not registers (labels, variables, parameters, functions, special registers) are omitted.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "ptx/ir/module.h"

namespace lynxpp::ptx {

using RegisterId = std::uint32_t;
inline constexpr RegisterId no_register = 0xffffffff;

struct Register {
  std::string_view name;  ///< without a component; "%cc" for the carry flag
  DataType type = DataType::none;
  std::uint32_t units = 0;    ///< 32-bit machine registers it occupies; 0 for predicates and the carry flag
  bool is_predicate = false;  ///< not counted in `units`: predicates have a register file of their own
};

struct RegisterWrite {
  RegisterId reg = no_register;
  /// Some of the old value may survive: the instruction is guarded, writes a component, or is unknown and may
  /// not write.
  bool partial = false;
};

/// Borrows the body, which must outlive it.
class RegisterUsage {
 public:
  explicit RegisterUsage(const Body& body);

  const std::vector<Register>& registers() const { return registers_; }

  /// Each register once, in order of mention, the guard's predicate first. An instruction that accumulates
  /// into its destination (wgmma.mma_async) also reads it; an unknown instruction reads all its operands.
  std::span<const RegisterId> reads(std::uint32_t instruction) const {
    return {reads_.data() + first_read_[instruction],
            first_read_[instruction + 1] - first_read_[instruction]};
  }
  std::span<const RegisterWrite> writes(std::uint32_t instruction) const {
    return {writes_.data() + first_write_[instruction],
            first_write_[instruction + 1] - first_write_[instruction]};
  }

  /// Offsets of reads(i) and writes(i) in one array over all instructions; i may be the number of
  /// instructions.
  std::uint32_t first_read(std::uint32_t instruction) const { return first_read_[instruction]; }
  std::uint32_t first_write(std::uint32_t instruction) const { return first_write_[instruction]; }

  /// The register that an operand of `instruction` names; no_register if it names none or no instruction
  /// mentions it.
  RegisterId find(std::string_view name, std::uint32_t instruction) const;

 private:
  struct NameHash {
    std::size_t operator()(const std::pair<std::string_view, std::uint32_t>& key) const {
      return std::hash<std::string_view>{}(key.first) * 31 + key.second;
    }
  };
  using NameTable = std::unordered_map<std::pair<std::string_view, std::uint32_t>, RegisterId, NameHash>;

  void add_instruction(const Instruction& instruction);
  void add_call(const Instruction& call);
  void add_carry(const Instruction& instruction);
  void read_operand(const Operand& operand, std::uint32_t scope);
  void write_operand(const Operand& operand, std::uint32_t scope, bool partial);
  void read(RegisterId reg);
  void write(RegisterId reg, bool partial);
  RegisterId number(std::string_view name, std::uint32_t scope);
  RegisterId carry();

  const Body& body_;
  std::vector<Register> registers_;
  std::vector<RegisterId> reads_;
  std::vector<RegisterWrite> writes_;
  std::vector<std::uint32_t> first_read_{0};
  std::vector<std::uint32_t> first_write_{0};
  NameTable by_scope_;        // (name as written, scope of its use)
  NameTable by_declaration_;  // (name without component, index of its declaration)
  RegisterId carry_ = no_register;
};

}  // namespace lynxpp::ptx
