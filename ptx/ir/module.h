// The lossless PTX intermediate representation.
//
// A Module owns the text it was parsed from and describes it by byte ranges. Text that no pass changes is
// emitted byte for byte (ptx/emitter), so unknown opcodes, directives and debug data are preserved. Every
// std::string_view below points into Module::source and lives as long as the Module; only an opcode spelled
// with embedded white space or comments is stored by its Body.
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

/// Operands in contiguous storage in the Body's OperandPool, which must outlive the list.
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
  std::int64_t offset = 0;   ///< address and `symbol+4`: the added constant
  OperandList elements;

  bool operator==(const Operand&) const = default;
};

inline const Operand* OperandList::end() const { return first_ + size_; }
inline bool OperandList::operator==(const OperandList& other) const {
  return std::equal(begin(), end(), other.begin(), other.end());
}
inline const Operand& OperandList::operator[](std::size_t index) const { return first_[index]; }

/// Storage of a body's operands: a few large blocks instead of one allocation per instruction. Operands never
/// move.
class OperandPool {
 public:
  OperandList add(std::span<const Operand> operands);

  /// Stores an opcode that the text at `spelled` writes with embedded white space or comments.
  std::string_view add_opcode(std::string opcode, TextRange spelled);
  /// The range of an opcode stored by add_opcode(); null for other opcodes.
  const TextRange* spelling_of(std::string_view opcode) const;

 private:
  std::deque<std::string> opcodes_;
  std::unordered_map<const char*, TextRange> spellings_;
  std::vector<std::unique_ptr<Operand[]>> blocks_;
  std::size_t block_size_ = 0;
  std::size_t used_ = 0;  ///< in the last block
};

inline constexpr std::uint32_t no_call_site = 0xffffffff;

struct Guard {
  std::string_view predicate;  ///< register name, empty if unguarded
  bool negated = false;

  bool operator==(const Guard&) const = default;
};

/// A call that the compiler inlined.
struct CallSite {
  std::uint32_t file = 0;  ///< index of the `.file`
  std::uint32_t line = 0;
  std::uint32_t outer = no_call_site;  ///< call that inlined the function containing this position
  std::string_view function = {};  ///< label of the inlined function's name (debug_string.h); may be empty

  bool operator==(const CallSite&) const = default;
};

struct Instruction {
  TextRange text;               ///< from the guard (or opcode) to the semicolon, inclusive
  std::uint32_t line = 0;       ///< line in the module's text, from 1
  std::uint32_t statement = 0;  ///< index in Body::statements
  Guard guard;
  /// with all modifiers, "ld.global.nc.v4.f32", contiguous even if the text embeds white space
  std::string_view opcode;
  OpcodeTraits traits;  ///< the opcode, decoded
  OperandList operands;
  /// Source position from the current `.loc`: file index (0: none) and line. Code inlined from a library
  /// header (source_files.h) has the position of its call.
  std::uint32_t source_file = 0;
  std::uint32_t source_line = 0;
  std::uint32_t call_site =
      no_call_site;             ///< index in Body::call_sites: call that inlined this position's function
  bool calls_register = false;  ///< a call through a register, whose name may equal a function's
  bool from_library = false;    ///< inlined from a library header into code that is in none

  bool guarded() const { return !guard.predicate.empty(); }
  Op op() const { return traits.op; }
  bool has(Modifier modifier) const { return traits.modifiers.has(modifier); }
  bool has_any(Modifiers modifiers) const { return traits.modifiers.has_any(modifiers); }

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
  std::uint32_t alignment = 1;  ///< in bytes; the natural alignment if not specified
  bool is_array = false;
  std::uint64_t elements = 1;  ///< product of all extents; 0 for `name[]`
  bool is_extern = false;
  bool is_visible = false;  ///< .visible
  bool is_weak = false;     ///< .weak or .common
  bool has_initializer = false;
  TextRange text;           ///< the whole declaration, including the semicolon (parameters: without comma)
  TextRange initializer;    ///< the text after `=`, without the semicolon
  std::uint32_t scope = 0;  ///< for a declaration in a body: index in Body::scopes

  std::uint64_t size_bytes() const;

  bool operator==(const Variable&) const = default;
};

/// A part of a variable's initial value that is an address.
struct Relocation {
  std::uint64_t offset = 0;  ///< into InitialValue::bytes
  std::uint32_t bytes = 8;   ///< size of the written part
  std::string symbol;
  std::int64_t addend = 0;
  bool generic = false;     ///< generic(symbol)
  std::uint32_t shift = 0;  ///< for `mask(0xff00, symbol)`: right shift of the address in bits
};
struct InitialValue {
  std::vector<std::uint8_t> bytes;  ///< size_bytes() elements
  std::vector<Relocation> relocations;
};

/// `.reg .b32 %r<9>;` (count 9: %r0 … %r8) or `.reg .pred p;` (count 0). A list of names becomes one
/// declaration each.
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
  std::uint32_t scope = 0;  ///< innermost scope that contains the statement
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

  std::vector<Statement> statements;      ///< between the outermost braces, exclusive
  std::vector<Instruction> instructions;  ///< in textual order
  std::vector<Scope> scopes;
  std::vector<RegisterDeclaration> registers;
  std::vector<Variable> variables;  ///< .local/.shared/.param/… declared in the body
  std::vector<TargetList> branch_targets;
  std::vector<TargetList> call_targets;  ///< a .callprototype is listed without targets
  std::vector<CallSite> call_sites;      ///< without duplicates

  /// The range of the opcode of one of the body's instructions in the module's text. Its first word is
  /// contiguous; its modifiers may not be.
  TextRange opcode_range(const Instruction& instruction, std::string_view source) const;

  /// The register that `name` refers to in `scope`, inner scopes first; null if it is not a register.
  const RegisterDeclaration* find_register(std::string_view name, std::uint32_t scope) const;
  /// The same for variables declared in the body.
  const Variable* find_variable(std::string_view name, std::uint32_t scope) const;

  /// The same for the target list of a brx.idx.
  const TargetList* find_branch_targets(std::string_view name, std::uint32_t scope) const;

  /// Indexes names to speed up the searches above. Searches remain correct after later additions; after other
  /// changes, call this again.
  void index_names();
  /// The same if declarations were only added.
  void index_new_names();

  /// True if both describe the same text identically.
  bool operator==(const Body& other) const;

 private:
  /// Maps a name in a scope to the index of its declaration; keys are "scope name", or "scope name<" for a
  /// range.
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
  TextRange text;            ///< the whole item, including the closing brace or semicolon
  TextRange name_text;       ///< the name in the header
  TextRange parameter_list;  ///< from `(` to `)` after the name, inclusive; empty if absent
  TextRange body_text;       ///< from `{` to `}`, inclusive; empty for a declaration
  std::uint32_t line = 0;    ///< line of the header's first token
  std::optional<Body> body;  ///< present once parser::parse_body succeeded

  bool is_declaration() const { return body_text.empty(); }
  /// Returns the offset of each parameter in a kernel's parameter buffer, and finally the buffer's size.
  std::vector<std::uint64_t> parameter_offsets() const;
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

  /// Prefers a definition, then the target of an alias of that name, then a declaration; null if the name is
  /// unknown.
  Function* find_function(std::string_view name);
  const Function* find_function(std::string_view name) const;
  const Variable* find_variable(std::string_view name) const;
  const std::string* find_file(std::uint32_t index) const;

  /// Indexes names to speed up the searches above. The parser calls it; searches remain correct after
  /// additions to `functions`, `variables` or `aliases`.
  void index_names();
  /// True if some function has a name like '%f', as nearly all registers but almost no functions do.
  bool has_function_like_register() const;

 private:
  struct NameHash {
    using is_transparent = void;
    std::size_t operator()(std::string_view name) const { return std::hash<std::string_view>()(name); }
  };
  /// Maps a name to the index of its definition, or of its first declaration.
  using NameIndex = std::unordered_map<std::string, std::uint32_t, NameHash, std::equal_to<>>;
  template <typename Declared>
  const Declared* find_declared(const std::vector<Declared>& all, const NameIndex& index, std::size_t indexed,
                                std::string_view name) const;

  bool find_function_like_register() const;

  NameIndex function_index_;
  NameIndex variable_index_;
  NameIndex alias_index_;  ///< also indices of functions
  std::size_t indexed_functions_ = 0;
  std::size_t indexed_variables_ = 0;
  std::size_t indexed_aliases_ = 0;
  bool has_function_like_register_ = false;
  std::unique_ptr<const std::string> source_;  // on the heap: views stay valid when the Module moves
};

}  // namespace lynxpp::ptx
