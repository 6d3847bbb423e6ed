#include "ptx/passes/probes/operand_reader.h"

#include <bit>
#include <optional>

namespace lynxpp::ptx {
namespace {

/// ptxas computes element offsets modulo 2^32.
constexpr std::int64_t low_word = 0xffffffff;

std::uint64_t mask_of(std::uint32_t bytes) {
  return bytes == 0 || bytes >= 8 ? ~std::uint64_t{0} : (std::uint64_t{1} << (8 * bytes)) - 1;
}

bool is_wide_special(std::string_view name) {
  return name == "%clock64" || name == "%globaltimer" || name == "%gridid" || name.ends_with("_64") ||
         name == "%current_graph_exec";
}

/// Returns a floating-point literal's bits in the instruction's type: decimal literals are doubles until
/// then.
std::uint64_t floating_bits(const Operand& operand, DataType type) {
  if (operand.is_single || type != DataType::f32) return operand.bits;
  return std::bit_cast<std::uint32_t>(static_cast<float>(std::bit_cast<double>(operand.bits)));
}

void add_register(const RegisterDeclaration& declared, const Operand& operand, VirtualRegister target,
                  CodeBuilder& code) {
  const Name name{std::string(operand.name)};
  if (declared.type == DataType::pred) {
    code.emit("selp.b64", {target, operand.negated ? 0 : 1, operand.negated ? 1 : 0, name});
    return;
  }
  switch (size_of(declared.type)) {
    case 1: return code.emit("cvt.u64.u8", {target, name});
    case 2: return code.emit("cvt.u64.u16", {target, code.compute(RegisterType::b16, "mov.b16", {name})});
    case 4: return code.emit("cvt.u64.u32", {target, code.b32("mov.b32", {name})});
    case 16: {
      const VirtualRegister high = code.fresh(RegisterType::b64);
      return code.emit("mov.b128", {CodeList{CodeList::Kind::vector, {target, high}}, name});
    }
    default: code.mov(target, name);
  }
}

/// The bytes of a 32-bit register that a video instruction selects: `r.b2`, `r.h1`.
struct Selected {
  std::string reg;
  std::uint32_t first_bit = 0;
  std::uint32_t bits = 0;
};

/// nullopt for selectors of two registers, such as `r.b7210`.
std::optional<Selected> video_selector(std::string_view name) {
  const std::size_t dot = name.find('.');
  if (name.size() != dot + 3) return std::nullopt;
  const char kind = name[dot + 1];
  const char index = name[dot + 2];
  if ((kind != 'b' && kind != 'h') || index < '0' || index >= (kind == 'b' ? '4' : '2')) return std::nullopt;
  const std::uint32_t bits = kind == 'b' ? 8 : 16;
  return Selected{std::string(name.substr(0, dot)), bits * static_cast<std::uint32_t>(index - '0'), bits};
}

void add_part(const Selected& part, VirtualRegister target, CodeBuilder& code) {
  const VirtualRegister word = code.b32("mov.b32", {Name{part.reg}});
  const VirtualRegister bits = code.b32("bfe.u32", {word, part.first_bit, part.bits});
  code.emit("cvt.u64.u32", {target, bits});
}

void add_special(const Operand& operand, VirtualRegister target, CodeBuilder& code) {
  const SpecialRegister special{std::string(operand.name)};
  if (special.name == "%is_explicit_cluster") {
    const VirtualRegister is = code.pred("mov.pred", {special});
    code.emit("selp.b64", {target, 1, 0, is});
  } else if (is_wide_special(special.name)) {
    code.mov(target, special);
  } else {
    code.emit("cvt.u64.u32", {target, code.b32("mov.u32", {special})});
  }
}

}  // namespace

bool OperandReader::add_value(const Operand& operand, std::uint32_t most_bytes, VirtualRegister target) {
  const auto immediate = [&](std::uint64_t bits) { code_.mov(target, bits & mask_of(most_bytes)); };
  switch (operand.kind) {
    case OperandKind::integer: immediate(static_cast<std::uint64_t>(operand.integer)); return true;
    case OperandKind::floating: immediate(floating_bits(operand, instruction_.traits.type)); return true;
    case OperandKind::address: add_address(&operand, target); return true;
    case OperandKind::vector:
    case OperandKind::pair:
      if (operand.elements.empty()) break;
      return add_value(operand.elements[0], most_bytes, target);
    case OperandKind::special_register: add_special(operand, target, code_); return true;
    case OperandKind::identifier:
      if (add_named(operand, most_bytes, target)) return true;
      break;
    default: break;
  }
  code_.mov(target, 0);
  return false;
}

/// Returns false if the operand does not name a register, or selects parts of several.
bool OperandReader::add_named(const Operand& operand, std::uint32_t most_bytes, VirtualRegister target) {
  const RegisterDeclaration* declared = body_.find_register(operand.name, scope_);
  if (declared == nullptr || declared->vector > 1) return false;
  if (operand.name.find('.') != std::string_view::npos) {
    const std::optional<Selected> part = video_selector(operand.name);
    if (part) add_part(*part, target, code_);
    return part.has_value();
  }
  add_register(*declared, operand, target, code_);
  const bool is_narrower = most_bytes != 0 && most_bytes < 8 && most_bytes < size_of(declared->type);
  if (is_narrower) code_.emit("and.b64", {target, target, mask_of(most_bytes)});
  return true;
}

void OperandReader::add_address(const Operand* address, VirtualRegister target) {
  if (address == nullptr || address->elements.empty()) return code_.mov(target, 0);
  const Operand& base = address->elements[0];
  const std::int64_t offset = address->offset + base.offset;
  if (base.kind == OperandKind::integer) return code_.mov(target, base.integer + offset);
  const std::optional<ArrayElement> element = array_element(*address);
  if (!element || instruction_.traits.space == StateSpace::param) return add_base(base, offset, target);
  const auto shared = shared_.find(base.name);
  if (shared != shared_.end() && body_.find_variable(base.name, scope_) == nullptr) {
    const VirtualRegister first = code_.fresh(RegisterType::b64);
    load_shared_address(shared->second, first, code_);
    add_element_offset(*element, target);
    code_.emit("add.s64", {target, target, first});
  } else {
    code_.emit("mov.u64", {target, Name{std::string(module_.text(address->text))}});
  }
}

/// Adds `base`, a name, and `offset`. Addresses in 32-bit registers wrap around.
void OperandReader::add_base(const Operand& base, std::int64_t offset, VirtualRegister target) {
  const Name name{std::string(base.name)};
  const RegisterDeclaration* declared = body_.find_register(base.name, scope_);
  if (declared != nullptr && size_of(declared->type) == 4) {
    if (offset == 0) return code_.emit("cvt.u64.u32", {target, name});
    const VirtualRegister sum = code_.b32("add.s32", {name, static_cast<std::int32_t>(offset)});
    return code_.emit("cvt.u64.u32", {target, sum});
  }
  const auto shared = shared_.find(base.name);
  if (declared != nullptr) {
    code_.emit("mov.b64", {target, name});
  } else if (shared != shared_.end()) {
    load_shared_address(shared->second, target, code_);
  } else if (instruction_.traits.space == StateSpace::param) {
    code_.mov(target, 0);
  } else {
    code_.emit("mov.u64", {target, name});
  }
  if (offset != 0) code_.emit("add.s64", {target, target, offset});
}

void OperandReader::add_element_offset(const ArrayElement& element, VirtualRegister target) {
  const Operand& index = *element.index;
  const RegisterDeclaration* declared = body_.find_register(index.name, scope_);
  const bool is_short = declared != nullptr && size_of(declared->type) == 2;
  code_.emit(is_short ? "cvt.u64.u16" : "cvt.u64.u32", {target, Name{std::string(index.name)}});
  if (index.offset != 0) code_.emit("add.s64", {target, target, index.offset});
  code_.emit("mul.lo.u64", {target, target, element.bytes});
  code_.emit("and.b64", {target, target, low_word});
}

}  // namespace lynxpp::ptx
