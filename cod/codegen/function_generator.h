// Lowers statements and expressions to LLVM IR, for device and host. DeviceGenerator and HostGenerator
// implement the differences: arrays, state, API functions. Exposes LLVM types: included by the code
// generators only.
//
// Arithmetic is C's, with every undefined case defined: signed overflow wraps, division by zero yields 0,
// shift counts are taken modulo the width, conversions from floating point saturate, variables start at zero.
#pragma once

#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Module.h>

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "cod/sema/lane_dependence.h"
#include "cod/sema/program.h"

namespace lynxpp::cod {

class FunctionGenerator {
 public:
  FunctionGenerator(llvm::Module& module, const Program& program);
  virtual ~FunctionGenerator() = default;
  FunctionGenerator(const FunctionGenerator&) = delete;
  FunctionGenerator& operator=(const FunctionGenerator&) = delete;

 protected:
  /// An element of an array: its address, and whether it exists (null: always).
  struct Element {
    llvm::Value* address = nullptr;
    llvm::Value* in_range = nullptr;
    Type type = Type::none;
    Symbol::Memory memory = Symbol::Memory::global;
    llvm::Value* is_shareable = nullptr;  ///< i1: other threads can access it; null: known from `memory`
  };
  /// A pointer is a struct value: the array that it was derived from, and an index into it, so that no access
  /// leaves the array. A null pointer is all zeros.
  enum PointerPart : unsigned {
    bases,        ///< an array with one pointer per scalar of the pointee
    count,        ///< i64: elements of the array
    index,        ///< i64
    is_shareable  ///< i1, see Element
  };

  /// A position in an array, in elements, and whether it exists (null: always).
  struct CheckedOffset {
    llvm::Value* offset = nullptr;
    llvm::Value* in_range = nullptr;
  };

  /// Creates `function`'s blocks "entry" (allocas and hoisted values), "body" and "exit", generates
  /// `statements`, and leaves the builder at the end of "exit".
  void generate_body(llvm::Function& function, const std::vector<const Statement*>& statements);

  // ---- differences between device and host
  virtual llvm::Value* array_base(const Symbol& array) = 0;  ///< pointer to element 0 of a global array
  virtual llvm::Value* variable_base(
      const Symbol& array) = 0;  ///< pointer to element 0 of a shared array or a table
  virtual llvm::Value* extent_value(Extent extent) = 0;  ///< i64
  virtual bool surely_in_range(const Expression& index, const Dimension& dimension);
  virtual void out_of_range(const Expression& element) = 0;  ///< records a dropped access
  virtual void division_by_zero(llvm::Value* is_zero, const Expression& expression) = 0;
  virtual llvm::AllocaInst* state_slot(const Symbol& state, bool assigned) = 0;  ///< also for arrays
  virtual llvm::Value* call_api(const Expression& call) = 0;
  /// Returns the index of `index`'s key in the arrays of a map, as an i64; all ones if it has no slot, which
  /// is counted if the map is full.
  virtual llvm::Value* find_entry(const Expression& index, const Collection& map, bool inserts) = 0;
  virtual void add_to_tally(const Statement&) {}  ///< statements with a tally: device only
  /// Called after the start of the body, before its first statement.
  virtual void begin_body() {}
  /// Called after the start of each iteration of a loop.
  virtual void begin_round(const Statement& /*loop*/) {}
  // ---- `a[i] op= x`, ++ and --, where several threads may conflict (atomics.cpp)
  using Update = std::function<llvm::Value*(llvm::Value*)>;  ///< the old value ▶ the new one
  virtual bool updates_atomically(const Expression& /*target*/) { return false; }
  virtual bool has_threads() const { return false; }
  enum class Wanted { nothing, old_value, new_value };
  virtual llvm::Value* add_atomically(const Element&, const Expression& /*target*/,
                                      const Expression& /*addend*/, bool /*subtracts*/, Wanted) {
    return nullptr;
  }
  virtual llvm::Value* swap_until_unchanged(const Element&, const Expression& /*target*/, bool /*yields_old*/,
                                            const Update&) {
    return nullptr;
  }
  /// Called for a plain assignment to an element of `array` by all active lanes.
  virtual void note_assignment(const Symbol& /*array*/, llvm::Value* /*value*/) {}
  // ---- active lanes (lanes_here.cpp)
  /// Reconverges the lanes that arrive by different paths, so that they diverge by the condition alone.
  /// Returns the value to branch on instead of the argument.
  virtual llvm::Value* join_lanes(llvm::Value* condition) { return condition; }
  virtual bool depends_on_lanes() const { return false; }  ///< true if join_lanes() emits code

  // ---- expressions (generator_expressions.cpp)
  llvm::Value* expression(const Expression& expression);  ///< of expression.type; null for void
  llvm::Value* expression_as(const Expression& expression, Type type);
  llvm::Value* truth(const Expression& expression);  ///< i1
  llvm::Value* convert(llvm::Value* value, Type from, Type to);
  llvm::Value* compare(Operator op, llvm::Value* left, llvm::Value* right, Type type);  ///< i1
  llvm::Type* llvm_type(Type type);
  /// asFloat(), isNan() and similar functions.
  llvm::Value* floating_call(const Expression& call);
  llvm::Type* storage_type(Type type);             ///< same as llvm_type, but i8 for bool
  llvm::Type* storage_type(const FullType& type);  ///< also for pointers
  /// `is_changed`: inserts the key into a map if it is missing.
  Element element(const Expression& index, bool is_changed = true);
  /// Linearizes the operands, one per dimension, from index `first`.
  CheckedOffset checked_offset(const std::vector<Dimension>& dimensions, const Expression& index,
                               std::size_t first = 0);
  llvm::Value* load(const Element& element, const Expression& place, bool counted);
  void store(const Element& element, llvm::Value* value, const Expression& place);
  llvm::Value* base_of(const Symbol& array, bool is_changed = true);
  std::vector<llvm::Value*> key_words(const Expression& index, const Collection& map);  ///< i64 each
  /// Runs `inside` if the element exists, else out_of_range() if `counted`. Leaves the builder after both.
  template <typename Inside>
  void when_in_range(const Element& element, const Expression& place, bool counted, Inside inside);
  /// The same for a value of this type, which is zero if the element does not exist.
  template <typename Inside>
  llvm::Value* value_in_range(const Element& element, const Expression& place, bool counted, llvm::Type* type,
                              Inside inside);

  // ---- statements
  void statement(const Statement& statement);
  llvm::BasicBlock* new_block(const char* name);
  llvm::AllocaInst* new_slot(llvm::Type* type, const std::string& name);
  /// A slot that is zero at the start of the function.
  llvm::AllocaInst* new_zero_slot(llvm::Type* type, const std::string& name);
  llvm::Value* load_slot(llvm::AllocaInst* slot, Type type);
  void store_slot(llvm::AllocaInst* slot, llvm::Value* value, Type type);
  llvm::Constant* zero(Type type);
  llvm::ConstantInt* i32(std::uint32_t value) { return ir_.getInt32(value); }
  llvm::ConstantInt* i64(std::uint64_t value) { return ir_.getInt64(value); }
  /// Branches to `block` and continues there.
  void go_to(llvm::BasicBlock* block);
  /// Branches by the condition and continues in `then`.
  void branch(llvm::Value* condition, llvm::BasicBlock* then, llvm::BasicBlock* otherwise);
  /// Branches to `target` if the condition holds, and continues in `next`.
  void leave_if(llvm::Value* condition, llvm::BasicBlock* target, llvm::BasicBlock* next);
  /// Continues in a new block if the condition holds, else in `otherwise`.
  void continue_if(llvm::Value* condition, llvm::BasicBlock* otherwise);
  using MakeValue = std::function<llvm::Value*()>;
  /// The value of `inside` where the condition holds, else `otherwise`. Conditions on site constants leave no
  /// branch in the kernel.
  llvm::Value* value_where(llvm::Value* condition, llvm::Value* otherwise, const MakeValue& inside);
  /// The value of `then` where the condition holds, else that of `otherwise`.
  llvm::Value* either(llvm::Value* condition, const MakeValue& then, const MakeValue& otherwise);
  /// Runs `inside` where the condition holds. Leaves the builder after it.
  template <typename Inside>
  void when(llvm::Value* condition, Inside inside);

  llvm::Module& module_;
  llvm::LLVMContext& context_;
  const Program& program_;
  llvm::IRBuilder<> ir_;
  llvm::Function* function_ = nullptr;
  llvm::BasicBlock* entry_ = nullptr;  ///< not terminated until the body is complete
  llvm::BasicBlock* exit_ = nullptr;
  bool skips_counted_ = true;  ///< emits no code for statements that the engine counts

 private:
  /// The reason a lane does not execute the next statement; the value of the slot `jump_`.
  enum class Jump : std::uint8_t { none, breaks, continues, returns };
  /// An enclosing list of statements: a handler, a helper, the body of a loop or a switch, a part of an `if`.
  struct Level {
    /// The block where the lanes that left the list reconverge with the others.
    llvm::BasicBlock* end = nullptr;
    bool is_part = false;  ///< of an `if`
  };
  /// The locations that receive the value of `return`.
  struct Frame {
    llvm::AllocaInst* result = nullptr;  ///< null: nothing, or a structure
    Type type = Type::nothing;
  };

  void declaration(const Statement& statement);
  void set_to_zero(const Symbol& symbol);
  void store_zero(llvm::IRBuilder<>& code, llvm::AllocaInst* slot);
  llvm::Value* element_assignment(const Expression& expression);

  // generator_control.cpp
  struct Section {
    std::vector<const Expression*> values;  ///< of its labels; null: default
    std::vector<const Statement*> statements;
  };
  static std::vector<Section> sections_of(const Statement& body);
  void switch_statement(const Statement& statement);
  void switch_in_sections(const Statement& statement);
  void case_label(const Statement& statement);
  void if_statement(const Statement& statement);
  void if_part(const Statement& statement, llvm::BasicBlock* end);
  void loop_statement(const Statement& statement);
  void return_statement(const Statement& statement);
  void jump(Jump kind);
  void part_from_jumping(llvm::BasicBlock* end);
  void forget_jump(Jump kind);
  llvm::AllocaInst* jump_slot();

  llvm::Value* literal(const Expression& expression);
  llvm::Value* name(const Expression& expression);
  llvm::Value* unary(const Expression& expression);
  llvm::Value* binary(const Expression& expression);
  llvm::Value* logical(const Expression& expression);
  llvm::Value* conditional(const Expression& expression);
  llvm::Value* assignment(const Expression& expression);
  llvm::Value* assigned_value(const Expression& expression, llvm::Value* old);
  llvm::Value* helper_call(const Expression& expression);
  void set_up(const Expression& expression);
  llvm::Value* arithmetic(Operator op, llvm::Value* left, llvm::Value* right, Type type,
                          const Expression& place);
  llvm::Value* shift(Operator op, llvm::Value* left, llvm::Value* right, Type left_type, Type right_type);
  llvm::Value* divide(Operator op, llvm::Value* left, llvm::Value* right, Type type, const Expression& place);
  llvm::Value* combine(Operator op, llvm::Value* left, Type left_type, llvm::Value* right, Type right_type,
                       Type result, const Expression& place);
  llvm::AllocaInst* slot_of(const Symbol& symbol, bool assigned);

  // generator_pointers.cpp
  llvm::StructType* pointer_type(std::uint64_t scalars);  ///< scalars of the pointee
  llvm::Value* part_of(llvm::Value* pointer, PointerPart part);
  llvm::Value* address(const Expression& place);
  llvm::Value* moved(Operator op, llvm::Value* pointer, llvm::Value* distance);
  Element indirect_element(const Expression& place);
  llvm::Value* update_through_pointer(const Element& place, const Expression& target, bool yields_old,
                                      const Update& update);
  llvm::Value* pointer_binary(const Expression& expression);  ///< a comparison or a difference
  llvm::Value* points_somewhere(llvm::Value* pointer);        ///< i1: not null

  std::map<const Symbol*, llvm::AllocaInst*> slots_;
  std::vector<Level> levels_;
  llvm::AllocaInst* jump_ = nullptr;
  struct Switch {
    llvm::SwitchInst* instruction = nullptr;
    Type type = Type::none;
  };
  std::vector<Switch> switches_;
  std::vector<Frame> frames_;
};

template <typename Inside>
void FunctionGenerator::when(llvm::Value* condition, Inside inside) {
  llvm::BasicBlock* then = new_block("when");
  llvm::BasicBlock* end = new_block("end");
  branch(condition, then, end);
  inside();
  go_to(end);
}

template <typename Inside>
llvm::Value* FunctionGenerator::value_in_range(const Element& element, const Expression& place, bool counted,
                                               llvm::Type* type, Inside inside) {
  if (element.in_range == nullptr) return inside();
  llvm::AllocaInst* slot = new_slot(type, "element");
  ir_.CreateStore(llvm::Constant::getNullValue(type), slot);
  when_in_range(element, place, counted, [&] { ir_.CreateStore(inside(), slot); });
  return ir_.CreateLoad(type, slot);
}

template <typename Inside>
void FunctionGenerator::when_in_range(const Element& element, const Expression& place, bool counted,
                                      Inside inside) {
  if (element.in_range == nullptr) return inside();
  llvm::BasicBlock* present = new_block("present");
  llvm::BasicBlock* absent = counted ? new_block("absent") : nullptr;
  llvm::BasicBlock* end = new_block("end");
  ir_.CreateCondBr(element.in_range, present, counted ? absent : end);
  if (counted) {
    ir_.SetInsertPoint(absent);
    out_of_range(place);
    ir_.CreateBr(end);
  }
  ir_.SetInsertPoint(present);
  inside();
  go_to(end);
}

}  // namespace lynxpp::cod
