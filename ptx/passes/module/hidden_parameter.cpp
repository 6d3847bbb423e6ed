#include "ptx/passes/module/hidden_parameter.h"

#include <algorithm>

namespace lynxpp::ptx {
namespace {

constexpr std::string_view call_argument = "__lynxpp_argument";

/// Kernels may have 4352 bytes of parameters; with PTX 8.1 and sm_70 or later, 32764 bytes.
Status make_room(InstrumentationUnit& unit) {
  constexpr std::uint64_t most_of_old_versions = 4352;
  constexpr std::uint64_t most = 32764;
  constexpr Version large_parameters{8, 1};
  constexpr int large_parameters_sm = 70;
  const std::uint64_t bytes = unit.reached.kernel().function->parameter_offsets().back();
  const std::uint64_t together = (bytes + 7) / 8 * 8 + unit.hidden.bytes();
  if (together <= most_of_old_versions) return success();
  if (together > most || unit.variant.target.sm < large_parameters_sm) {
    return failure("no room for the hidden parameter: the kernel's own parameters take " +
                   std::to_string(bytes) + " bytes, and with it they would take " + std::to_string(together));
  }
  unit.variant.version = std::max(unit.variant.version, large_parameters);
  return success();
}

void append_parameter(InstrumentationUnit& unit, const Function& function, const std::string& parameter) {
  if (function.parameter_list.empty()) {
    unit.edits.insert_before(function.name_text.end, "(\n\t" + parameter + "\n)");
    return;
  }
  const bool first = function.parameters.empty();
  unit.edits.insert_before(function.parameter_list.end - 1, (first ? "\n\t" : ",\n\t") + parameter + "\n");
}

/// The callee is the first operand that is not a list: call (results), callee, (arguments);
void append_argument(InstrumentationUnit& unit, const Function& caller, const Instruction& call) {
  const std::string argument(call_argument);
  CodeBuilder code(unit.edits.names(caller));
  code.open_scope();
  code.add_text(".param .b64 " + argument + ";");
  code.emit("st.param.b64", {CodeAddress{Name{argument}}, *unit.thread_registers(caller).frame});
  unit.edits.insert_before(call.text.begin, code.take());
  const Operand* const callee = std::ranges::find(call.operands, OperandKind::identifier, &Operand::kind);
  const Operand* const arguments = std::find_if(
      callee, call.operands.end(), [](const Operand& operand) { return operand.kind == OperandKind::list; });
  if (arguments != call.operands.end()) {
    unit.edits.insert_before(arguments->text.end - 1, (arguments->elements.empty() ? "" : ", ") + argument);
  } else {
    unit.edits.insert_before(callee->text.end, ", (" + argument + ")");
  }
  code.close_scope();
  unit.edits.insert_before(call.text.end, code.take());
}

void pass_frame(InstrumentationUnit& unit, const FunctionUnit& caller) {
  for (const Instruction& call : caller.function->body->instructions) {
    if (call.traits.kind != OpcodeClass::call) continue;
    const FunctionUnit* const callee = unit.reached.find(direct_callee(unit.module, call));
    if (callee != nullptr && callee->instrumented) append_argument(unit, *caller.function, call);
  }
}

}  // namespace

Status add_hidden_parameter(InstrumentationUnit& unit) {
  if (unit.hidden.size() != 0) {
    if (Status fits = make_room(unit); !fits) return fits;
    const std::string parameter = ".param .align 8 .b8 " + std::string(probe_parameter) + "[" +
                                  std::to_string(unit.hidden.bytes()) + "]";
    for (const Function& function : unit.module.functions) {  // including forward declarations
      if (function.name == unit.reached.kernel().function->name) append_parameter(unit, function, parameter);
    }
  }
  if (!unit.needs_frame()) return success();
  const std::string parameter = ".param .b64 " + std::string(frame_parameter);
  for (const Function& function : unit.module.functions) {  // including the declarations of aliases
    const FunctionUnit* const known = unit.reached.find(unit.module.find_function(function.name)->name);
    if (known != nullptr && known->instrumented && !known->function->is_entry)
      append_parameter(unit, function, parameter);
  }
  for (const FunctionUnit& caller : unit.reached.instrumented()) pass_frame(unit, caller);
  return success();
}

}  // namespace lynxpp::ptx
