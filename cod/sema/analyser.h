// The state of one semantic analysis. Shared by sema.cpp (declarations and handlers) and sema_*.cpp; all
// other files include sema.h.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <type_traits>
#include <vector>

#include "cod/sema/constant.h"
#include "cod/sema/program.h"

namespace lynxpp::cod {

/// True if evaluating it twice differs from evaluating it once.
bool has_effects(const Expression& expression);
/// True if the condition holds (does not hold) only for the lane that leastActiveThreadInWarp() elects.
bool elects(const Expression& condition, bool holds);
const ApiFunction& overload_for(const Expression& call, const ApiFunction& here);

/// The result of a function that has reported an error: no type, null, false or nullopt.
struct Failed {
  template <typename T>
  static constexpr bool has_failure_value =
      std::is_same_v<T, Type> || std::is_same_v<T, bool> || std::is_pointer_v<T> ||
      std::is_constructible_v<T, std::nullopt_t> || std::is_same_v<T, ExpressionPtr>;
  template <typename T>
  requires has_failure_value<T>
  operator T() const {  // NOLINT(google-explicit-constructor)
    return T();
  }
};

/// An array's element is indexed, any other variable is named.
inline ExpressionKind kind_of_use(const Symbol& symbol) {
  return symbol.kind == Symbol::Kind::array ? ExpressionKind::index : ExpressionKind::name;
}

class Analyser {
 public:
  explicit Analyser(Program& program, Diagnostics& warnings) : program_(program), warnings_(warnings) {}

  void run();
  Diagnostics errors;

 private:
  using Scope = std::map<std::string, Symbol*>;
  /// The function, and whether it is called under an election and under a condition.
  using ReachedFunction = std::tuple<const Function*, bool, bool>;

  /// The context of the code being analysed.
  struct Context {
    /// Contexts in which the code may run; `anywhere` in helpers, which are checked at their callers.
    std::uint32_t contexts = anywhere;
    Function* helper = nullptr;
    FullType result{Type::nothing, {}, Type::none, false};
    Uses* uses = nullptr;
    int loops = 0;
    struct Switch {
      Type type = Type::none;         ///< of the condition
      std::size_t scope = 0;          ///< index in scopes_
      std::set<std::uint64_t> cases;  ///< values so far
      bool has_default = false;
    };
    Switch* innermost = nullptr;      ///< the innermost switch
    std::set<const Symbol*> counted;  ///< arrays that all lanes have assigned to in this handler
    int conditions = 0;               ///< enclosing if, loops and short-circuit operators
    int elections = 0;                ///< enclosing conditions that hold only for an elected lane
    std::vector<int> branches;        ///< unique numbers of the enclosing if arms, loop bodies and cases
    /// False in helpers and for constants at file scope.
    bool is_handler() const { return contexts != static_cast<std::uint32_t>(anywhere); }
    bool on_host() const { return contexts == static_cast<std::uint32_t>(cod::on_host) || at_end(); }
    bool at_end() const { return contexts == static_cast<std::uint32_t>(cod::on_end); }
  };

  // sema.cpp
  void declare_globals();
  void declare_array(Item& item);
  void declare_shared_array(const Item& item);
  void declare_lynx_arrays();
  void declare_function(const Item& item);
  Symbol* make_parameter(const Parameter& parameter);
  void declare_file_scope(Statement& statement);
  void declare_host(Statement& statement);
  void declare_constant(const Statement& statement, Declarator& declarator, Symbol& symbol);
  void analyse_functions();
  void analyse_bodies();
  void analyse_handler(Item& item);
  HandlerBody& entry_handler(const Position& position);
  void enter(HandlerBody& body, std::uint32_t contexts);
  void analyse_body(HandlerBody& body, std::uint32_t contexts, Statement& statement);
  void analyse_initializers();
  void finish_handler(HandlerBody& body, std::uint32_t contexts);
  bool find_recursion(Function& function);
  void make_words();

  // sema_labels.cpp
  /// Returns false if the target is unknown. `is_report` is also set for ON_END.
  bool resolve_labels(const Item& item, HandlerBody& body, bool& is_report);
  /// Returns false if the label does not exist.
  bool resolve_label_with_arguments(const Label& label, HandlerBody& body);
  bool resolve_sampling(const Label& label, HandlerBody& body);
  std::optional<std::uint64_t> positive_argument(const Label& label, std::size_t index);
  const std::string* string_argument(const Label& label);
  std::optional<NamePattern> name_pattern(const Label& label, const std::string& pattern);

  // sema_statements.cpp
  void statement(Statement& statement);
  void switch_statement(Statement& statement);
  void case_label(Statement& statement);
  void break_or_continue(const Statement& statement);
  void declaration(Statement& statement);
  /// Analyses a statement that is executed under a condition, by an elected lane if `election` is 1.
  void branch(Statement& statement, int election);
  void if_statement(Statement& statement);
  void loop_statement(Statement& statement);
  void return_statement(Statement& statement);
  void condition(Expression& expression);

  Symbol* new_symbol(Symbol::Kind kind, const std::string& name, Type type, const Position& position);
  bool add_to_scope(Symbol* symbol);
  Symbol* find(const std::string& name) const;
  std::vector<std::string> visible_names() const;

  // sema_records.cpp: arrays and structures. Each field becomes a symbol: sema removes structures.
  using Memory = Symbol::Memory;
  struct Variable {
    std::string name;
    Type type = Type::none;
    std::string structure;
    std::vector<Dimension> dimensions;
    Position position;
  };
  struct StructureInfo {
    const Structure* structure = nullptr;
    std::vector<std::vector<Dimension>> dimensions;  ///< of each field
    std::uint64_t bytes = 0;
    std::uint64_t alignment = 1;
    std::uint64_t leaves = 0;
  };
  /// An initial value and the element that it initialises.
  struct Spread {
    Symbol* leaf = nullptr;
    std::vector<std::uint64_t> indices;
    ExpressionPtr value;
  };
  struct Cursor {
    std::vector<Initializer>* list = nullptr;
    std::size_t next = 0;
    bool ended() const { return next >= list->size(); }
  };
  /// An element of a variable, or the whole variable.
  struct Lvalue {
    std::vector<ExpressionPtr> indices;
    std::vector<ExpressionPtr> setup;  ///< see Expression::setup
  };
  Symbol* declare_variable(Memory memory, const Variable& variable);
  Symbol* make_variable(Memory memory, const Variable& variable);  ///< does not add it to the scope
  Symbol* declare_leaf(Memory memory, const Variable& variable);
  bool check_size(Memory memory, const Variable& variable);
  const StructureInfo* structure_info(const std::string& name, const Position& position, int depth = 0);
  std::optional<std::uint64_t> constant_extent(Expression& expression, Memory memory);
  /// The dimensions of the array `name` from the expressions in brackets. Null, as in `[]`, is allowed for
  /// the first dimension if there are initial values.
  std::vector<Dimension> dimensions_of(Memory memory, const std::string& name, const Position& position,
                                       const std::vector<ExpressionPtr>& extents, std::size_t initial_values);
  /// Returns null if the dimensions or the type are invalid; the error is in `errors`.
  Symbol* declare_with_dimensions(Memory memory, const Statement& statement, Declarator& declarator);
  void declare_local(Statement& statement, Declarator& declarator);
  void declare_table(Statement& statement, Declarator& declarator);
  // sema_initial_values.cpp
  void set_initial_values(Item& item, Symbol* symbol);
  void spread(Symbol* symbol, std::vector<std::uint64_t> indices, Cursor& cursor, std::vector<Spread>& out);
  std::vector<Spread> spread_list(Symbol* symbol, Declarator& declarator);
  void store_constant(const Spread& each);
  std::uint8_t* address_of(const Symbol& leaf, std::uint64_t element);
  // sema_records.cpp
  void assign_list(Symbol* symbol, Declarator& declarator, std::vector<ExpressionPtr>& out);
  static void set_const(Symbol& symbol) {
    for_each_part(symbol, [](Symbol& part) { part.is_const = true; });
  }
  ExpressionPtr assign_leaf(Symbol* leaf, std::vector<ExpressionPtr> indices, ExpressionPtr value,
                            const Position& position);
  bool copy_record(Symbol* target, const Expression& target_lvalue, Symbol* source,
                   const Expression& source_lvalue, std::vector<ExpressionPtr>& out);
  /// Expands `*target = source`, both analysed, into one assignment per scalar; false after an error.
  bool copy_whole(Expression& target, Expression& source, std::vector<ExpressionPtr>& out);
  void hoist_effects(Expression& lvalue, std::vector<ExpressionPtr>& out);
  /// The same for a variable; null after an error. record_value() analyses the source first.
  ExpressionPtr record_value(Symbol* target, Expression& source);
  ExpressionPtr record_copy(Symbol* target, Expression& source);
  static ExpressionPtr record_lvalue(Symbol* record, const Position& position);
  Symbol* hidden_record(const std::string& structure, const Position& position);

  // sema_lvalues.cpp
  Type lvalue(Expression& expression);  ///< an index or member expression, or a dereference
  Symbol* resolve(Expression& expression, Lvalue& lvalue, bool column);
  Symbol* resolve_member(Expression& expression, Lvalue& lvalue, bool column);
  Symbol* resolve_value(Expression& expression, Lvalue& lvalue);
  Type use(Expression& expression, Symbol* symbol);
  void note_access(const Expression& expression, const Symbol& array);
  Type assign_record(Expression& expression);
  Type size(Expression& expression);

  // sema_collections.cpp: traces, histograms, maps
  void declare_collection(const Item& item);
  void declare_map(const Item& item, Collection& collection);
  bool read_bounds(const StorageClause& clause, Collection& collection);
  bool read_key(const Item& item, Collection& collection);
  std::optional<std::int64_t> constant_bound(Expression& expression);
  /// Analyses an arithmetic expression outside of any handler; false after an error.
  bool analyse_alone(Expression& expression);
  void declare_content(const Item& item, Collection& collection);
  void add_leaves(Symbol* content, Collection& collection, const Position& position);
  Symbol* hidden_array(Collection& collection, const std::string& part, std::vector<Dimension> dimensions,
                       const Position& position);
  Collection* collection_argument(ExpressionPtr& argument, std::optional<Collection::Kind> kind,
                                  bool is_address, const ApiFunction& api);
  Type collection_call(Expression& expression, const ApiFunction& api);
  Type append_call(Expression& expression, const ApiFunction& api);
  Type kept_call(Expression& expression, const ApiFunction& api);
  Type record_call(Expression& expression, const ApiFunction& api);
  Type entry_call(Expression& expression, const ApiFunction& api, const std::string* field);
  const Collection* emitted_collection(Expression& argument);
  void push_key(Expression& key, Collection& collection, std::vector<ExpressionPtr>& indices);
  bool check_collection_use(const Expression& expression, const Symbol& symbol);
  std::vector<ExpressionPtr> fields_of(Expression& record, const Position& position);

  // sema_expressions.cpp
  Type expression(Expression& expression);
  Type value(Expression& expression);  ///< same as expression(), but requires an arithmetic value
  Type number(const Expression& expression, Type type);  ///< the check that value() performs
  /// Analyses an expression whose value must be a constant integer; if it is not, reports `problem`, unless
  /// another error has been reported.
  std::optional<Constant> constant_integer(Expression& expression, const std::string& problem,
                                           const std::string& hint = {});
  Type comma_value(Expression& expression);
  Type name(Expression& expression);
  Type unary(Expression& expression);
  Type step(Expression& expression);
  Type binary(Expression& expression);
  Type conditional(Expression& expression);
  Type assignment(Expression& expression);
  bool require_integer(const Expression& expression, Type type, const std::string& what);
  bool check_target(Expression& target);
  bool use_launch_data(const std::string& name, const Position& position);
  bool use_host_variable(Symbol* symbol, const Position& position);
  void note_update(Expression& target);
  static void note_change(const Expression& target, std::uint8_t change);
  void convertible(const Expression& expression, Type from, Type to);
  bool has_value(const Expression& expression, Type type);  ///< reports an error if false

  // sema_pointers.cpp
  /// Same as value(), but accepts pointers, and arrays decay to pointers.
  Type operand(Expression& expression);
  Type checked_pointee(const FullType& pointer, const Position& position);
  Symbol* make_pointer(const std::string& name, const FullType& type, const Position& position);
  Symbol* hidden_pointer(const Expression& value);
  void decay(Expression& expression);
  const Symbol* whole_array(const Expression& expression, std::size_t& indices) const;
  Type address(Expression& expression);
  ExpressionPtr dereferenced(ExpressionPtr pointer);                   ///< takes an analysed pointer
  bool pointer_value(Expression& expression, const FullType& wanted);  ///< analyses it; false after an error
  void initial_value(Expression& expression,
                     const FullType& wanted);  ///< of a variable, parameter or result
  Type assign_pointer(Expression& expression);
  Type pointer_binary(Expression& expression);
  Type pointer_conditional(Expression& expression);
  Type pointer_cast(Expression& expression);
  void declare_pointer(const Statement& statement, Declarator& declarator);
  std::string describe(const FullType& type) const;

  // sema_calls.cpp
  Type call(Expression& expression);
  Type helper_call(Expression& expression, Symbol& symbol);
  void structure_argument(Expression& call, std::size_t index, Symbol* parameter);
  Type structure_result(Expression& call, const Symbol& function);
  Type api_call(Expression& expression, const ApiFunction& api);
  Type call_by_arguments(Expression& expression, const ApiFunction& api);
  bool check_arguments(Expression& expression, const ApiFunction& api);
  void analyse_operands(Expression& expression);
  Symbol* element_argument(Expression& expression);
  Symbol* array_argument(Expression& argument);
  Type unique_call(Expression& expression);
  Type warp_value_call(Expression& expression, const ApiFunction& api);
  void floating_argument(Expression& argument, const ApiFunction& api);
  Type atomic_call(Expression& expression, const ApiFunction& api);
  Type array_call(Expression& expression, const ApiFunction& api);
  // sema_sites.cpp
  Type site_call(Expression& expression, const ApiFunction& api);
  void label_arguments(Expression& expression, const ApiFunction& api, std::size_t first);
  Type position_call(Expression& expression, const ApiFunction& api);
  Type address_call(Expression& expression, const ApiFunction& api);
  void text_or_value(Expression& expression);
  void words_argument(Expression& argument, const ApiFunction& api);
  void emit_words_call(Expression& expression, const ApiFunction& api);
  void emit_arrays_call(Expression& expression);
  // sema_reports.cpp
  void emit_call(Expression& expression, const ApiFunction& api);
  void emit_ratio_call(Expression& expression);
  void emit_table_call(Expression& expression);
  void emit_record(Expression& result, Symbol* record);
  void emitted_text(Expression& argument, const std::string& what);
  /// Reports an error unless the argument is a non-empty string literal.
  void literal_text(const Expression& argument, const std::string& what, const std::string& hint);
  void note_emitted(const Expression& name, bool is_table = false);
  void fold_call(Expression& expression);
  void check_folds();
  // sema_calls.cpp
  void print_call(Expression& expression);
  void note_call(const ApiFunction& api, const Position& position);
  /// `through`: the helper function that contains the call; empty if the handler does.
  void check_context(const Uses::Call& call, std::uint32_t contexts, const std::string& through);
  void check_reachable(const Function& function, const Uses::Helper& call, std::uint32_t contexts,
                       std::set<ReachedFunction>& seen, HandlerBody& body);
  void add_use(const ApiFunction& api, HandlerBody& body);
  void unknown_function(const Expression& expression);

  void error(const Position& position, std::string message, std::string hint = {});
  Failed fail(const Position& position, std::string message, std::string hint = {});  ///< reports an error
  void warn_of_unused_value(const Expression& expression);
  // sema_warnings.cpp
  void warn(const Position& position, std::string message, std::string hint);
  void warn_of_zero_divisor(const Expression& divisor, Type type);
  void warn_of_indices(const Expression& element);
  void warn_of_endless_loop(const Statement& loop);
  void warn_of_unset_arrays();
  std::string suggestion(const std::string& name, const std::vector<std::string>& candidates) const;

  Program& program_;
  Diagnostics& warnings_;
  std::vector<Scope> scopes_;
  Context context_;
  std::map<std::string, StructureInfo> structures_;
  std::uint64_t leaves_ = 0;       ///< symbols created for arrays and structures
  std::set<Extent> used_extents_;  ///< by arrays and by device code
  struct EmittedName {
    std::string name;
    std::vector<int> branches;  ///< Context::branches of the call
    Position position;
    bool at_end = false;
    bool is_table = false;
  };
  std::vector<EmittedName> emitted_;      ///< names that reports emit as literals, in order
  bool emits_other_names_ = false;        ///< true if other names may be emitted, or by helper functions
  std::vector<const Expression*> folds_;  ///< calls of fold()
  int branches_ = 0;                      ///< branch numbers assigned so far
  std::vector<Declarator*> initialized_;  ///< state variables with an initialiser, in order
};

}  // namespace lynxpp::cod
