#include "cod/ast.h"

namespace lynxpp::cod {

ExpressionPtr clone(const Expression& expression) {
  auto result = std::make_unique<Expression>();
  result->kind = expression.kind;
  result->op = expression.op;
  result->type = expression.type;
  result->position = expression.position;
  result->text = expression.text;
  result->structure = expression.structure;
  result->value = expression.value;
  result->real = expression.real;
  result->symbol = expression.symbol;
  result->api = expression.api;
  result->extent = expression.extent;
  result->elected = expression.elected;
  result->discarded = expression.discarded;
  for (const ExpressionPtr& operand : expression.operands) result->operands.push_back(clone(*operand));
  return result;
}

}  // namespace lynxpp::cod
