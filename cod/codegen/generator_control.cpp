// Control flow. A GPU reconverges the lanes of a warp where all paths from a branch join. Therefore no jump
// leaves more than one list of statements at a time: it branches to that list's end, where the lanes that
// jump further diverge from those that stay. All lanes that execute a statement then reach it together.
#include <algorithm>

#include "cod/codegen/function_generator.h"

namespace lynxpp::cod {
namespace {

bool is_jump(const Statement& statement) {
  return statement.kind == StatementKind::break_loop || statement.kind == StatementKind::continue_loop ||
         statement.kind == StatementKind::return_value;
}

/// True if some lanes may leave a part of an `if` while others reach its end. A jump directly in the part is
/// the last statement of all its lanes.
bool parts_lanes(const Statement& part) {
  if (part.kind == StatementKind::block) {
    return std::ranges::any_of(part.children, [](const StatementPtr& child) { return parts_lanes(*child); });
  }
  return !is_jump(part) && exits_of(part).any();
}

/// True if it contains labels of a switch, excluding nested switches.
bool contains_label(const Statement& statement) {
  if (statement.kind == StatementKind::case_label) return true;
  return statement.kind != StatementKind::switch_case &&
         std::ranges::any_of(statement.children,
                             [](const StatementPtr& child) { return contains_label(*child); });
}

const Statement& behind_labels(const Statement& statement) {
  return statement.kind == StatementKind::case_label ? behind_labels(*statement.children[0]) : statement;
}

/// True if the labels of a switch are in its own list of statements, not in nested loops or blocks.
bool has_plain_labels(const Statement& body) {
  if (body.kind != StatementKind::block) return !contains_label(behind_labels(body));
  return std::ranges::none_of(
      body.children, [](const StatementPtr& child) { return contains_label(behind_labels(*child)); });
}

}  // namespace

// ---------------------------------------------------------------- jumps

llvm::AllocaInst* FunctionGenerator::jump_slot() {
  if (jump_ == nullptr) jump_ = new_zero_slot(ir_.getInt8Ty(), "jump");
  return jump_;
}

/// Leaves the enclosing list of statements. In a part of an `if` it is the last statement, so the enclosing
/// list continues without these lanes immediately.
void FunctionGenerator::jump(Jump kind) {
  llvm::Value* number = ir_.getInt8(static_cast<std::uint8_t>(kind));
  ir_.CreateStore(number, jump_slot());
  const Level& left = levels_.back().is_part ? levels_[levels_.size() - 2] : levels_.back();
  ir_.CreateBr(left.end);
  // The code that follows is unreachable; LLVM removes it.
  ir_.SetInsertPoint(new_block("unreached"));
}

/// Emitted after a statement that some lanes jump out of: those branch to `end`.
void FunctionGenerator::part_from_jumping(llvm::BasicBlock* end) {
  llvm::Value* kind = ir_.CreateLoad(ir_.getInt8Ty(), jump_slot());
  llvm::BasicBlock* stay = new_block("stay");
  leave_if(join_lanes(ir_.CreateIsNotNull(kind)), end, stay);
}

/// Resets the slot once a jump of this kind has reached its target.
void FunctionGenerator::forget_jump(Jump kind) {
  llvm::Value* number = ir_.CreateLoad(ir_.getInt8Ty(), jump_slot());
  llvm::Value* is_over = ir_.CreateICmpEQ(number, ir_.getInt8(static_cast<std::uint8_t>(kind)));
  ir_.CreateStore(ir_.CreateSelect(is_over, ir_.getInt8(0), number), jump_slot());
}

void FunctionGenerator::return_statement(const Statement& statement) {
  const Frame frame = frames_.back();
  if (statement.expression && frame.result != nullptr) {
    store_slot(frame.result, expression_as(*statement.expression, frame.type), frame.type);
  } else if (statement.expression) {
    static_cast<void>(expression(*statement.expression));  // copies a structure
  }
  jump(Jump::returns);
}

// ---------------------------------------------------------------- if, loops

void FunctionGenerator::if_part(const Statement& statement, llvm::BasicBlock* end) {
  levels_.push_back({end, true});
  this->statement(statement);
  levels_.pop_back();
  ir_.CreateBr(end);
}

void FunctionGenerator::if_statement(const Statement& statement) {
  llvm::Value* condition = truth(*statement.condition);
  const auto& parts = statement.children;
  llvm::BasicBlock* then = new_block("then");
  llvm::BasicBlock* otherwise = parts.size() > 1 ? new_block("else") : nullptr;
  llvm::BasicBlock* end = new_block("endif");
  const auto asks = [](const StatementPtr& part) { return asks_about_lanes(*part); };
  if (std::ranges::any_of(parts, asks) || exits_of(statement).any()) condition = join_lanes(condition);
  branch(condition, then, otherwise != nullptr ? otherwise : end);
  if_part(*parts[0], end);
  if (otherwise != nullptr) {
    ir_.SetInsertPoint(otherwise);
    if_part(*parts[1], end);
  }
  ir_.SetInsertPoint(end);
  if (std::ranges::any_of(parts, [](const StatementPtr& part) { return parts_lanes(*part); }))
    part_from_jumping(levels_.back().end);
}

void FunctionGenerator::loop_statement(const Statement& statement) {
  const Statement& repeated = *statement.children[0];
  if (statement.children.size() > 1) this->statement(*statement.children[1]);
  llvm::BasicBlock* test = new_block("test");
  llvm::BasicBlock* body = new_block("loop");
  llvm::BasicBlock* step = statement.kind == StatementKind::for_loop ? new_block("step") : test;
  llvm::BasicBlock* end = new_block("endloop");
  const bool jumps = exits_of(repeated).any();
  ir_.CreateBr(statement.kind == StatementKind::do_loop ? body : test);
  ir_.SetInsertPoint(test);
  if (statement.condition) {
    llvm::Value* condition = truth(*statement.condition);
    if (asks_about_lanes(statement)) condition = join_lanes(condition);
    ir_.CreateCondBr(condition, body, end);
  } else {
    ir_.CreateBr(body);
  }
  ir_.SetInsertPoint(body);
  begin_round(statement);
  // Lanes that leave the loop during an iteration must not keep lanes that start the next one from
  // reconverging.
  llvm::BasicBlock* round_end = exits_of(repeated).continues ? new_block("endround") : nullptr;
  levels_.push_back({round_end != nullptr ? round_end : end, false});
  this->statement(repeated);
  levels_.pop_back();
  if (round_end != nullptr) {
    go_to(round_end);
    forget_jump(Jump::continues);
    part_from_jumping(end);
  }
  if (step != test) {
    go_to(step);
    if (statement.expression) static_cast<void>(expression(*statement.expression));
  }
  ir_.CreateBr(test);
  ir_.SetInsertPoint(end);
  if (jumps) forget_jump(Jump::breaks);
  if (exits_of(statement).any()) part_from_jumping(levels_.back().end);
}

// ---------------------------------------------------------------- switch

void FunctionGenerator::switch_statement(const Statement& statement) {
  const Statement& body = *statement.children[0];
  if (depends_on_lanes() && (asks_about_lanes(body) || exits_of(statement).any()) && has_plain_labels(body))
    return switch_in_sections(statement);
  const Type type = promote(statement.condition->type);
  llvm::Value* value = expression_as(*statement.condition, type);
  llvm::BasicBlock* end = new_block("endswitch");
  switches_.push_back({ir_.CreateSwitch(value, end), type});
  levels_.push_back({end, false});
  ir_.SetInsertPoint(new_block("unreached"));
  this->statement(body);
  levels_.pop_back();
  switches_.pop_back();
  go_to(end);
  if (exits_of(body).any()) forget_jump(Jump::breaks);
  if (exits_of(statement).any()) part_from_jumping(levels_.back().end);
}

void FunctionGenerator::case_label(const Statement& statement) {
  llvm::BasicBlock* here = new_block("case");
  go_to(here);
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

/// The statements between two labels. Statements before the first label are unreachable.
std::vector<FunctionGenerator::Section> FunctionGenerator::sections_of(const Statement& body) {
  std::vector<Section> sections;
  const auto add = [&](const Statement& statement) {
    const Statement* each = &statement;
    for (; each->kind == StatementKind::case_label; each = each->children[0].get()) {
      if (sections.empty() || !sections.back().statements.empty()) sections.emplace_back();
      sections.back().values.push_back(each->condition.get());
    }
    if (!sections.empty()) sections.back().statements.push_back(each);
  };
  if (body.kind != StatementKind::block) {
    add(body);
  } else {
    for (const StatementPtr& child : body.children) add(*child);
  }
  return sections;
}

/// Emits section after section, each for the lanes that start there or arrive from the previous one. A tree
/// of comparisons would send lanes to one label by several paths.
void FunctionGenerator::switch_in_sections(const Statement& statement) {
  const std::vector<Section> sections = sections_of(*statement.children[0]);
  const Type type = promote(statement.condition->type);
  llvm::Value* value = expression_as(*statement.condition, type);
  llvm::Value* first = i32(static_cast<std::uint32_t>(sections.size()));
  for (const bool is_default : {true, false}) {
    for (std::uint32_t i = 0; i < sections.size(); ++i) {
      for (const Expression* label : sections[i].values) {
        if (is_default != (label == nullptr)) continue;
        llvm::Value* number = i32(i);
        first = is_default
                    ? number
                    : ir_.CreateSelect(ir_.CreateICmpEQ(value, expression_as(*label, type)), number, first);
      }
    }
  }
  for (std::uint32_t i = 0; i < sections.size(); ++i) {
    llvm::BasicBlock* inside = new_block("section");
    llvm::BasicBlock* end = new_block("endsection");
    llvm::Value* has_jumped = ir_.CreateLoad(ir_.getInt8Ty(), jump_slot());
    llvm::Value* enters = ir_.CreateAnd(ir_.CreateICmpULE(first, i32(i)), ir_.CreateIsNull(has_jumped));
    branch(join_lanes(enters), inside, end);
    levels_.push_back({end, false});
    for (const Statement* each : sections[i].statements) this->statement(*each);
    levels_.pop_back();
    go_to(end);
  }
  forget_jump(Jump::breaks);
  if (exits_of(statement).any()) part_from_jumping(levels_.back().end);
}

}  // namespace lynxpp::cod
