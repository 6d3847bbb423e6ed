#include "ptx/passes/probes/operand_value.h"

#include <bit>
#include <optional>

#include "ptx/passes/probes/memory_address.h"

namespace lynxpp::ptx {
namespace {

const std::string byte_pair = "%lynxpp_bits16";
const std::string word = "%lynxpp_bits32";
const std::string high_half = "%lynxpp_bits64";

std::string hexadecimal(std::uint64_t value) {
  constexpr std::string_view digits = "0123456789abcdef";
  std::string text;
  do {
    text.insert(text.begin(), digits[value & 15]);
    value >>= 4;
  } while (value != 0);
  return "0x" + text;
}

std::uint64_t mask_of(std::uint32_t bytes) {
  return bytes == 0 || bytes >= 8 ? ~std::uint64_t{0} : (std::uint64_t{1} << (8 * bytes)) - 1;
}

bool is_wide_special(std::string_view name) {
  return name == "%clock64" || name == "%globaltimer" || name == "%gridid" || name.ends_with("_64") ||
         name == "%current_graph_exec";
}

/// A floating literal as the instruction takes it: decimal ones are doubles until the type says otherwise.
std::uint64_t floating_bits(const Operand& operand, DataType type) {
  if (operand.is_single || type != DataType::f32) return operand.bits;
  return std::bit_cast<std::uint32_t>(static_cast<float>(std::bit_cast<double>(operand.bits)));
}

void append_register(const RegisterDeclaration& declared, const Operand& operand, const std::string& target,
                     std::string& text) {
  const std::string name(operand.name);
  if (declared.type == DataType::pred) {
    text += "\tselp.b64 " + target + (operand.negated ? ", 0, 1, " : ", 1, 0, ") + name + ";\n";
    return;
  }
  switch (size_of(declared.type)) {
    case 1: text += "\tcvt.u64.u8 " + target + ", " + name + ";\n"; break;
    case 2:
      text +=
          "\tmov.b16 " + byte_pair + ", " + name + ";\n\tcvt.u64.u16 " + target + ", " + byte_pair + ";\n";
      break;
    case 4:
      text += "\tmov.b32 " + word + ", " + name + ";\n\tcvt.u64.u32 " + target + ", " + word + ";\n";
      break;
    case 16: text += "\tmov.b128 {" + target + ", " + high_half + "}, " + name + ";\n"; break;
    default: text += "\tmov.b64 " + target + ", " + name + ";\n";
  }
}

/// Bytes of a register of 32 bits that a video instruction picks: `r.b2`, `r.h1`.
struct Selected {
  std::string reg;
  std::uint32_t first_bit = 0;
  std::uint32_t bits = 0;
};

/// Nothing of those that pick from two registers: `r.b7210`.
std::optional<Selected> video_selector(std::string_view name) {
  const std::size_t dot = name.find('.');
  if (name.size() != dot + 3) return std::nullopt;
  const char kind = name[dot + 1];
  const char index = name[dot + 2];
  if ((kind != 'b' && kind != 'h') || index < '0' || index >= (kind == 'b' ? '4' : '2')) return std::nullopt;
  const std::uint32_t bits = kind == 'b' ? 8 : 16;
  return Selected{std::string(name.substr(0, dot)), bits * static_cast<std::uint32_t>(index - '0'), bits};
}

void append_part(const Selected& part, const std::string& target, std::string& text) {
  text += "\tmov.b32 " + word + ", " + part.reg + ";\n\tbfe.u32 " + word + ", " + word + ", " +
          std::to_string(part.first_bit) + ", " + std::to_string(part.bits) + ";\n\tcvt.u64.u32 " + target +
          ", " + word + ";\n";
}

}  // namespace

void append_operand_registers(std::string& text) {
  text += "\t.reg .b16 " + byte_pair + ";\n\t.reg .b32 " + word + ";\n\t.reg .b64 " + high_half + ";\n";
}

bool append_operand_value(const InstrumentationUnit& unit, const Body& body, const Instruction& instruction,
                          const Operand& operand, std::uint32_t most_bytes, std::string_view target_register,
                          std::string& text) {
  const std::string target(target_register);
  const auto immediate = [&](std::uint64_t bits) {
    text += "\tmov.b64 " + target + ", " + hexadecimal(bits & mask_of(most_bytes)) + ";\n";
  };
  switch (operand.kind) {
    case OperandKind::integer: immediate(static_cast<std::uint64_t>(operand.integer)); return true;
    case OperandKind::floating: immediate(floating_bits(operand, instruction.traits.type)); return true;
    case OperandKind::address:
      append_memory_address(unit, body, instruction, &operand, target, text);
      return true;
    case OperandKind::vector:
    case OperandKind::pair:
      if (operand.elements.empty()) break;
      return append_operand_value(unit, body, instruction, operand.elements[0], most_bytes, target, text);
    case OperandKind::special_register: {
      const std::string name(operand.name);
      if (name == "%is_explicit_cluster") {
        text += "\t{\n\t.reg .pred %lynxpp_is;\n\tmov.pred %lynxpp_is, " + name + ";\n\tselp.b64 " + target +
                ", 1, 0, %lynxpp_is;\n\t}\n";
        return true;
      }
      text += is_wide_special(name)
                  ? "\tmov.u64 " + target + ", " + name + ";\n"
                  : "\tmov.u32 " + word + ", " + name + ";\n\tcvt.u64.u32 " + target + ", " + word + ";\n";
      return true;
    }
    case OperandKind::identifier: {
      const std::uint32_t scope = body.statements[instruction.statement].scope;
      const RegisterDeclaration* declared = body.find_register(operand.name, scope);
      if (declared == nullptr || declared->vector > 1) break;
      if (operand.name.find('.') != std::string_view::npos) {
        const std::optional<Selected> part = video_selector(operand.name);
        if (!part) break;
        append_part(*part, target, text);
        return true;
      }
      append_register(*declared, operand, target, text);
      const bool is_narrower = most_bytes != 0 && most_bytes < 8 && most_bytes < size_of(declared->type);
      if (is_narrower) {
        text += "\tand.b64 " + target + ", " + target + ", " + hexadecimal(mask_of(most_bytes)) + ";\n";
      }
      return true;
    }
    default: break;
  }
  text += "\tmov.b64 " + target + ", 0;\n";
  return false;
}

}  // namespace lynxpp::ptx
