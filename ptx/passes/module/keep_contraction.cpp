#include "ptx/passes/module/keep_contraction.h"

#include <algorithm>
#include <array>
#include <map>
#include <set>

#include "ptx/analysis/contraction.h"

namespace lynxpp::ptx {
namespace {

/// The begins of opcodes that end a block.
constexpr std::array<std::string_view, 4> block_ends{"bra", "call", "membar", "fence"};

/// Whether a block may end in what is added: at a guard, a branch, a call, a fence.
bool may_end_block(const Edit& edit) {
  if (const Code* const code = edit.code()) {
    return std::ranges::any_of(code->statements, [](const CodeStatement& statement) {
      const auto* const instruction = std::get_if<CodeInstruction>(&statement);
      if (instruction == nullptr) return false;
      return instruction->guard || std::ranges::any_of(block_ends, [&](std::string_view begin) {
               return instruction->opcode.starts_with(begin);
             });
    });
  }
  const std::string* const text = edit.text();
  return text != nullptr &&
         (text->find('@') != std::string::npos || std::ranges::any_of(block_ends, [&](std::string_view sign) {
            return text->find(sign) != std::string::npos;
          }));
}

/// The type of registers that hold a value, and of the instructions that copy it.
std::string register_type(DataType type) {
  switch (type) {
    case DataType::f64: return "f64";
    case DataType::f32: return "f32";
    case DataType::f16x2:
    case DataType::bf16x2: return "b32";
    default: return "b16";
  }
}

class KeepContraction final : public Pass {
 public:
  std::string_view name() const override { return "keep-contraction"; }

  Result<bool> run(InstrumentationUnit& unit) override {
    // Debug code was assembled without optimization, and has its rounding by now (keep_rounding.h).
    const bool is_debug = unit.module.target.text.find("debug") != std::string::npos;
    if (!unit.assembler_contracts || is_debug) return false;
    unit_ = &unit;
    const std::size_t before = unit.edits.edits().size();
    std::vector<std::uint32_t> probes;
    for (const Edit& edit : unit.edits.edits()) {
      if (may_end_block(edit)) probes.push_back(edit.range.begin);
    }
    if (probes.empty()) return false;
    std::ranges::sort(probes);
    for (const FunctionUnit& function : unit.functions) rewrite(*function.function, probes);
    return unit.edits.edits().size() != before;
  }

 private:
  void rewrite(const Function& function, const std::vector<std::uint32_t>& probes) {
    body_ = &*function.body;
    declarations_.clear();
    registers_ = 0;
    const auto is_parted = [&](const std::pair<std::uint32_t, std::uint32_t>& pair) {
      const auto first = std::ranges::lower_bound(probes, at(pair.first).text.end);
      return first != probes.end() && *first <= at(pair.second).text.begin;
    };
    for (const ContractionStretch& stretch : find_contractions(unit_->analyses.of(function))) {
      if (std::ranges::any_of(stretch.pairs, is_parted)) rewrite(stretch);
    }
    if (!declarations_.empty()) unit_->edits.insert_before(function.body_text.begin + 1, declarations_);
  }

  void rewrite(const ContractionStretch& stretch) {
    std::map<std::uint32_t, std::pair<std::string, std::string>> factors;  // by product
    std::set<std::uint32_t> done;
    for (const Contraction& contraction : stretch.fused) {
      auto [found, is_new] = factors.try_emplace(contraction.product);
      if (is_new) found->second = keep_factors(contraction.product);
      fuse(contraction, found->second);
      done.insert(contraction.sum);
      done.insert(contraction.product);  // without uses now
    }
    for (const std::uint32_t open : stretch.open) {
      if (done.contains(open)) continue;
      const std::string_view opcode = at(open).opcode;
      unit_->edits.insert_before(opcode_range(at(open)).begin + static_cast<std::uint32_t>(opcode.find('.')),
                                 ".rn");
    }
  }

  /// Copies of both, in front of the product: their registers may be written anew before the sum.
  std::pair<std::string, std::string> keep_factors(std::uint32_t product) {
    const Instruction& instruction = at(product);
    const std::string type = register_type(instruction.traits.type);
    std::pair<std::string, std::string> kept{new_register(type), new_register(type)};
    unit_->edits.insert_before(instruction.text.begin, "mov." + type + " " + kept.first + ", " +
                                                           text(instruction.operands[1]) + ";\n\tmov." +
                                                           type + " " + kept.second + ", " +
                                                           text(instruction.operands[2]) + ";\n\t");
    return kept;
  }

  void fuse(const Contraction& contraction, const std::pair<std::string, std::string>& factors) {
    const Instruction& sum = at(contraction.sum);
    const bool subtracts = sum.opcode.starts_with("sub");
    const Operand& other = sum.operands[3 - contraction.operand];
    std::string first = factors.first;
    std::string addend = text(other);
    if (contraction.is_negated != (subtracts && contraction.operand == 2)) first = negated(sum, first);
    if (subtracts && contraction.operand == 1) addend = negated(sum, addend);
    const TextRange opcode = opcode_range(sum);
    unit_->edits.replace({opcode.begin, opcode.begin + 3}, "fma.rn");
    unit_->edits.replace(sum.operands[1].text, first + ", " + factors.second);
    unit_->edits.replace(sum.operands[2].text, addend);
  }

  /// The register of `value` with the other sign, made in front of `sum`.
  std::string negated(const Instruction& sum, const std::string& value) {
    const DataType type = sum.traits.type;
    const std::string result = new_register(register_type(type));
    const std::size_t dot = sum.opcode.rfind('.');
    unit_->edits.insert_before(
        sum.text.begin, "neg" + std::string(sum.opcode.substr(dot)) + " " + result + ", " + value + ";\n\t");
    return result;
  }

  std::string new_register(const std::string& type) {
    const std::string name = "%lynxpp_factor" + std::to_string(registers_++);
    declarations_ += "\n\t.reg ." + type + " " + name + ";";
    return name;
  }

  const Instruction& at(std::uint32_t index) const { return body_->instructions[index]; }
  std::string text(const Operand& operand) const {
    return std::string(
        unit_->module.source().substr(operand.text.begin, operand.text.end - operand.text.begin));
  }
  TextRange opcode_range(const Instruction& instruction) const {
    return body_->opcode_range(instruction, unit_->module.source());
  }

  InstrumentationUnit* unit_ = nullptr;
  const Body* body_ = nullptr;
  std::string declarations_;
  std::uint32_t registers_ = 0;
};

}  // namespace

std::unique_ptr<Pass> make_keep_contraction_pass() { return std::make_unique<KeepContraction>(); }

}  // namespace lynxpp::ptx
