// An analysed specification: what semantic analysis hands to code generation.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "cod/specification.h"
#include "cod/syntax/api.h"
#include "cod/syntax/ast.h"

namespace lynxpp::cod {

struct Function;
struct Symbol;

/// A trace, a histogram or a map: arrays that have ways of their own to their elements. All are 'global' and
/// zero at launch.
struct Collection {
  enum class Kind : std::uint8_t { trace, histogram, map };
  /// The function that gives all numbers of a column, if it is one that stands for a text in the report.
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
  std::vector<Dimension> leading;  ///< there is one for each index of these
  std::uint64_t capacity = 0;      ///< entries of a trace, bins, places of a map (a power of two)
  std::vector<Symbol*> leaves;     ///< fields of the elements: arrays of the leading dimensions and stride()
  std::vector<Naming> namings;     ///< trace: of the leaves
  bool has_named_entries = false;  ///< code of the device reads or writes some entry by its index
  /// Arrays of the leading dimensions. Trace: appends so far, those without room included. Histogram: values
  /// below the first bin. Map: updates that found no room.
  Symbol* counter = nullptr;
  Symbol* overflow = nullptr;  ///< histogram: values beyond the last bin
  // Map. A key is packed from the lowest bit on and cut into words, each of which is never zero in a place
  // that is taken: a key of 64 bits is one word as it is, and key 0 has the place behind the others; all
  // others have bit 63 set and 63 bits of the key.
  std::vector<KeyField> key;
  std::vector<Symbol*> key_words;
  // Histogram: bin k begins at first + k * width, or at first << k.
  bool is_linear = false;
  std::int64_t first = 1;
  std::uint64_t width = 1;

  std::uint64_t stride() const { return kind == Kind::map ? capacity + 1 : capacity; }
  std::uint32_t key_bits() const;
  bool has_zero_place() const { return key_bits() == 64; }
  /// Of a trace that can be streamed.
  std::optional<TraceStream> stream() const;
  std::int64_t bin_bound(std::uint64_t bin) const;  ///< where bin `bin` begins; precondition: bin <= capacity
};

/// A declared name. Owned by Program::symbols.
struct Symbol {
  /// record: a variable whose type is a structure; its fields are symbols of their own
  enum class Kind : std::uint8_t { local, state, constant, array, record, function };
  /// thread: an array of thread variables; indirect: where a pointer points to
  enum class Memory : std::uint8_t { global, shared, local, table, thread, indirect, host };
  Kind kind = Kind::local;
  std::string name;
  Type type = Type::none;  ///< array: of its elements; function: result
  Position position;
  bool is_const = false;
  Memory memory = Memory::global;     ///< array
  std::vector<Dimension> dimensions;  ///< array, record: those of enclosing records first
  std::string structure;              ///< record; pointer: of what it points to
  Type pointee = Type::none;          ///< pointer
  bool to_const = false;              ///< pointer
  /// pointer: `p[i]` is an element of this, an array or a record whose first dimension has no end
  Symbol* target = nullptr;
  const Symbol* pointer = nullptr;                      ///< array in Memory::indirect
  std::uint32_t leaf = 0;                               ///< …: which number of what the pointer points to
  std::vector<std::pair<std::string, Symbol*>> fields;  ///< record
  /// state, array of Memory::thread: in Program::state; array: in Program::arrays, or in Program::variables
  /// when shared or a table; on the host its offset in Program::host_initial
  std::uint32_t index = 0;
  std::uint32_t reads = 0;      ///< shared array: uses other than plain assignments
  bool is_set = false;          ///< array: some element is assigned to, perhaps through a pointer
  bool counted_whole = false;   ///< array: uniqueElementCount(array) wants its last values counted, in warps
  bool counted_halves = false;  ///< … and in half warps
  /// array: how the device changes its elements, bits of these
  enum Change : std::uint8_t { added = 1, maximised = 2, minimised = 4, changed_otherwise = 8 };
  std::uint8_t changes = 0;
  std::uint32_t assignments = 0;            ///< local: writes besides the initialiser
  const Expression* initializer = nullptr;  ///< local
  std::uint64_t value = 0;                  ///< constant of an integer type, sign extended
  double real = 0;                          ///< constant of a floating type
  Function* function = nullptr;
  Collection* collection = nullptr;  ///< array, record: it is a part of this
};

/// What a piece of code refers to, helper functions not followed.
struct Uses {
  struct Call {
    const ApiFunction* api;
    Position position;
    bool elected;      ///< stands under a condition that holds for an elected lane alone
    bool conditional;  ///< stands under any condition
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
  Symbol* result = nullptr;  ///< a variable for the result, when that is a structure or a pointer
  Uses uses;
  std::uint64_t expanded_nodes = 0;  ///< with the helpers it calls, inlined
  int depth = 0;                     ///< levels of helpers below it
  int visit = 0;                     ///< of the search for recursion: 0 not seen, 1 open, 2 done
};

/// A handler and its code; of the host when it is ON_REPORT.
struct HandlerBody {
  Handler handler;
  bool is_end = false;  ///< of the host: ON_END, not ON_REPORT
  Sampling sampling;    ///< of thread blocks and warps
  std::vector<Statement*> statements;
  Uses uses;
};

struct Program {
  std::string file;
  SyntaxTree tree;
  std::vector<StatementPtr> synthesized;  ///< assignments made of initialisers
  std::vector<std::unique_ptr<Symbol>> symbols;
  std::vector<std::unique_ptr<Function>> functions;
  std::vector<std::unique_ptr<Collection>> collections;
  std::vector<GlobalArray> arrays;
  std::vector<StateVariable> state;
  std::vector<Word> words;
  std::vector<ModuleVariable> variables;
  std::vector<std::pair<Position, std::string>> accesses;  ///< Specification::checked_accesses()
  std::uint32_t every_launch = 1;
  bool asks_for_transfers = false;
  bool checks_bounds = false;      ///< some array's accesses may have to be dropped and counted
  bool lists_arrays = false;       ///< it asks where the program's arrays are
  bool emits_addresses = false;    ///< a trace or a map has a field that is an address by its name
  bool finds_allocations = false;  ///< … on the device, which allocation holds an address
  std::vector<HandlerBody> handlers;
  std::vector<HandlerBody> reports;        ///< ON_REPORT parts, in order
  std::vector<HandlerBody> ends;           ///< ON_END parts, in order
  std::vector<std::uint8_t> host_initial;  ///< 'host' variables, as they are before the first launch
  std::vector<SiteCounter> counters;
  std::vector<Tally> tallies;
  std::map<std::string, Folding, std::less<>> folds;  ///< by name of a result, a table or a column

  /// Where drops of the access are counted: its number in `accesses` + 1, or 0.
  std::uint64_t count_of_drops(const Position& access) const;
  SourceLocation locate(const Position& position) const { return location_of(tree.files, position); }
};

}  // namespace lynxpp::cod
