#include "cod/codegen/function_generator.h"

namespace lynxpp::cod {

FunctionGenerator::FunctionGenerator(llvm::Module& module, const Program& program)
    : module_(module), context_(module.getContext()), program_(program), ir_(module.getContext()) {}

llvm::BasicBlock* FunctionGenerator::new_block(const char* name) {
  return llvm::BasicBlock::Create(context_, name, function_);
}

llvm::AllocaInst* FunctionGenerator::new_slot(llvm::Type* type, const std::string& name) {
  llvm::IRBuilder<> entry(entry_);
  return entry.CreateAlloca(type, nullptr, name);
}

llvm::AllocaInst* FunctionGenerator::new_zero_slot(llvm::Type* type, const std::string& name) {
  llvm::AllocaInst* slot = new_slot(type, name);
  llvm::IRBuilder<> entry(entry_);
  store_zero(entry, slot);
  return slot;
}

/// A bool is stored as a byte, so that pointers to it are pointers to bytes.
llvm::Value* FunctionGenerator::load_slot(llvm::AllocaInst* slot, Type type) {
  llvm::Value* value = ir_.CreateLoad(slot->getAllocatedType(), slot);
  return type == Type::boolean ? ir_.CreateIsNotNull(value) : value;
}

void FunctionGenerator::store_slot(llvm::AllocaInst* slot, llvm::Value* value, Type type) {
  ir_.CreateStore(type == Type::boolean ? ir_.CreateZExt(value, ir_.getInt8Ty()) : value, slot);
}

void FunctionGenerator::go_to(llvm::BasicBlock* block) {
  ir_.CreateBr(block);
  ir_.SetInsertPoint(block);
}

void FunctionGenerator::branch(llvm::Value* condition, llvm::BasicBlock* then, llvm::BasicBlock* otherwise) {
  ir_.CreateCondBr(condition, then, otherwise);
  ir_.SetInsertPoint(then);
}

llvm::Value* FunctionGenerator::value_where(llvm::Value* condition, llvm::Value* otherwise,
                                            const MakeValue& inside) {
  return either(condition, inside, [otherwise] { return otherwise; });
}

llvm::Value* FunctionGenerator::either(llvm::Value* condition, const MakeValue& then,
                                       const MakeValue& otherwise) {
  llvm::BasicBlock* first = new_block("then");
  llvm::BasicBlock* second = new_block("else");
  llvm::BasicBlock* end = new_block("chosen");
  branch(condition, first, second);
  llvm::Value* left = then();
  llvm::BasicBlock* left_end = ir_.GetInsertBlock();
  ir_.CreateBr(end);
  ir_.SetInsertPoint(second);
  llvm::Value* right = otherwise();
  llvm::BasicBlock* right_end = ir_.GetInsertBlock();
  go_to(end);
  llvm::PHINode* phi = ir_.CreatePHI(left->getType(), 2);
  phi->addIncoming(left, left_end);
  phi->addIncoming(right, right_end);
  return phi;
}

void FunctionGenerator::continue_if(llvm::Value* condition, llvm::BasicBlock* otherwise) {
  branch(condition, new_block("continued"), otherwise);
}

void FunctionGenerator::leave_if(llvm::Value* condition, llvm::BasicBlock* target, llvm::BasicBlock* next) {
  ir_.CreateCondBr(condition, target, next);
  ir_.SetInsertPoint(next);
}

void FunctionGenerator::generate_body(llvm::Function& function,
                                      const std::vector<const Statement*>& statements) {
  function_ = &function;
  entry_ = new_block("entry");
  llvm::BasicBlock* body = new_block("body");
  exit_ = new_block("exit");
  levels_.push_back({exit_, false});
  frames_.emplace_back();
  ir_.SetInsertPoint(body);
  begin_body();
  for (const Statement* each : statements) statement(*each);
  go_to(exit_);
  frames_.pop_back();
  levels_.pop_back();
  llvm::IRBuilder<>(entry_).CreateBr(body);
}

void FunctionGenerator::statement(const Statement& statement) {
  if (statement.is_counted && skips_counted_) return;
  if (statement.tally != 0 && skips_counted_) return add_to_tally(statement);
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
    case StatementKind::break_loop: return jump(Jump::breaks);
    case StatementKind::continue_loop: return jump(Jump::continues);
    case StatementKind::return_value: return return_statement(statement);
    case StatementKind::switch_case: return switch_statement(statement);
    case StatementKind::case_label: return case_label(statement);
  }
}

void FunctionGenerator::declaration(const Statement& statement) {
  for (const Declarator& declarator : statement.declarators) {
    const Symbol& symbol = *declarator.symbol;
    if (symbol.kind == Symbol::Kind::constant) continue;
    if (symbol.kind == Symbol::Kind::local && declarator.initializer) {
      store_slot(slot_of(symbol, true), expression_as(*declarator.initializer, symbol.type), symbol.type);
      continue;
    }
    set_to_zero(symbol);
    for (const ExpressionPtr& each : declarator.assignments) static_cast<void>(expression(*each));
  }
}

void FunctionGenerator::set_to_zero(const Symbol& symbol) {
  for (const auto& [name, field] : symbol.fields) set_to_zero(*field);
  if (symbol.kind != Symbol::Kind::record) store_zero(ir_, slot_of(symbol, true));
}

void FunctionGenerator::store_zero(llvm::IRBuilder<>& code, llvm::AllocaInst* slot) {
  llvm::Type* const type = slot->getAllocatedType();
  if (!type->isArrayTy()) {
    code.CreateStore(llvm::Constant::getNullValue(type), slot);
  } else {
    code.CreateMemSet(slot, code.getInt8(0), module_.getDataLayout().getTypeAllocSize(type),
                      slot->getAlign());
  }
}

/// Expands a helper at its call site, with separate variables for every call.
llvm::Value* FunctionGenerator::helper_call(const Expression& call) {
  const Symbol& symbol = *call.symbol;
  const Function& function = *symbol.function;
  std::vector<llvm::Value*> values;
  for (std::size_t i = 0; i < function.parameters.size(); ++i)
    values.push_back(expression_as(*call.operands[i], function.parameters[i]->type));
  for (std::size_t i = 0; i < function.parameters.size(); ++i) {
    const Symbol& parameter = *function.parameters[i];
    // A structure argument is a copy, evaluated for its side effect.
    if (parameter.type != Type::structure) store_slot(slot_of(parameter, true), values[i], parameter.type);
  }
  set_up(call);
  Frame frame{nullptr, symbol.type};
  if (symbol.type == Type::structure) {
    set_to_zero(*function.result);
  } else if (symbol.type != Type::nothing) {
    frame.result = new_slot(storage_type(symbol), symbol.name);
    ir_.CreateStore(llvm::Constant::getNullValue(frame.result->getAllocatedType()), frame.result);
  }
  llvm::BasicBlock* end = new_block("returned");
  levels_.push_back({end, false});
  frames_.push_back(frame);
  for (const StatementPtr& child : function.item->body->children) statement(*child);
  frames_.pop_back();
  levels_.pop_back();
  go_to(end);
  if (exits_of(*function.item->body).returns) forget_jump(Jump::returns);
  return frame.result != nullptr ? load_slot(frame.result, frame.type) : nullptr;
}

void FunctionGenerator::set_up(const Expression& expression) {
  for (const ExpressionPtr& each : expression.setup) static_cast<void>(this->expression(*each));
}

/// A variable's slot is zero from the start, because a jump into a switch may skip its declaration.
llvm::AllocaInst* FunctionGenerator::slot_of(const Symbol& symbol, bool assigned) {
  if (symbol.kind == Symbol::Kind::state || symbol.memory == Symbol::Memory::thread)
    return state_slot(symbol, assigned);
  llvm::AllocaInst*& slot = slots_[&symbol];
  if (slot != nullptr) return slot;
  llvm::Type* type = symbol.kind == Symbol::Kind::array ? storage_type(symbol.type) : storage_type(symbol);
  if (symbol.kind == Symbol::Kind::array)
    type = llvm::ArrayType::get(type, constant_count(symbol.dimensions));
  return slot = new_zero_slot(type, symbol.name);
}

llvm::Value* FunctionGenerator::base_of(const Symbol& array, bool is_assigned) {
  switch (array.memory) {
    case Symbol::Memory::global: return array_base(array);
    case Symbol::Memory::local:
    case Symbol::Memory::thread: return slot_of(array, is_assigned);
    default: return variable_base(array);
  }
}

}  // namespace lynxpp::cod
