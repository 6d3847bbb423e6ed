#include "ptx/passes/module/frame.h"

#include "ptx/passes/counting/plan.h"

namespace lynxpp::ptx {
namespace {

constexpr std::string_view word_register = "%lynxpp_word";

std::string number(std::uint64_t value) { return std::to_string(value); }

}  // namespace

std::uint32_t InstrumentationUnit::frame_bytes() const {
  const std::uint32_t counts = counting == nullptr ? 0 : counting->frame_words;
  return frame_counts_offset() + (counts + 1) / 2 * 8;
}

void Frame::append_declarations(std::string& text) const {
  if (!exists_) return;
  text += "\t.reg .b64 " + std::string(frame_register) + ";\n";
  if (!is_kernel_) return;
  if (unit_.words != 0) text += "\t.reg .b64 " + std::string(word_register) + ";\n";
  text += "\t.local .align 8 .b8 " + std::string(frame_variable) + "[" + number(unit_.frame_bytes()) + "];\n";
}

void Frame::append_entry(std::string& text) const {
  if (!exists_) return;
  if (!is_kernel_) {
    text += "\tld.param.b64 " + std::string(frame_register) + ", [" + std::string(frame_parameter) + "];\n";
    append_load(text);
    return;
  }
  text += "\tmov.u64 " + std::string(frame_register) + ", " + std::string(frame_variable) + ";\n";
  for (std::uint32_t i = 0; i < unit_.words; ++i) {
    const std::string at = number(8 * i);
    text += "\tld.param.b64 " + std::string(word_register) + ", [" + std::string(probe_parameter) + "+" + at +
            "];\n\tst.local.b64 [" + std::string(frame_register) + "+" + at + "], " +
            std::string(word_register) + ";\n";
  }
  for (std::uint32_t at = unit_.frame_counts_offset(); at < unit_.frame_bytes(); at += 8)
    text += "\tst.local.b64 [" + std::string(frame_register) + "+" + number(at) + "], 0;\n";
}

void Frame::append_transfer(std::string& text, bool store) const {
  if (!exists_) return;
  for (std::uint32_t i = 0; i < unit_.state_bytes.size(); ++i) {
    const std::string slot =
        "[" + std::string(frame_register) + "+" + number(unit_.frame_state_offset(i)) + "]";
    const std::string type = ".b" + number(8 * unit_.state_bytes[i]) + " ";
    text += store ? "\tst.local" + type + slot + ", " + state_register(i) + ";\n"
                  : "\tld.local" + type + state_register(i) + ", " + slot + ";\n";
  }
}

bool Frame::is_passed_by(const Instruction& instruction) const {
  if (!exists_ || instruction.traits.kind != OpcodeClass::call) return false;
  const FunctionUnit* callee = unit_.find(direct_callee(unit_.module, instruction));
  return callee != nullptr && callee->instrumented;
}

}  // namespace lynxpp::ptx
