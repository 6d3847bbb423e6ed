#include "ptx/passes/module/keep_contraction.h"

#include <algorithm>
#include <map>
#include <set>

#include "ptx/analysis/flow/contraction.h"

namespace lynxpp::ptx {
namespace {

bool may_end_block(const CodeStatement& statement) {
  const auto* const instruction = std::get_if<CodeInstruction>(&statement);
  if (instruction == nullptr) return false;
  const Op op = op_of(instruction->opcode);
  return instruction->guard || op == Op::bra || op == Op::call || op == Op::membar || op == Op::fence;
}

/// True if inserted code ends a basic block (guard, branch, call, fence). Text edits do not.
bool may_end_block(const Edit& edit) {
  const Code* const code = edit.code();
  return code != nullptr &&
         std::ranges::any_of(code->statements, [](const CodeStatement& each) { return may_end_block(each); });
}

/// True for "add.f32", which has no explicit rounding; false for "add.rz.f32", and for "add.s32", which needs
/// none.
bool lacks_rounding(const Instruction& instruction) {
  const Op op = instruction.op();
  return (op == Op::add || op == Op::sub || op == Op::mul) && is_floating(instruction.traits.type) &&
         !instruction.has_any({Modifier::rn, Modifier::rz, Modifier::rm, Modifier::rp});
}

/// The type of a value and of the instructions that copy it.
struct ValueType {
  RegisterType reg;
  std::string_view name;
};

ValueType value_type(DataType type) {
  switch (type) {
    case DataType::f64: return {RegisterType::b64, "f64"};
    case DataType::f32: return {RegisterType::b32, "f32"};
    case DataType::f16x2:
    case DataType::bf16x2: return {RegisterType::b32, "b32"};
    default: return {RegisterType::b16, "b16"};
  }
}

class KeepContraction {
 public:
  KeepContraction(const Module& module, const ReachedFunctions& reached, EditList& edits)
      : module_(module), reached_(reached), edits_(edits) {}

  void run() {
    if (module_.target.text.find("debug") != std::string::npos) return round_all();
    std::vector<std::uint32_t> probes;
    for (const Edit& edit : edits_.edits()) {
      if (may_end_block(edit)) probes.push_back(edit.range.begin);
    }
    if (probes.empty()) return;
    std::ranges::sort(probes);
    for (const FunctionUnit& function : reached_.functions) rewrite(function, probes);
  }

 private:
  void round_all() {
    for (const FunctionUnit& function : reached_.functions) {
      body_ = &*function.function->body;
      for (const Instruction& instruction : body_->instructions) {
        if (lacks_rounding(instruction)) round(instruction);
      }
    }
  }

  /// Makes the default rounding explicit, which prevents contraction.
  void round(const Instruction& instruction) {
    const std::uint32_t begin = body_->opcode_range(instruction, module_.source()).begin;
    edits_.insert_before(begin + static_cast<std::uint32_t>(instruction.opcode.find('.')), ".rn");
  }

  void rewrite(const FunctionUnit& function, const std::vector<std::uint32_t>& probes) {
    body_ = &*function.function->body;
    names_ = &edits_.names(*function.function);
    const auto is_separated = [&](const std::pair<std::uint32_t, std::uint32_t>& pair) {
      const auto first = std::ranges::lower_bound(probes, at(pair.first).text.end);
      return first != probes.end() && *first <= at(pair.second).text.begin;
    };
    for (const ContractionStretch& stretch : find_contractions(*function.analyses)) {
      if (std::ranges::any_of(stretch.pairs, is_separated)) rewrite(stretch);
    }
  }

  void rewrite(const ContractionStretch& stretch) {
    std::map<std::uint32_t, Factors> factors;  // by product
    std::set<std::uint32_t> done;
    for (const Contraction& contraction : stretch.fused) {
      auto [found, is_new] = factors.try_emplace(contraction.product);
      if (is_new) found->second = keep_factors(contraction.product);
      fuse(contraction, found->second);
      done.insert(contraction.sum);
      done.insert(contraction.product);  // now unused
    }
    for (const std::uint32_t open : stretch.open) {
      if (!done.contains(open)) round(at(open));
    }
  }

  using Factors = std::pair<VirtualRegister, VirtualRegister>;

  /// Copies both factors before the product, because their registers may be overwritten before the sum.
  Factors keep_factors(std::uint32_t product) {
    const Instruction& instruction = at(product);
    const ValueType type = value_type(instruction.traits.type);
    const std::string mov = "mov." + std::string(type.name);
    CodeBuilder code(*names_);
    const VirtualRegister first = code.compute(type.reg, mov, {operand(instruction, 1)});
    const VirtualRegister second = code.compute(type.reg, mov, {operand(instruction, 2)});
    edits_.insert_before(instruction.text.begin, code.take());
    return {first, second};
  }

  /// Replaces the sum.
  void fuse(const Contraction& contraction, const Factors& factors) {
    const Instruction& sum = at(contraction.sum);
    const bool subtracts = sum.op() == Op::sub;
    CodeBuilder code(*names_);
    CodeOperand first = factors.first;
    CodeOperand addend = operand(sum, 3 - contraction.operand);
    if (contraction.is_negated != (subtracts && contraction.operand == 2)) first = negated(sum, first, code);
    if (subtracts && contraction.operand == 1) addend = negated(sum, addend, code);
    code.emit_if(predicate_of(sum.guard), "fma.rn" + std::string(sum.opcode.substr(3)),
                 {operand(sum, 0), first, factors.second, addend});
    edits_.replace(sum.text, code.take());
  }

  /// Emits the negation of `value`.
  static VirtualRegister negated(const Instruction& sum, const CodeOperand& value, CodeBuilder& code) {
    const std::string type(sum.opcode.substr(sum.opcode.rfind('.')));
    return code.compute(value_type(sum.traits.type).reg, "neg" + type, {value});
  }

  const Instruction& at(std::uint32_t index) const { return body_->instructions[index]; }
  Name operand(const Instruction& instruction, std::size_t index) const {
    return {std::string(module_.text(instruction.operands[index].text))};
  }

  const Module& module_;
  const ReachedFunctions& reached_;
  EditList& edits_;
  const Body* body_ = nullptr;
  NameSource* names_ = nullptr;
};

}  // namespace

void keep_contraction(const Module& module, const ReachedFunctions& reached, EditList& edits) {
  KeepContraction(module, reached, edits).run();
}

}  // namespace lynxpp::ptx
