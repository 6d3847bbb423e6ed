#include "instruction_fixture.h"

namespace lynxpp::device::cpu::test {
namespace {

/// Loads the lane's element, such as "ld.global.b32 %a, [%ptr];". 8-bit values are sign-extended to 16-bit
/// registers.
std::string load_operand(const std::string& name, unsigned bits, unsigned parameter) {
  const std::string pointer = "%x" + std::to_string(parameter);
  const std::string type = bits == 8 ? "s8" : "b" + std::to_string(bits);
  return "  ld.param.u64 " + pointer + ", [p" + std::to_string(parameter) + "];\n  mad.wide.u32 " + pointer +
         ", %i, " + std::to_string(bits / 8) + ", " + pointer + ";\n  ld.global." + type + " " + name +
         ", [" + pointer + "];\n";
}

std::string declare(const std::string& name, unsigned bits) {
  return "  .reg .b" + std::to_string(bits == 8 ? 16 : bits) + " " + name + ";\n";
}

}  // namespace

std::string instruction_kernel(const std::string& code, unsigned d_bits, unsigned a_bits, unsigned b_bits,
                               unsigned c_bits) {
  std::string text =
      ".visible .entry test(.param .u64 p0, .param .u64 p1, .param .u64 p2, .param .u64 p3, .param .u32 n) "
      "{\n";
  text += declare("%d", d_bits) + declare("%a", a_bits) + declare("%b", b_bits) + declare("%c", c_bits);
  text +=
      "  .reg .b32 %i, %n, %s, %t<4>;\n  .reg .b64 %x<4>, %w<4>;\n  .reg .pred %p, %q, %done;\n  .reg .b16 "
      "%h<4>;\n";
  text +=
      "  mov.u32 %i, %ctaid.x;\n  mov.u32 %s, %tid.x;\n  mad.lo.u32 %i, %i, 64, %s;\n  ld.param.u32 %n, "
      "[n];\n";
  text += "  setp.ge.u32 %done, %i, %n;\n  @%done exit;\n";
  text += load_operand("%a", a_bits, 1) + load_operand("%b", b_bits, 2) + load_operand("%c", c_bits, 3);
  text += "  " + code + "\n  ld.param.u64 %x0, [p0];\n  mad.wide.u32 %x0, %i, " + std::to_string(d_bits / 8) +
          ", %x0;\n";
  return text + "  st.global.b" + std::to_string(d_bits) + " [%x0], %d;\n  ret;\n}\n";
}

}  // namespace lynxpp::device::cpu::test
