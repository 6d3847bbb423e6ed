#include "cod/function_generator.h"

namespace lynxpp::cod {

FunctionGenerator::FunctionGenerator(llvm::Module& module, const Program& program)
    : module_(module), context_(module.getContext()), program_(program), builder_(module.getContext()) {}

llvm::BasicBlock* FunctionGenerator::new_block(const char* name) {
  return llvm::BasicBlock::Create(context_, name, function_);
}

llvm::AllocaInst* FunctionGenerator::new_slot(llvm::Type* type, const std::string& name) {
  llvm::IRBuilder<> entry(entry_);
  return entry.CreateAlloca(type, nullptr, name);
}

void FunctionGenerator::branch_to(llvm::BasicBlock* block) {
  if (builder_.GetInsertBlock()->getTerminator() == nullptr) builder_.CreateBr(block);
}

void FunctionGenerator::generate_body(llvm::Function& function,
                                      const std::vector<const Statement*>& statements) {
  function_ = &function;
  entry_ = new_block("entry");
  llvm::BasicBlock* body = new_block("body");
  exit_ = new_block("exit");
  frames_.push_back({exit_, nullptr, Type::nothing});
  builder_.SetInsertPoint(body);
  for (const Statement* each : statements) statement(*each);
  branch_to(exit_);
  frames_.pop_back();
  llvm::IRBuilder<>(entry_).CreateBr(body);
  builder_.SetInsertPoint(exit_);
}

void FunctionGenerator::statement(const Statement& statement) {
  switch (statement.kind) {
    case StatementKind::empty: return;
    case StatementKind::block:
      for (const StatementPtr& child : statement.children) this->statement(*child);
      return;
    case StatementKind::declaration: return declaration(statement);
    case StatementKind::expression: static_cast<void>(expression(*statement.expression)); return;
    case StatementKind::if_else: return if_statement(statement);
    case StatementKind::while_loop:
    case StatementKind::do_loop:
    case StatementKind::for_loop: return loop_statement(statement);
    case StatementKind::break_loop:
      builder_.CreateBr(loops_.back().end);
      // What follows cannot be reached; LLVM drops it.
      return builder_.SetInsertPoint(new_block("unreached"));
    case StatementKind::continue_loop:
      builder_.CreateBr(loops_.back().next);
      return builder_.SetInsertPoint(new_block("unreached"));
    case StatementKind::return_value: return return_statement(statement);
  }
}

void FunctionGenerator::declaration(const Statement& statement) {
  for (const Declarator& declarator : statement.declarators) {
    const Type type = declarator.symbol->type;
    llvm::Value* value = declarator.initializer ? expression_as(*declarator.initializer, type) : zero(type);
    builder_.CreateStore(value, slot_of(*declarator.symbol, true));
  }
}

void FunctionGenerator::if_statement(const Statement& statement) {
  llvm::Value* condition = truth(*statement.condition);
  llvm::BasicBlock* then = new_block("then");
  llvm::BasicBlock* otherwise = statement.children.size() > 1 ? new_block("else") : nullptr;
  llvm::BasicBlock* end = new_block("endif");
  builder_.CreateCondBr(condition, then, otherwise != nullptr ? otherwise : end);
  builder_.SetInsertPoint(then);
  this->statement(*statement.children[0]);
  branch_to(end);
  if (otherwise != nullptr) {
    builder_.SetInsertPoint(otherwise);
    this->statement(*statement.children[1]);
    branch_to(end);
  }
  builder_.SetInsertPoint(end);
}

void FunctionGenerator::loop_statement(const Statement& statement) {
  if (statement.children.size() > 1) this->statement(*statement.children[1]);
  llvm::BasicBlock* test = new_block("test");
  llvm::BasicBlock* body = new_block("loop");
  llvm::BasicBlock* step = statement.kind == StatementKind::for_loop ? new_block("step") : test;
  llvm::BasicBlock* end = new_block("endloop");
  builder_.CreateBr(statement.kind == StatementKind::do_loop ? body : test);
  builder_.SetInsertPoint(test);
  if (statement.condition) {
    builder_.CreateCondBr(truth(*statement.condition), body, end);
  } else {
    builder_.CreateBr(body);
  }
  builder_.SetInsertPoint(body);
  loops_.push_back({step, end});
  this->statement(*statement.children[0]);
  loops_.pop_back();
  branch_to(step);
  if (step != test) {
    builder_.SetInsertPoint(step);
    if (statement.expression) static_cast<void>(expression(*statement.expression));
    builder_.CreateBr(test);
  }
  builder_.SetInsertPoint(end);
}

void FunctionGenerator::return_statement(const Statement& statement) {
  const Frame frame = frames_.back();
  if (statement.expression && frame.result != nullptr) {
    builder_.CreateStore(expression_as(*statement.expression, frame.type), frame.result);
  }
  builder_.CreateBr(frame.end);
  builder_.SetInsertPoint(new_block("unreached"));
}

/// A helper is expanded where it is called, with variables of its own for every call.
llvm::Value* FunctionGenerator::helper_call(const Expression& expression) {
  const Symbol& symbol = *expression.symbol;
  const Function& function = *symbol.function;
  std::vector<llvm::Value*> arguments;
  for (std::size_t i = 0; i < function.parameters.size(); ++i) {
    arguments.push_back(expression_as(*expression.operands[i], function.parameters[i]->type));
  }
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    builder_.CreateStore(arguments[i], slot_of(*function.parameters[i], true));
  }
  Frame frame{new_block("returned"), nullptr, symbol.type};
  if (symbol.type != Type::nothing) {
    frame.result = new_slot(llvm_type(symbol.type), symbol.name);
    builder_.CreateStore(zero(symbol.type), frame.result);
  }
  std::vector<Loop> outer_loops;
  outer_loops.swap(loops_);
  frames_.push_back(frame);
  for (const StatementPtr& child : function.item->body->children) statement(*child);
  frames_.pop_back();
  loops_.swap(outer_loops);
  builder_.CreateBr(frame.end);
  builder_.SetInsertPoint(frame.end);
  return frame.result != nullptr ? builder_.CreateLoad(llvm_type(symbol.type), frame.result) : nullptr;
}

llvm::AllocaInst* FunctionGenerator::slot_of(const Symbol& symbol, bool assigned) {
  if (symbol.kind == Symbol::Kind::state) return state_slot(symbol, assigned);
  llvm::AllocaInst*& slot = slots_[&symbol];
  if (slot == nullptr) slot = new_slot(llvm_type(symbol.type), symbol.name);
  return slot;
}

}  // namespace lynxpp::cod
