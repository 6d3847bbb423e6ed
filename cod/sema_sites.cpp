// Functions of ON_REPORT about the kernel's instructions and basic blocks.
#include "cod/analyser.h"

namespace lynxpp::cod {

/// instructionIs(i, LABEL, …), opcode(i), blockFirstInstruction(b), …
Type Analyser::site_call(Expression& expression, const ApiFunction& api) {
  const std::string what = std::string(api.name) + "()";
  Expression& index = *expression.operands[0];
  const Type type = value(index);
  if (type != Type::none) require_integer(index, type, what);
  if (api.arguments != ApiArguments::instruction_labels) return api.result;
  InstructionFilter filter;
  for (std::size_t i = 1; i < expression.operands.size(); ++i) {
    const Expression& label = *expression.operands[i];
    if (label.kind == ExpressionKind::name && add_filter(label.text, filter)) continue;
    const bool is_name = label.kind == ExpressionKind::name;
    error(label.position, what + " compares with filter labels",
          is_name ? suggestion(label.text, filter_names()) : "write 'instructionIs(i, MEM_READ, GLOBAL)'");
  }
  expression.value = pack(filter);
  return api.result;
}

}  // namespace lynxpp::cod
