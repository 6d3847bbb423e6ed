#include "engine/access_facts.h"

#include <algorithm>
#include <bit>

namespace lynxpp::engine {
namespace {

constexpr std::int64_t lanes = 32;

const ptx::Operand* address_of(const ptx::Instruction& instruction) {
  for (const ptx::Operand& operand : instruction.operands) {
    if (operand.kind == ptx::OperandKind::address && !operand.elements.empty()) return &operand;
  }
  return nullptr;
}

/// Returns `factor` of factor * %tid.x; 0 if the form is not linear in %tid.x.
std::int64_t factor_of_thread_index(const ptx::AffineForm& form, const std::vector<ptx::Symbol>& symbols) {
  if (form.constant != 0 || form.terms.size() != 1) return 0;
  const ptx::Product& product = form.terms[0].product;
  if (product.degree != 1) return 0;
  const ptx::Symbol& symbol = symbols[product.symbols[0]];
  return symbol.kind == ptx::SymbolKind::tid && symbol.index == 0 ? form.terms[0].coefficient : 0;
}

}  // namespace

std::string AccessFacts::object_of(std::uint32_t instruction) {
  const ptx::Operand* const address = address_of(analyses_.function().body->instructions[instruction]);
  if (address == nullptr) return {};
  const ptx::AddressRoot root = roots_.of_address(instruction, *address);
  switch (root.kind) {
    case ptx::AddressRoot::Kind::parameter: return argument_of(root.name, root.byte);
    case ptx::AddressRoot::Kind::variable: return std::string(root.name);
    case ptx::AddressRoot::Kind::unknown: break;
  }
  return {};
}

std::string AccessFacts::argument_of(std::string_view parameter, std::uint64_t byte) const {
  const std::vector<ptx::Variable>& all = analyses_.function().parameters;
  const auto known = std::ranges::find(all, parameter, &ptx::Variable::name);
  if (known == all.end() || !analyses_.function().is_entry) return {};
  return "argument " + std::to_string(known - all.begin() + 1) +
         (byte == 0 ? "" : " byte " + std::to_string(byte));
}

// ---------------------------------------------------------------- lanes

std::string AccessFacts::lane_stride_of(std::uint32_t instruction) {
  const ptx::AffineAnalysis& affine = analyses_.affine();
  const std::optional<ptx::AffineForm> form = affine.of_address(instruction);
  if (!form) return {};
  std::int64_t stride = 0;
  std::string at_run_time;
  for (const ptx::Term& term : form->terms) {
    const std::optional<LaneStep> step = step_of(term);
    if (!step) return {};
    if (step->factors.empty()) {
      stride += step->bytes;
    } else if (step->bytes != 0) {
      at_run_time += (at_run_time.empty() ? "" : " + ") + std::to_string(step->bytes) + step->factors;
    }
  }
  if (at_run_time.empty()) return std::to_string(stride);
  return stride == 0 ? at_run_time : at_run_time + " + " + std::to_string(stride);
}

/// Returns the difference that a term contributes between lanes; nullopt if unknown.
std::optional<AccessFacts::LaneStep> AccessFacts::step_of(const ptx::Term& term) {
  LaneStep step;
  std::int64_t lane = 0;
  bool has_unnamed = false;
  for (std::uint8_t i = 0; i < term.product.degree; ++i) {
    const ptx::Symbol& symbol = analyses_.affine().symbols()[term.product.symbols[i]];
    std::optional<std::int64_t> own = 0;
    if (symbol.kind == ptx::SymbolKind::tid) own = symbol.index == 0 ? 1 : 0;
    if (symbol.kind == ptx::SymbolKind::value) own = steps_of_value(symbol.index);
    if (!own || (*own != 0 && lane != 0)) return std::nullopt;
    if (*own != 0) {
      lane = *own;
    } else if (const std::optional<std::string> factor = factor_of(symbol)) {
      step.factors += " * " + *factor;
    } else {
      has_unnamed = true;
    }
  }
  if (lane == 0) return LaneStep();
  if (has_unnamed) return std::nullopt;
  step.bytes = term.coefficient * lane;
  return step;
}

/// Returns the difference between neighbouring lanes of a row; nullopt if unknown.
std::optional<std::int64_t> AccessFacts::steps_of_value(ptx::ValueId value) {
  if ((uniformity().of_value(value) & ptx::varies_in_warp) == 0) return 0;
  const ptx::Value& made = analyses_.ssa().values()[value];
  if (made.kind != ptx::ValueKind::write) return std::nullopt;
  const ptx::Instruction& instruction = analyses_.function().body->instructions[made.instruction];
  const ptx::OperandList& operands = instruction.operands;
  const bool has_constant = operands.size() == 3 && operands[2].kind == ptx::OperandKind::integer &&
                            operands[1].kind == ptx::OperandKind::identifier;
  if (!has_constant) return std::nullopt;
  const ptx::RegisterId reg = analyses_.registers().find(operands[1].name, made.instruction);
  if (reg == ptx::no_register) return std::nullopt;
  const std::optional<ptx::AffineForm> of =
      analyses_.affine().of_value(analyses_.ssa().read_of(made.instruction, reg));
  const std::int64_t factor = of ? factor_of_thread_index(*of, analyses_.affine().symbols()) : 0;
  if (factor <= 0 || !std::has_single_bit(static_cast<std::uint64_t>(factor))) return std::nullopt;
  const std::int64_t constant = operands[2].integer;
  // The lane number, if each row of the block begins with a warp, or the warp's index.
  const std::int64_t kept = constant / factor;
  if (instruction.op() == ptx::Op::bit_and && kept + 1 >= lanes &&
      std::has_single_bit(static_cast<std::uint64_t>(kept) + 1))
    return factor;
  if (instruction.op() == ptx::Op::shr && factor == 1 && constant >= 5) return 0;
  return std::nullopt;
}

const ptx::Uniformity& AccessFacts::uniformity() {
  if (!uniformity_)
    uniformity_.emplace(analyses_.function(), analyses_.graph(), analyses_.dominators(), analyses_.loops(),
                        analyses_.registers(), analyses_.ssa());
  return *uniformity_;
}

/// nullopt: a value without a name in the source.
std::optional<std::string> AccessFacts::factor_of(const ptx::Symbol& symbol) const {
  constexpr const char* dimensions[] = {"x", "y", "z"};
  switch (symbol.kind) {
    case ptx::SymbolKind::ntid: return std::string("blockDim.") + dimensions[symbol.index];
    case ptx::SymbolKind::nctaid: return std::string("gridDim.") + dimensions[symbol.index];
    case ptx::SymbolKind::ctaid: return std::string("blockIdx.") + dimensions[symbol.index];
    case ptx::SymbolKind::parameter: return argument_of(symbol.name, symbol.index);
    default: return std::nullopt;
  }
}

}  // namespace lynxpp::engine
