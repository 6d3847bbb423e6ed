// One instruction ▶ its replay operations.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <tuple>
#include <vector>

#include "ptx/analysis/registers/registers.h"
#include "ptx/ir/module.h"
#include "ptx/replay/program.h"

namespace lynxpp::ptx {

/// Registers that hold a function's parameters, results and call arguments, keyed by variable, offset and
/// size. A variable loaded in other pieces than it was stored in is unknown.
class ParameterRegisters {
 public:
  /// Takes register numbers from `next`.
  explicit ParameterRegisters(std::uint32_t& next) : next_(next) {}

  /// Identifies variables that hold the same value.
  using Storage = std::uint32_t;
  Storage add() { return storages_++; }
  RegisterId find(Storage storage, std::int64_t offset, std::uint32_t bytes);
  /// Returns a register of no variable.
  RegisterId fresh() { return next_++; }
  /// Makes all loads from it unknown.
  void forget(Storage storage) { unknown_.insert(storage); }
  /// Registers that are unknown or that overlap others.
  std::vector<RegisterId> unknown() const;

 private:
  std::uint32_t& next_;
  Storage storages_ = 0;
  std::map<std::tuple<Storage, std::int64_t, std::uint32_t>, RegisterId> registers_;
  std::set<Storage> unknown_;
};

/// One copy of a function: its index, its first register, and the storage of its parameters and results.
struct FunctionCopy {
  std::uint32_t function = 0;
  std::uint32_t first_register = 0;
  std::map<const Variable*, ParameterRegisters::Storage> storages;
};

class ReplayDecoder {
 public:
  /// Borrows its arguments. Appends new variables to `variables`, and to the copy's storages.
  ReplayDecoder(const Module& module, const Function& function, const RegisterUsage& usage,
                FunctionCopy& copy, ParameterRegisters& parameters, std::vector<ReplayVariable>& variables)
      : module_(module),
        function_(function),
        usage_(usage),
        copy_(copy),
        parameters_(parameters),
        variables_(variables) {}

  /// Returns one operation for each of the instruction's accesses, followed by operations for its effects on
  /// registers.
  std::vector<ReplayOperation> decode(std::uint32_t at);

  /// Returns the variables of the call's results and arguments, in this order; nullopt if it passes anything
  /// else.
  std::optional<std::vector<const Variable*>> passed(std::uint32_t call) const;

 private:
  ReplayOperation base(std::uint32_t at) const;
  RegisterId own(RegisterId reg) const { return reg == no_register ? reg : copy_.first_register + reg; }
  ReplayOperand operand(std::uint32_t at, const Operand& from);
  ReplayOperand variable(std::uint32_t at, const Operand& from);
  ReplayOperand address_base(std::uint32_t at, const Operand& address, ReplayOperation& access);
  void add_accesses(std::uint32_t at, std::vector<ReplayOperation>& operations);
  bool decode_parameter(std::uint32_t at, std::vector<ReplayOperation>& operations);
  bool decode_passed(std::uint32_t at, std::vector<ReplayOperation>& operations);
  bool decode_value(std::uint32_t at, ReplayOperation& operation);
  bool decode_upper_bits(std::uint32_t at, std::vector<ReplayOperation>& operations);
  bool decode_compare(std::uint32_t at, ReplayOperation& operation);
  bool decode_predicate(std::uint32_t at, ReplayOperation& operation);
  bool decode_convert(std::uint32_t at, ReplayOperation& operation);
  bool decode_space(std::uint32_t at, ReplayOperation& operation);
  bool set_sources(std::uint32_t at, std::size_t first, std::size_t count, ReplayOperation& operation);

  const Module& module_;
  const Function& function_;
  const RegisterUsage& usage_;
  FunctionCopy& copy_;
  ParameterRegisters& parameters_;
  std::vector<ReplayVariable>& variables_;
};

}  // namespace lynxpp::ptx
