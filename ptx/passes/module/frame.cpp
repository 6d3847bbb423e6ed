#include "ptx/passes/module/frame.h"

namespace lynxpp::ptx {

const ThreadRegisters& InstrumentationUnit::thread_registers(const Function& function) {
  const auto [known, is_new] = thread_registers_.try_emplace(&function);
  if (!is_new) return known->second;
  NameSource& names = edits.names(function);
  for (const std::uint32_t bytes : spliced.state_bytes)
    known->second.states.push_back(names.fresh(bytes == 8 ? RegisterType::b64 : RegisterType::b32));
  if (needs_frame()) known->second.frame = names.fresh(RegisterType::b64);
  return known->second;
}

void Frame::add_declarations(CodeBuilder& code) const {
  if (!exists_ || !is_kernel_) return;
  code.add_text(".local .align 8 .b8 " + std::string(frame_variable) + "[" +
                std::to_string(unit_.frame_bytes()) + "];");
}

void Frame::add_entry(CodeBuilder& code) const {
  if (!exists_) return;
  const VirtualRegister frame = *registers_.frame;
  if (!is_kernel_) {
    code.emit("ld.param.b64", {frame, CodeAddress{Name{std::string(frame_parameter)}}});
    return add_load(code);
  }
  code.emit("mov.u64", {frame, Name{std::string(frame_variable)}});
  for (std::uint32_t i = 0; i < unit_.hidden.size(); ++i) {
    const VirtualRegister slot = ParameterSlots().load(i, code);
    code.emit("st.local.b64", {CodeAddress{frame, 8 * i}, slot});
  }
}

void Frame::add_store(CodeBuilder& code) const {
  if (!exists_) return;
  for (std::uint32_t i = 0; i < unit_.spliced.state_bytes.size(); ++i)
    code.emit(opcode_of("st.local", i), {address_of(i), registers_.states[i]});
}

void Frame::add_load(CodeBuilder& code) const {
  if (!exists_) return;
  for (std::uint32_t i = 0; i < unit_.spliced.state_bytes.size(); ++i)
    code.emit(opcode_of("ld.local", i), {registers_.states[i], address_of(i)});
}

std::string Frame::opcode_of(const char* access, std::uint32_t index) const {
  return std::string(access) + ".b" + std::to_string(8 * unit_.spliced.state_bytes[index]);
}

CodeAddress Frame::address_of(std::uint32_t index) const {
  return {*registers_.frame, unit_.frame_state_offset(index)};
}

bool Frame::is_passed_by(const Instruction& instruction) const {
  if (!exists_ || instruction.traits.kind != OpcodeClass::call) return false;
  const FunctionUnit* callee = unit_.reached.find(direct_callee(unit_.module, instruction));
  return callee != nullptr && callee->instrumented;
}

}  // namespace lynxpp::ptx
