#include <algorithm>
#include <utility>

#include "ptx/replay/prediction.h"

namespace lynxpp::ptx {
namespace {

/// Flow-insensitive backward slice of the operations.
class Slice {
 public:
  explicit Slice(const ReplayProgram& program)
      : program_(program),
        is_used_(program.operations.size(), false),
        is_needed_(program.registers, false),
        made_by_(program.registers) {
    for (std::uint32_t i = 0; i < program.operations.size(); ++i) {
      for (const RegisterId each : program.operations[i].destinations) made_by_[each].push_back(i);
    }
  }

  void use(std::uint32_t operation) {
    if (is_used_[operation]) return;
    is_used_[operation] = true;
    const ReplayOperation& used = program_.operations[operation];
    if (used.guard != no_register) need(used.guard);
    for (const ReplayOperand& source : used.source) {
      if (source.kind == ReplayOperand::Kind::reg) need(source.index);
    }
  }

  std::vector<bool> finish() {
    while (!waiting_.empty()) {
      const RegisterId reg = waiting_.back();
      waiting_.pop_back();
      for (const std::uint32_t each : made_by_[reg]) use(each);
    }
    return std::move(is_used_);
  }

 private:
  void need(RegisterId reg) {
    if (is_needed_[reg]) return;
    is_needed_[reg] = true;
    waiting_.push_back(reg);
  }

  const ReplayProgram& program_;
  std::vector<bool> is_used_;
  std::vector<bool> is_needed_;
  std::vector<std::vector<std::uint32_t>> made_by_;  ///< operations, by the register they write
  std::vector<RegisterId> waiting_;
};

void keep_operations(ReplayProgram& program, const std::vector<bool>& is_used) {
  std::vector<std::uint32_t> moved{0};  // number of retained operations before each original index
  std::vector<ReplayOperation> operations;
  std::vector<bool> is_predictable;
  for (std::size_t i = 0; i < is_used.size(); ++i) {
    if (is_used[i]) {
      operations.push_back(std::move(program.operations[i]));
      is_predictable.push_back(program.is_predictable[i]);
    }
    moved.push_back(static_cast<std::uint32_t>(operations.size()));
  }
  for (ReplayBlock& block : program.blocks) {
    block.begin = moved[block.begin];
    block.end = moved[block.end];
  }
  program.operations = std::move(operations);
  program.is_predictable = std::move(is_predictable);
}

void keep_variables(ReplayProgram& program) {
  std::vector<ReplayVariable> kept;
  for (ReplayOperation& operation : program.operations) {
    for (ReplayOperand& source : operation.source) {
      if (source.kind != ReplayOperand::Kind::variable) continue;
      const ReplayVariable& variable = program.variables[source.index];
      const auto known = std::ranges::find(kept, variable);
      source.index = static_cast<std::uint32_t>(known - kept.begin());
      if (known == kept.end()) kept.push_back(variable);
    }
  }
  program.variables = std::move(kept);
}

}  // namespace

void drop_unused_operations(ReplayProgram& program, bool follows_shared) {
  Slice slice(program);
  for (std::uint32_t i = 0; i < program.operations.size(); ++i) {
    const ReplayOperation& each = program.operations[i];
    switch (each.kind) {
      case ReplayKind::branch:
      case ReplayKind::exit:
      case ReplayKind::call: slice.use(i); break;
      case ReplayKind::access:
        if (program.is_predictable[i] && (follows_shared || !each.is_shared)) slice.use(i);
        break;
      default: break;
    }
  }
  keep_operations(program, slice.finish());
  keep_variables(program);
}

}  // namespace lynxpp::ptx
