// Functions about instructions and basic blocks: by index in ON_REPORT, about the handler's site on the
// device.
#include "cod/sema/analyser.h"
#include "cod/sema/constant.h"

namespace lynxpp::cod {

/// Selects between two functions with this name: about the handler's site, or about an instruction by its
/// index.
const ApiFunction& overload_for(const Expression& call, const ApiFunction& here) {
  const bool has_number = !call.operands.empty() && (call.operands[0]->kind != ExpressionKind::name ||
                                                     !is_label(call.operands[0]->text));
  return has_number ? overload_of(here) : here;
}

/// instructionIs(i, LABEL, …), opcode(i), blockFirstInstruction(b), …
Type Analyser::site_call(Expression& expression, const ApiFunction& api) {
  if (api.arguments == ApiArguments::labels) {
    label_arguments(expression, api, 0);
    return api.result;
  }
  Expression& index = *expression.operands[0];
  const Type type = value(index);
  if (type != Type::none) require_integer(index, type, api.call());
  program_.asks_for_boxes |= api.api == Api::box_bytes || api.api == Api::box_lines;
  if (api.arguments == ApiArguments::instruction_labels) label_arguments(expression, api, 1);
  return api.result;
}

void Analyser::label_arguments(Expression& expression, const ApiFunction& api, std::size_t first) {
  InstructionFilter filter;
  for (std::size_t i = first; i < expression.operands.size(); ++i) {
    const Expression& label = *expression.operands[i];
    const bool is_name = label.kind == ExpressionKind::name;
    if (is_name && add_filter(label.text, filter)) continue;
    error(label.position, api.call() + " takes filter labels",
          is_name ? suggestion(label.text, filter_names()) : "write 'instructionIs(i, MEM_READ, GLOBAL)'");
  }
  program_.uses_transfer_labels |= filter.transfers != 0;
  expression.value = pack(filter);
}

/// allocationId(address), deviceWord(address)
Type Analyser::address_call(Expression& expression, const ApiFunction& api) {
  Expression& address = *expression.operands[0];
  const Type type = value(address);
  if (type != Type::none) require_integer(address, type, api.call());
  program_.lists_arrays = true;
  if (api.api == Api::device_word) {
    used_extents_.insert(Extent::device_words);
  } else {
    program_.finds_allocations = true;
  }
  return api.result;
}

/// loadedValue(k): the element must be known when the routine is compiled.
Type Analyser::position_call(Expression& expression, const ApiFunction& api) {
  constexpr std::uint64_t most = 64;
  expression.value = 0;
  if (expression.operands.empty()) return api.result;
  Expression& position = *expression.operands[0];
  const std::string problem = api.call() + " takes a constant from 0 to " + std::to_string(most - 1);
  const auto constant = constant_integer(position, problem);
  if (constant && constant->integer >= most) error(position.position, problem);
  if (constant) expression.value = constant->integer;
  return api.result;
}

}  // namespace lynxpp::cod
