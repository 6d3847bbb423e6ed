// An analysed specification: the output of semantic analysis and the input of code generation.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "cod/handler.h"
#include "cod/host_report.h"
#include "cod/site_counter.h"
#include "cod/storage.h"
#include "cod/syntax/api.h"
#include "cod/syntax/ast.h"
#include "cod/trace_stream.h"

namespace lynxpp::cod {

struct Function;
struct Symbol;

/// A trace, a histogram or a map, and the arrays that implement it. All are 'global' and zero at launch.
struct Collection {
  enum class Kind : std::uint8_t { trace, histogram, map };
  /// The function whose results are all values of a column, if it has names for them in the report.
  struct Naming {
    bool is_given = false;
    const ApiFunction* function = nullptr;
    void note(const Expression& value);
  };
  struct KeyField {
    std::string name;  ///< empty: the key is a number
    Type type = Type::none;
    Naming naming = {};
  };
  Kind kind = Kind::trace;
  std::string name;
  std::vector<Dimension> leading;  ///< one collection for each index of these
  std::uint64_t capacity = 0;      ///< entries of a trace, bins, slots of a map (a power of two)
  std::vector<Symbol*> leaves;     ///< element fields: arrays with the leading dimensions and stride()
  std::vector<Naming> namings;     ///< trace: one per leaf
  bool has_named_entries = false;  ///< device code accesses an entry by its index
  /// Arrays with the leading dimensions. Trace: appends so far, including dropped ones. Histogram: values
  /// below the first bin. Map: dropped updates.
  Symbol* counter = nullptr;
  Symbol* overflow = nullptr;  ///< histogram: values above the last bin
  // Map. A key is packed from the lowest bit up and split into words that are never zero in an occupied slot.
  // A 64-bit key is stored as is in one word, and key 0 has a dedicated slot after all others. Any other key
  // is stored in words with bit 63 set and 63 bits of the key.
  std::vector<KeyField> key;
  std::vector<Symbol*> key_words;
  // Histogram: the lower bound of bin k is first + k * width, or first << k.
  bool is_linear = false;
  std::int64_t first = 1;
  std::uint64_t width = 1;

  std::uint64_t stride() const { return kind == Kind::map ? capacity + 1 : capacity; }
  std::uint32_t key_bits() const;
  bool has_zero_slot() const { return key_bits() == 64; }
  /// nullopt if the trace cannot be streamed.
  std::optional<TraceStream> stream() const;
  /// The name of a leaf as a field of an element; empty if the element is a number.
  std::string field_name(const Symbol& leaf) const;
  /// Lower bound of bin `bin`. Precondition: bin <= capacity.
  std::int64_t bin_bound(std::uint64_t bin) const;
};

/// A declared name. Owned by Program::symbols.
struct Symbol : FullType {  // an array: the elements' type; a function: the result's
  /// record: a variable of structure type; each of its fields is a symbol.
  enum class Kind : std::uint8_t { local, state, constant, array, record, function };
  /// thread: an array of per-thread variables; indirect: the target of a pointer.
  enum class Memory : std::uint8_t { global, shared, local, table, thread, indirect, host };
  Kind kind = Kind::local;
  std::string name;
  Position position;
  bool is_const = false;
  Memory memory = Memory::global;     ///< array
  std::vector<Dimension> dimensions;  ///< array, record: preceded by those of enclosing records
  /// pointer: `p[i]` is an element of this array or record, whose first dimension is unbounded.
  Symbol* target = nullptr;
  const Symbol* pointer = nullptr;                      ///< array in Memory::indirect
  std::uint32_t leaf = 0;                               ///< …: index of the leaf in the pointee
  std::vector<std::pair<std::string, Symbol*>> fields;  ///< record
  /// state, array of Memory::thread: in Program::state. array: in Program::arrays, or in Program::variables
  /// if it is shared or a table; on the host its offset in Program::host_initial.
  std::uint32_t index = 0;
  std::uint32_t reads = 0;      ///< shared array: uses other than plain assignments
  bool is_set = false;          ///< array: an element is assigned, possibly through a pointer
  bool counted_whole = false;   ///< array: uniqueElementCount(array) counts its last values, per warp
  bool counted_halves = false;  ///< … per half warp
  /// array: bits for the ways in which device code modifies its elements
  enum Change : std::uint8_t { added = 1, maximised = 2, minimised = 4, changed_otherwise = 8 };
  std::uint8_t changes = 0;
  std::uint32_t assignments = 0;            ///< local: writes other than the initialiser
  const Expression* initializer = nullptr;  ///< local
  std::uint64_t value = 0;                  ///< constant of integer type, sign extended
  double real = 0;                          ///< constant of floating-point type
  Function* function = nullptr;
  Collection* collection = nullptr;  ///< array, record: the collection that it is part of

  bool is_in_map() const { return collection != nullptr && collection->kind == Collection::Kind::map; }
};

/// Calls visit(symbol) for the symbol and, if it is a record, for all its parts, in order.
template <typename Visited, typename Visit>
void for_each_part(Visited& symbol, Visit visit) {
  visit(symbol);
  for (const auto& [name, field] : symbol.fields) for_each_part<Visited, Visit&>(*field, visit);
}

/// The product of the constant extents.
inline std::uint64_t constant_count(const std::vector<Dimension>& dimensions) {
  std::uint64_t count = 1;
  for (const Dimension& dimension : dimensions) count *= dimension.constant;
  return count;
}

/// True if the expression calls the API function.
inline bool is_call_of(const Expression& expression, Api api) {
  return expression.kind == ExpressionKind::call && expression.api != nullptr && expression.api->api == api;
}

/// The initialiser of the local variable that the expression names, if the variable is never assigned again;
/// else null.
const Expression* only_value(const Expression& name);

/// Names that a piece of code uses, excluding the helper functions that it calls.
struct Uses {
  struct Call {
    const ApiFunction* api;
    Position position;
    bool elected;      ///< under a condition that holds only for an elected lane
    bool conditional;  ///< under a condition
  };
  struct Helper {
    Symbol* symbol;
    Position position;
    bool elected;
    bool conditional;
  };
  std::vector<Call> calls;
  std::vector<Helper> helpers;
  std::vector<std::pair<Symbol*, Position>> states;
  std::vector<std::pair<Symbol*, Position>> shared_arrays;
  std::vector<std::pair<Symbol*, Position>> host_variables;
  std::vector<std::pair<std::string, Position>> launch_data;  ///< names of 'global' arrays and extents
  std::uint64_t nodes = 0;                                    ///< expressions and statements
  bool updates_memory = false;                                ///< has `a[i] op= x`, ++ or --
};

struct Function {
  const Item* item = nullptr;
  std::vector<Symbol*> parameters;
  Symbol* result = nullptr;  ///< variable for the result if it is a structure
  Uses uses;
  std::uint64_t expanded_nodes = 0;  ///< including the helpers that are inlined into it
  int depth = 0;                     ///< levels of helpers below it
  int visit = 0;                     ///< of the recursion check: 0 not visited, 1 open, 2 done
};

/// A handler and its code; host code if it is ON_REPORT or ON_END.
struct HandlerBody {
  Handler handler;
  bool is_end = false;  ///< host code of ON_END instead of ON_REPORT
  Sampling sampling;    ///< of thread blocks and warps
  std::vector<Statement*> statements;
  Uses uses;

  bool is_sampled() const { return sampling.blocks > 1 || sampling.warps > 1; }
};

struct Program {
  std::string file;
  SyntaxTree tree;
  std::vector<StatementPtr> synthesized;  ///< assignments that implement initialisers
  std::vector<std::unique_ptr<Symbol>> symbols;
  std::vector<std::unique_ptr<Function>> functions;
  std::vector<std::unique_ptr<Collection>> collections;
  std::vector<GlobalArray> arrays;
  std::vector<StateVariable> state;
  std::vector<Word> words;
  std::vector<ModuleVariable> variables;
  std::vector<std::pair<Position, std::string>> accesses;  ///< Specification::checked_accesses()
  std::uint32_t every_launch = 1;
  bool uses_transfer_labels = false;
  bool checks_bounds = false;      ///< accesses to an array may be out of bounds, to be dropped and counted
  bool lists_arrays = false;       ///< queries the program's arrays
  bool emits_addresses = false;    ///< a field of a trace or a map is an address, judged by its name
  bool asks_for_boxes = false;     ///< its report depends on the boxes of tensor copies
  bool asks_if_running = false;    ///< its report also describes launches that are not over
  bool finds_allocations = false;  ///< device code looks up the allocation of an address
  std::vector<HandlerBody> handlers;
  std::vector<HandlerBody> reports;        ///< ON_REPORT parts, in order
  std::vector<HandlerBody> ends;           ///< ON_END parts, in order
  std::vector<std::uint8_t> host_initial;  ///< 'host' variables before the first launch
  std::vector<SiteCounter> counters;
  std::vector<Tally> tallies;
  std::map<std::string, Folding, std::less<>> folds;      ///< by name of a result, table or column
  std::optional<std::vector<AddedResult>> added_results;  ///< Specification::added_results()

  /// The counter of the access's dropped executions: its index in `accesses` + 1, or 0.
  std::uint64_t count_of_drops(const Position& access) const;
  SourceLocation locate(const Position& position) const { return location_of(tree.files, position); }
};

/// Calls visit(statement) for the code of all handlers and helper functions.
template <typename Visit>
void for_each_device_statement(const Program& program, Visit visit) {
  for (const HandlerBody& body : program.handlers) {
    for (const Statement* statement : body.statements) visit(*statement);
  }
  for (const auto& function : program.functions) visit(*function->item->body);
}

}  // namespace lynxpp::cod
