#include "device/cpu/simt/execute/device_stack.h"

#include <algorithm>
#include <string>

#include "ptx/ir/debug_string.h"

namespace lynxpp::device::cpu {
namespace {

constexpr std::size_t most_frames = 16;

/// A frame whose texts have not been looked up.
struct RawFrame {
  const CompiledFunction* function = nullptr;  ///< null: inlined
  std::string_view label = {};                 ///< of the name of an inlined function
  std::uint32_t file = 0;
  std::uint32_t source_line = 0;
  std::uint32_t line = 0;  ///< PTX line
};

const CompiledFunction* find_function(const Program& program, std::string_view name) {
  const auto found = std::ranges::find(program.functions, name, &CompiledFunction::name);
  return found == program.functions.end() ? nullptr : &*found;
}

/// Appends the frames of one function of the program: those of the functions inlined there, then its own.
void add_frames(const CompiledFunction& function, std::uint32_t line, std::vector<RawFrame>& frames) {
  const ptx::Body& body = *function.function->body;
  const auto at = std::ranges::lower_bound(body.instructions, line, {}, &ptx::Instruction::line);
  if (at == body.instructions.end() || at->line != line) return;
  RawFrame frame{.file = at->source_file, .source_line = at->source_line, .line = line};
  for (std::uint32_t call = at->call_site; call != ptx::no_call_site; call = body.call_sites[call].outer) {
    const ptx::CallSite& site = body.call_sites[call];
    frame.label = site.function;
    frames.push_back(frame);
    frame = {.file = site.file, .source_line = site.line};
  }
  frame.function = &function;
  if (frame.file == 0) frame.line = line;
  frames.push_back(frame);
}

StackFrame look_up(const Program& program, const RawFrame& frame) {
  StackFrame made;
  if (frame.function != nullptr) {
    made.function = frame.function->name;
  } else if (program.module != nullptr) {
    made.function = ptx::debug_string(*program.module, frame.label);
  }
  made.line = frame.line;
  const std::string* const file = program.module != nullptr ? program.module->find_file(frame.file) : nullptr;
  if (file == nullptr) return made;
  made.source_file = *file;
  made.source_line = frame.source_line;
  return made;
}

}  // namespace

DeviceStack device_stack(const Program& program, std::string_view function, std::uint32_t line,
                         const ActiveCalls& calls) {
  DeviceStack stack;
  const CompiledFunction* const innermost = find_function(program, function);
  if (innermost == nullptr || !innermost->function->body) return stack;
  std::vector<RawFrame> frames;
  add_frames(*innermost, line, frames);
  const bool is_known = calls && (calls->empty() || calls->front().callee == innermost);
  if (is_known && !frames.empty()) {
    for (const ActiveCall& call : *calls) add_frames(*call.caller, call.line, frames);
  }
  if (frames.size() > most_frames) {
    stack.omitted = static_cast<std::uint32_t>(frames.size() - most_frames);
    frames.erase(frames.begin() + most_frames - 1, frames.end() - 1);
  }
  for (const RawFrame& frame : frames) stack.frames.push_back(look_up(program, frame));
  return stack;
}

}  // namespace lynxpp::device::cpu
