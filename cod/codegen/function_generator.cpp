#include "cod/codegen/function_generator.h"

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

/// A bool is kept as a byte, so that pointers to it are pointers to bytes.
llvm::Value* FunctionGenerator::load_slot(llvm::AllocaInst* slot, Type type) {
  llvm::Value* value = builder_.CreateLoad(storage_type(type), slot);
  return type == Type::boolean ? builder_.CreateICmpNE(value, builder_.getInt8(0)) : value;
}

void FunctionGenerator::store_slot(llvm::AllocaInst* slot, llvm::Value* value, Type type) {
  builder_.CreateStore(type == Type::boolean ? builder_.CreateZExt(value, builder_.getInt8Ty()) : value,
                       slot);
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
  frames_.push_back({exit_, nullptr, nullptr, Type::nothing});
  builder_.SetInsertPoint(body);
  begin_body();
  for (const Statement* each : statements) statement(*each);
  branch_to(exit_);
  frames_.pop_back();
  llvm::IRBuilder<>(entry_).CreateBr(body);
  builder_.SetInsertPoint(exit_);
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
    case StatementKind::break_loop:
      builder_.CreateBr(loops_.back().end);
      // What follows cannot be reached; LLVM drops it.
      return builder_.SetInsertPoint(new_block("unreached"));
    case StatementKind::continue_loop:
      builder_.CreateBr(loops_.back().next);
      return builder_.SetInsertPoint(new_block("unreached"));
    case StatementKind::return_value: return return_statement(statement);
    case StatementKind::switch_case: return switch_statement(statement);
    case StatementKind::case_label: return case_label(statement);
  }
}

void FunctionGenerator::declaration(const Statement& statement) {
  for (const Declarator& declarator : statement.declarators) {
    const Symbol& symbol = *declarator.symbol;
    if (symbol.kind == Symbol::Kind::constant) continue;
    if (symbol.type == Type::pointer) {
      store_pointer(symbol, declarator.initializer ? pointer(*declarator.initializer) : null_pointer());
      continue;
    }
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
  if (symbol.kind == Symbol::Kind::record) return;
  llvm::AllocaInst* slot = slot_of(symbol, true);
  if (symbol.kind != Symbol::Kind::array) {
    store_slot(slot, zero(symbol.type), symbol.type);
    return;
  }
  const std::uint64_t bytes = module_.getDataLayout().getTypeAllocSize(slot->getAllocatedType());
  builder_.CreateMemSet(slot, builder_.getInt8(0), bytes, slot->getAlign());
}

void FunctionGenerator::switch_statement(const Statement& statement) {
  const Type type = promote(statement.condition->type);
  llvm::Value* value = expression_as(*statement.condition, type);
  llvm::BasicBlock* end = new_block("endswitch");
  switches_.push_back({builder_.CreateSwitch(value, end), type});
  loops_.push_back({loops_.empty() ? nullptr : loops_.back().next, end});
  builder_.SetInsertPoint(new_block("unreached"));
  this->statement(*statement.children[0]);
  branch_to(end);
  loops_.pop_back();
  switches_.pop_back();
  builder_.SetInsertPoint(end);
}

void FunctionGenerator::case_label(const Statement& statement) {
  llvm::BasicBlock* here = new_block("case");
  branch_to(here);
  builder_.SetInsertPoint(here);
  const Switch& innermost = switches_.back();
  if (statement.condition == nullptr) {
    innermost.instruction->setDefaultDest(here);
  } else {
    // A constant expression: IRBuilder has folded it.
    auto* value = llvm::dyn_cast<llvm::ConstantInt>(expression_as(*statement.condition, innermost.type));
    if (value != nullptr) innermost.instruction->addCase(value, here);
  }
  this->statement(*statement.children[0]);
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
  } else if (statement.expression && frame.variable != nullptr) {
    store_pointer(*frame.variable, pointer(*statement.expression));
  } else if (statement.expression) {
    static_cast<void>(expression(*statement.expression));  // copies a structure
  }
  builder_.CreateBr(frame.end);
  builder_.SetInsertPoint(new_block("unreached"));
}

llvm::Value* FunctionGenerator::helper_call(const Expression& expression) {
  Frame frame;
  expand(expression, frame);
  return frame.result != nullptr ? builder_.CreateLoad(llvm_type(frame.type), frame.result) : nullptr;
}

/// A helper is expanded where it is called, with variables of its own for every call.
void FunctionGenerator::expand(const Expression& call, Frame& frame) {
  const Symbol& symbol = *call.symbol;
  const Function& function = *symbol.function;
  std::vector<llvm::Value*> numbers;
  std::vector<Pointer> pointers;
  for (std::size_t i = 0; i < function.parameters.size(); ++i) {
    const Type type = function.parameters[i]->type;
    pointers.push_back(type == Type::pointer ? pointer(*call.operands[i]) : Pointer{});
    // A structure's argument is a copy, made for its effect.
    numbers.push_back(type == Type::pointer ? nullptr : expression_as(*call.operands[i], type));
  }
  for (std::size_t i = 0; i < function.parameters.size(); ++i) {
    const Symbol& parameter = *function.parameters[i];
    if (parameter.type == Type::pointer) {
      store_pointer(parameter, pointers[i]);
    } else if (parameter.type != Type::structure) {
      store_slot(slot_of(parameter, true), numbers[i], parameter.type);
    }
  }
  set_up(call);
  frame.end = new_block("returned");
  frame.type = symbol.type;
  if (symbol.type == Type::pointer) {
    frame.variable = function.result;
    store_pointer(*frame.variable, null_pointer());
  } else if (is_arithmetic(symbol.type)) {
    frame.result = new_slot(llvm_type(symbol.type), symbol.name);
    builder_.CreateStore(zero(symbol.type), frame.result);
  } else if (symbol.type == Type::structure) {
    set_to_zero(*function.result);
  }
  std::vector<Loop> outer_loops;
  std::vector<Switch> outer_switches;
  outer_loops.swap(loops_);
  outer_switches.swap(switches_);
  frames_.push_back(frame);
  for (const StatementPtr& child : function.item->body->children) statement(*child);
  frames_.pop_back();
  loops_.swap(outer_loops);
  switches_.swap(outer_switches);
  builder_.CreateBr(frame.end);
  builder_.SetInsertPoint(frame.end);
}

void FunctionGenerator::set_up(const Expression& expression) {
  for (const ExpressionPtr& each : expression.setup) static_cast<void>(this->expression(*each));
}

/// A variable's slot is zero from the start: a jump into a switch may pass by its declaration.
llvm::AllocaInst* FunctionGenerator::slot_of(const Symbol& symbol, bool assigned) {
  if (symbol.kind == Symbol::Kind::state || symbol.memory == Symbol::Memory::thread)
    return state_slot(symbol, assigned);
  llvm::AllocaInst*& slot = slots_[&symbol];
  if (slot != nullptr) return slot;
  llvm::IRBuilder<> entry(entry_);
  if (symbol.kind == Symbol::Kind::array) {
    std::uint64_t count = 1;
    for (const Dimension& dimension : symbol.dimensions) count *= dimension.constant;
    auto* type = llvm::ArrayType::get(storage_type(symbol.type), count);
    slot = new_slot(type, symbol.name);
    entry.CreateMemSet(slot, entry.getInt8(0), module_.getDataLayout().getTypeAllocSize(type),
                       slot->getAlign());
  } else {
    slot = new_slot(storage_type(symbol.type), symbol.name);
    entry.CreateStore(llvm::Constant::getNullValue(slot->getAllocatedType()), slot);
  }
  return slot;
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
