#include "ptx/ir/code_builder.h"

#include <algorithm>
#include <iterator>

namespace lynxpp::ptx {
namespace {

/// Returns "mov.b32" or similar; special registers are read with "mov.u32".
std::string mov_opcode(RegisterType type, const CodeOperand& source) {
  const std::string sign = std::holds_alternative<SpecialRegister>(source.value) ? "mov.u" : "mov.b";
  switch (type) {
    case RegisterType::pred: return "mov.pred";
    case RegisterType::b16: return sign + "16";
    case RegisterType::b32: return sign + "32";
    case RegisterType::b64: return sign + "64";
    case RegisterType::b128: break;
  }
  return "mov.b128";
}

}  // namespace

std::optional<RegisterType> register_of_bytes(std::uint32_t bytes) {
  switch (bytes) {
    case 1:
    case 2: return RegisterType::b16;
    case 4: return RegisterType::b32;
    case 8: return RegisterType::b64;
    case 16: return RegisterType::b128;
    default: return std::nullopt;
  }
}

std::optional<CodePredicate> predicate_of(const Guard& guard) {
  if (guard.predicate.empty()) return std::nullopt;
  return CodePredicate(Name{std::string(guard.predicate)}, guard.negated);
}

CodeOperand::CodeOperand(const CodeRegister& reg)
    : value(std::visit([](const auto& each) { return Value(each); }, reg)) {}

CodeOperand::CodeOperand(const CodePredicate& predicate)
    : value(predicate.is_negated ? Value(predicate) : CodeOperand(predicate.reg).value) {}

std::size_t Code::size() const {
  std::size_t instructions = 0;
  for (const CodeStatement& statement : statements) {
    if (std::holds_alternative<CodeInstruction>(statement)) ++instructions;
  }
  return instructions;
}

bool Code::has_label() const {
  return std::ranges::any_of(statements,
                             [](const auto& each) { return std::holds_alternative<Label>(each); });
}

void Code::append(Code other) {
  if (statements.empty()) {
    statements = std::move(other.statements);
    return;
  }
  statements.insert(statements.end(), std::make_move_iterator(other.statements.begin()),
                    std::make_move_iterator(other.statements.end()));
}

NameSource::Numbers NameSource::reserve(const NameSource& other) {
  const Numbers numbers{registers_, labels_};
  for (std::size_t i = 0; i < register_types; ++i) registers_[i] += other.registers_[i];
  labels_ += other.labels_;
  return numbers;
}

void CodeBuilder::emit_if(std::optional<CodePredicate> guard, std::string opcode,
                          std::vector<CodeOperand> operands) {
  code_.statements.emplace_back(CodeInstruction{std::move(guard), std::move(opcode), std::move(operands)});
}

VirtualRegister CodeBuilder::compute(RegisterType result, std::string opcode,
                                     std::vector<CodeOperand> sources) {
  const VirtualRegister target = fresh(result);
  sources.insert(sources.begin(), target);
  emit(std::move(opcode), std::move(sources));
  return target;
}

void CodeBuilder::mov_if(std::optional<CodePredicate> guard, VirtualRegister target, CodeOperand source) {
  std::string opcode = mov_opcode(target.type, source);
  emit_if(std::move(guard), std::move(opcode), {target, std::move(source)});
}

VirtualRegister CodeBuilder::lanes_below(CodeOperand mask) {
  const VirtualRegister below = fresh(RegisterType::b32);
  mov(below, SpecialRegister{"%lanemask_lt"});
  return b32("and.b32", {below, std::move(mask)});
}

VirtualRegister CodeBuilder::elect_leader(CodeOperand mask, const std::optional<CodePredicate>& among) {
  const VirtualRegister leads = fresh(RegisterType::pred);
  elect_leader_into(leads, std::move(mask), among);
  return leads;
}

void CodeBuilder::elect_leader_into(VirtualRegister leads, CodeOperand mask,
                                    const std::optional<CodePredicate>& among) {
  const VirtualRegister lower = lanes_below(std::move(mask));
  if (among) return emit("setp.eq.and.u32", {leads, lower, 0, *among});
  emit("setp.eq.u32", {leads, lower, 0});
}

}  // namespace lynxpp::ptx
