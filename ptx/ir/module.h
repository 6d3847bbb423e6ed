// The lossless PTX intermediate representation.
//
// A Module owns the text it was parsed from and describes it by byte ranges. Whatever no pass touches is
// emitted byte for byte from that text (ptx/emitter), so opcodes, directives and debug data that lynxpp has
// never heard of survive. Every std::string_view below points into Module::source and lives as long as the
// Module; only an opcode that the text spells with white space or comments in it is kept by its Body.
//
//   module   ▶ items: directives, variables, functions (in textual order)
//   function ▶ header, parameters, and (once parsed, see ptx/parser) a Body
//   body     ▶ statements in textual order; instructions are a dense side table
#pragma once

#include <algorithm>
#include <compare>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "ptx/ir/opcode.h"

namespace lynxpp::ptx {

/// Half-open range of bytes in Module::source.
struct TextRange {
  std::uint32_t begin = 0;
  std::uint32_t end = 0;
  bool empty() const { return begin == end; }
  bool operator==(const TextRange&) const = default;
};

struct Version {
  int major = 0;
  int minor = 0;
  auto operator<=>(const Version&) const = default;
};

/// `.target sm_90a, debug`: sm 90, suffix 'a', text "sm_90a, debug".
struct Target {
  int sm = 0;
  char suffix = '\0';
  std::string text;
};

// ---------------------------------------------------------------- instructions

enum class OperandKind : std::uint8_t {
  identifier,        ///< a register, variable, label, parameter or function; Operand::name
  special_register,  ///< %tid.x, %laneid, …; Operand::name with the dimension suffix
  integer,           ///< Operand::integer (two's complement; unsigned literals wrap)
  floating,  ///< Operand::bits: the IEEE pattern; 32 bits for 0f…, 64 bits for 0d… and decimal literals
  /// [base + offset]; elements[0] is the base (identifier or integer), further elements follow a comma
  address,
  vector,  ///< {a, b, …}; a vector of one element is replaced by that element
  pair,    ///< a|b: elements[0], elements[1]
  list,    ///< (a, b, …) of a call
  sink,    ///< _
};

struct Operand;

/// Operands that lie one behind another in the Body's OperandPool and live as long as it.
class OperandList {
 public:
  OperandList() = default;
  OperandList(const Operand* first, std::size_t size) : first_(first), size_(size) {}

  const Operand* begin() const { return first_; }
  const Operand* end() const;
  std::size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  const Operand& operator[](std::size_t index) const;
  const Operand& front() const { return *first_; }
  const Operand& back() const { return (*this)[size_ - 1]; }
  bool operator==(const OperandList& other) const;

 private:
  const Operand* first_ = nullptr;
  std::size_t size_ = 0;
};

struct Operand {
  OperandKind kind = OperandKind::identifier;
  bool negated = false;    ///< `!p` or `-r`
  bool is_single = false;  ///< floating: written as 0f…
  TextRange text;
  std::string_view name;     ///< identifier, special_register; without `!` or `-`
  std::int64_t integer = 0;  ///< integer
  std::uint64_t bits = 0;    ///< floating
  std::int64_t offset = 0;   ///< address and `symbol+4`: the constant that is added
  OperandList elements;

  bool operator==(const Operand&) const = default;
};

inline const Operand* OperandList::end() const { return first_ + size_; }
inline bool OperandList::operator==(const OperandList& other) const {
  return std::equal(begin(), end(), other.begin(), other.end());
}
inline const Operand& OperandList::operator[](std::size_t index) const { return first_[index]; }

/// Where the operands of a body are: a few large blocks instead of an allocation for each instruction. What
/// it gave out never moves.
class OperandPool {
 public:
  OperandList add(std::span<const Operand> operands);

  /// Keeps an opcode that the text at `spelled` writes with white space or comments in it.
  std::string_view add_opcode(std::string opcode, TextRange spelled);
  /// How the text spells an opcode that was added; null for others.
  const TextRange* spelling_of(std::string_view opcode) const;

 private:
  std::deque<std::string> opcodes_;
  std::unordered_map<const char*, TextRange> spellings_;
  std::vector<std::unique_ptr<Operand[]>> blocks_;
  std::size_t block_size_ = 0;
  std::size_t used_ = 0;  ///< of the last block
};

inline constexpr std::uint32_t no_call_site = 0xffffffff;

struct Guard {
  std::string_view predicate;  ///< register name, empty when unguarded
  bool negated = false;

  bool operator==(const Guard&) const = default;
};

/// A call that the compiler replaced by the body of the called function.
struct CallSite {
  std::uint32_t file = 0;  ///< index of the `.file`
  std::uint32_t line = 0;
  std::uint32_t outer = no_call_site;  ///< call that inlined the function of this position

  bool operator==(const CallSite&) const = default;
};

struct Instruction {
  TextRange text;               ///< from the guard (or opcode) to the semicolon, inclusive
  std::uint32_t line = 0;       ///< line in the module's text, from 1
  std::uint32_t statement = 0;  ///< index in Body::statements
  Guard guard;
  /// with all modifiers, "ld.global.nc.v4.f32", in one piece however the text spells it
  std::string_view opcode;
  OpcodeTraits traits;  ///< what the opcode table says about it
  OperandList operands;
  /// Position in the source by the `.loc` in force: file index (0: none) and line. Inlined code of a library
  /// header (source_files.h) has the position of its call.
  std::uint32_t source_file = 0;
  std::uint32_t source_line = 0;
  std::uint32_t call_site =
      no_call_site;             ///< in Body::call_sites: call that inlined this position's function
  bool calls_register = false;  ///< a call through a register, which may have a function's name

  bool guarded() const { return !guard.predicate.empty(); }

  bool operator==(const Instruction&) const = default;
};

// ---------------------------------------------------------------- declarations

/// A variable or parameter: `.shared .align 4 .b8 tile[4096]`, `.param .u64 p0`.
struct Variable {
  std::string name;
  StateSpace space = StateSpace::none;
  DataType type = DataType::none;
  std::string type_text;        ///< ".b8", ".texref", …
  std::uint32_t vector = 1;     ///< .v2, .v4
  std::uint32_t alignment = 1;  ///< bytes; the natural one when none is written
  bool is_array = false;
  std::uint64_t elements = 1;  ///< product of all extents; 0 for `name[]`
  bool is_extern = false;
  bool is_visible = false;  ///< .visible
  bool is_weak = false;     ///< .weak or .common
  bool has_initializer = false;
  TextRange text;           ///< the whole declaration, semicolon included (parameters: without comma)
  TextRange initializer;    ///< what follows `=`, without the semicolon
  std::uint32_t scope = 0;  ///< of a body's declaration: index in Body::scopes

  std::uint64_t size_bytes() const;

  bool operator==(const Variable&) const = default;
};

/// A piece of a variable's initial value that is an address.
struct Relocation {
  std::uint64_t offset = 0;  ///< into InitialValue::bytes
  std::uint32_t bytes = 8;   ///< how many are written
  std::string symbol;
  std::int64_t addend = 0;
  bool generic = false;     ///< generic(symbol)
  std::uint32_t shift = 0;  ///< of `mask(0xff00, symbol)`: bits the address is shifted right
};
struct InitialValue {
  std::vector<std::uint8_t> bytes;  ///< size_bytes() of them
  std::vector<Relocation> relocations;
};

/// `.reg .b32 %r<9>;` (count 9: %r0 … %r8) or `.reg .pred p;` (count 0). A list of names is one each.
struct RegisterDeclaration {
  std::string_view name;
  DataType type = DataType::none;
  std::uint32_t vector = 1;
  std::uint32_t count = 0;
  std::uint32_t scope = 0;  ///< index in Body::scopes

  bool operator==(const RegisterDeclaration&) const = default;
};

// ---------------------------------------------------------------- body

enum class StatementKind : std::uint8_t {
  instruction,
  label,
  declaration,
  directive,
  scope_begin,
  scope_end
};

struct Statement {
  StatementKind kind = StatementKind::directive;
  TextRange text;
  std::uint32_t line = 0;
  std::uint32_t scope = 0;  ///< innermost scope the statement stands in
  std::uint32_t index = 0;  ///< instruction: in Body::instructions
  std::string_view name;    ///< label: its name; directive: ".loc", ".pragma", …

  bool operator==(const Statement&) const = default;
};

/// Scope 0 is the function body itself.
struct Scope {
  std::uint32_t parent = 0;
  std::uint32_t begin = 0;  ///< statement index of the `{` (scope 0: 0)
  std::uint32_t end = 0;    ///< statement index of the `}` (scope 0: one past the last)

  bool operator==(const Scope&) const = default;
};

/// `name: .branchtargets L1, L2;` or `.calltargets`, `.callprototype`.
struct TargetList {
  std::string_view name;
  std::vector<std::string_view> targets;
  std::uint32_t scope = 0;  ///< index in Body::scopes

  bool operator==(const TargetList&) const = default;
};

struct Body {
  std::shared_ptr<OperandPool> operand_pool = std::make_shared<OperandPool>();  ///< copies share it

  std::vector<Statement> statements;      ///< between the outermost braces
  std::vector<Instruction> instructions;  ///< in textual order
  std::vector<Scope> scopes;
  std::vector<RegisterDeclaration> registers;
  std::vector<Variable> variables;  ///< .local/.shared/.param/… declared inside
  std::vector<TargetList> branch_targets;
  std::vector<TargetList> call_targets;  ///< a .callprototype is listed with no targets
  std::vector<CallSite> call_sites;      ///< without duplicates

  /// Where the module's text has the opcode of one of the body's instructions. Its first word is in one piece
  /// there, what follows need not be.
  TextRange opcode_range(const Instruction& instruction, std::string_view source) const;

  /// The declaration `name` refers to when used in `scope`, inner scopes first; null when it is no register.
  const RegisterDeclaration* find_register(std::string_view name, std::uint32_t scope) const;
  /// Same for variables declared in the body.
  const Variable* find_variable(std::string_view name, std::uint32_t scope) const;

  /// Same as above for the list of a brx.idx.
  const TargetList* find_branch_targets(std::string_view name, std::uint32_t scope) const;

  /// Makes the searches above fast; they stay correct without it after additions to what they search, but not
  /// after other changes: then call it again.
  void index_names();
  /// The same after additions alone.
  void index_new_names();

  /// Whether both say the same of the same text.
  bool operator==(const Body& other) const;

 private:
  /// Index of the declaration of a name in a scope; the keys are "scope name", "scope name<" for a range.
  using NameIndex = std::unordered_map<std::string, std::uint32_t>;
  NameIndex register_index_;
  NameIndex variable_index_;
  NameIndex target_index_;
  std::size_t indexed_registers_ = 0;
  std::size_t indexed_variables_ = 0;
  std::size_t indexed_targets_ = 0;
};

struct Function {
  std::string name;
  bool is_entry = false;
  bool is_extern = false;
  bool is_visible = false;
  bool is_weak = false;
  std::vector<Variable> returns;  ///< `.func (.param .b32 r) f`
  std::vector<Variable> parameters;
  TextRange text;            ///< the whole item, closing brace or semicolon included
  TextRange name_text;       ///< just the name, in the header
  TextRange parameter_list;  ///< from `(` to `)` after the name, inclusive; empty when there is none
  TextRange body_text;       ///< from `{` to `}`, inclusive; empty for a declaration
  std::uint32_t line = 0;    ///< of the header's first token
  std::optional<Body> body;  ///< present once parser::parse_body succeeded

  bool is_declaration() const { return body_text.empty(); }
};

enum class ItemKind { directive, variable, function };

/// One top-level item in textual order.
struct Item {
  ItemKind kind = ItemKind::directive;
  TextRange text;
  std::uint32_t index = 0;  ///< into Module::variables or Module::functions
  std::string_view name;    ///< directive: ".file", ".section", ".alias", …
};

/// `.file 3 "kernel.cu"`
struct SourceFile {
  std::uint32_t index = 0;
  std::string path;
};

/// `.alias other_name, function;`
struct Alias {
  std::string_view name;
  std::string_view function;
};

class Module {
 public:
  explicit Module(std::string text) : source_(std::make_unique<const std::string>(std::move(text))) {}

  const std::string& source() const { return *source_; }
  std::string_view text(TextRange range) const {
    return std::string_view(*source_).substr(range.begin, range.end - range.begin);
  }

  Version version;
  Target target;
  TextRange version_text;  ///< the `9.0` of `.version 9.0`
  TextRange target_text;   ///< the `sm_75` (list) of `.target sm_75`
  int address_size = 64;
  std::vector<Item> items;
  std::vector<Variable> variables;
  std::vector<Function> functions;
  std::vector<SourceFile> files;
  std::vector<Alias> aliases;

  /// A definition before what an alias of that name stands for before a declaration; null when absent.
  Function* find_function(std::string_view name);
  const Function* find_function(std::string_view name) const;
  const Variable* find_variable(std::string_view name) const;
  const std::string* find_file(std::uint32_t index) const;

  /// Makes the searches above fast. The parser calls it; they are right without it after additions to
  /// `functions`, `variables` or `aliases`.
  void index_names();
  /// Whether a function has a name like '%f', as nearly all registers do and nearly no function.
  bool has_function_like_register() const;

 private:
  struct NameHash {
    using is_transparent = void;
    std::size_t operator()(std::string_view name) const { return std::hash<std::string_view>()(name); }
  };
  /// Index of the definition of a name, or of its first declaration.
  using NameIndex = std::unordered_map<std::string, std::uint32_t, NameHash, std::equal_to<>>;
  template <typename Declared>
  const Declared* find_declared(const std::vector<Declared>& all, const NameIndex& index, std::size_t indexed,
                                std::string_view name) const;

  bool find_function_like_register() const;

  NameIndex function_index_;
  NameIndex variable_index_;
  NameIndex alias_index_;  ///< indices of functions, too
  std::size_t indexed_functions_ = 0;
  std::size_t indexed_variables_ = 0;
  std::size_t indexed_aliases_ = 0;
  bool has_function_like_register_ = false;
  std::unique_ptr<const std::string> source_;  // on the heap: views stay valid when the Module moves
};

}  // namespace lynxpp::ptx
