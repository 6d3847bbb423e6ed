// One instruction ▶ the operations that replay makes of it.
#pragma once

#include <string>
#include <vector>

#include "ptx/analysis/registers/registers.h"
#include "ptx/ir/module.h"
#include "ptx/replay/program.h"

namespace lynxpp::ptx {

class ReplayDecoder {
 public:
  /// Borrows all. New names of variables are appended to `variables`.
  ReplayDecoder(const Module& module, const Function& function, const RegisterUsage& usage,
                std::vector<std::string>& variables)
      : module_(module), function_(function), usage_(usage), variables_(variables) {}

  /// Operations that do what the instruction does to registers, and one for each of its accesses, which stand
  /// first.
  std::vector<ReplayOperation> decode(std::uint32_t at);

 private:
  ReplayOperation base(std::uint32_t at) const;
  ReplayOperand operand(std::uint32_t at, const Operand& from);
  ReplayOperand variable(std::uint32_t at, const Operand& from);
  ReplayOperand address_base(std::uint32_t at, const Operand& address);
  void add_accesses(std::uint32_t at, std::vector<ReplayOperation>& operations);
  bool decode_parameter(std::uint32_t at, std::vector<ReplayOperation>& operations);
  bool decode_value(std::uint32_t at, ReplayOperation& operation);
  bool decode_compare(std::uint32_t at, ReplayOperation& operation);
  bool decode_predicate(std::uint32_t at, ReplayOperation& operation);
  bool decode_convert(std::uint32_t at, ReplayOperation& operation);
  bool set_sources(std::uint32_t at, std::size_t first, std::size_t count, ReplayOperation& operation);

  const Module& module_;
  const Function& function_;
  const RegisterUsage& usage_;
  std::vector<std::string>& variables_;
};

}  // namespace lynxpp::ptx
