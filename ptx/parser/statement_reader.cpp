#include "ptx/parser/statement_reader.h"

#include <algorithm>
#include <array>
#include <utility>

#include "ptx/parser/cursor.h"
#include "ptx/parser/literal.h"
#include "ptx/parser/operand_value.h"

namespace lynxpp::ptx {
namespace {

enum Character : std::uint8_t { space = 1, name_start = 2, name_part = 4, digit = 8 };

constexpr std::array<std::uint8_t, 256> characters = [] {
  std::array<std::uint8_t, 256> table{};
  for (const unsigned char c : {' ', '\t', '\n', '\v', '\f', '\r'}) table[c] = space;
  for (unsigned char c = 'a'; c <= 'z'; ++c) table[c] = name_start | name_part;
  for (unsigned char c = 'A'; c <= 'Z'; ++c) table[c] = name_start | name_part;
  for (unsigned char c = '0'; c <= '9'; ++c) table[c] = name_part | digit;
  table['_'] = table['$'] = name_start | name_part;
  table['%'] = name_start;
  return table;
}();

bool is(char c, Character what) { return (characters[static_cast<unsigned char>(c)] & what) != 0; }

}  // namespace

StatementReader::StatementReader(const Module& module, const Function& function, std::uint32_t line,
                                 BodyBuilder& builder)
    : source_(module.source()),
      builder_(builder),
      position_(function.body_text.begin + 1),
      end_(function.body_text.end - 1),
      line_(line) {}

bool StatementReader::at_end() {
  skip_space();
  return position_ >= end_;
}

void StatementReader::move_to(std::uint32_t position) {
  line_ += count_newlines(source_.substr(position_, position - position_));
  position_ = position;
}

bool StatementReader::read() {
  const std::uint32_t begin = position_;
  statement_line_ = line_;
  operands_.clear();
  if (read_statement()) return true;
  position_ = begin;
  line_ = statement_line_;
  return false;
}

bool StatementReader::read_statement() {
  const std::uint32_t begin = position_;
  const char first = source_[begin];
  if (is(first, name_start)) {
    const std::string_view name = word();
    skip_space();
    if (peek() == ':') return read_label(begin, name);
    Instruction instruction;
    instruction.opcode = name;
    return read_instruction(begin, instruction);
  }
  if (first == '.') return read_directive(begin);
  if (first == '@') return read_guarded(begin);
  return read_single(begin);
}

/// `{`, `}` and `;`
bool StatementReader::read_single(std::uint32_t begin) {
  const char c = source_[position_++];
  switch (c) {
    case '{': builder_.begin_scope(location(begin)); return true;
    case '}': return builder_.end_scope(location(begin));
    case ';': builder_.add_statement(StatementKind::directive, location(begin), {}); return true;
    default: return false;
  }
}

// ---------------------------------------------------------------- directives and declarations

bool StatementReader::read_directive(std::uint32_t begin) {
  const std::string_view name = directive();
  if (name == ".loc") return read_location(begin);
  if (name == ".reg") return read_registers(begin);
  if (name == ".pragma") return read_pragma(begin);
  for (const std::string_view variable : {".param", ".shared", ".local", ".global", ".const"}) {
    if (name == variable) return read_variables(begin, name);
  }
  return false;
}

std::optional<SourcePosition> StatementReader::read_position() {
  std::array<std::uint32_t, 3> numbers{};
  for (std::uint32_t& number : numbers) {
    skip_space();
    const std::string_view literal = digits();
    if (literal.empty()) return std::nullopt;
    number = static_cast<std::uint32_t>(parse_integer_literal(literal).value_or(0));
  }
  return SourcePosition{numbers[0], numbers[1], numbers[2]};
}

/// .loc 1 20 3, optionally followed by more parts after commas. Only the next token marks its end.
bool StatementReader::read_location(std::uint32_t begin) {
  const std::optional<SourcePosition> at = read_position();
  if (!at) return false;
  std::optional<SourcePosition> inlined_at;
  std::string_view function;
  std::uint32_t end = position_;
  std::uint32_t end_line = line_;
  skip_space();
  while (accept(',')) {
    if (!read_inlining(inlined_at, function)) return false;
    end = position_;
    end_line = line_;
    skip_space();
  }
  position_ = end;
  line_ = end_line;
  builder_.add_location(location(begin), *at, inlined_at, function);
  return true;
}

/// Reads `function_name label`, with or without an addend, or `inlined_at 1 20 3`.
bool StatementReader::read_inlining(std::optional<SourcePosition>& inlined_at, std::string_view& function) {
  skip_space();
  if (word().empty()) return false;
  skip_space();
  if (is(peek(), digit)) {
    inlined_at = read_position();
    return inlined_at.has_value();
  }
  function = word();
  if (function.empty()) return false;
  const std::uint32_t end = position_;
  const std::uint32_t end_line = line_;
  skip_space();
  if (peek() == '-') return false;
  if (!accept('+')) {
    position_ = end;
    line_ = end_line;
    return true;
  }
  function = {};  // a part of a string, as no compiler names a function
  skip_space();
  return !digits().empty();
}

bool StatementReader::read_pragma(std::uint32_t begin) {
  do {
    skip_space();
    if (!skip_string()) return false;
    skip_space();
  } while (accept(','));
  if (!accept(';')) return false;
  builder_.add_statement(StatementKind::directive, location(begin), ".pragma");
  return true;
}

bool StatementReader::read_registers(std::uint32_t begin) {
  RegisterDeclaration declaration;
  for (skip_space(); peek() == '.'; skip_space()) {
    const std::string_view name = directive();
    const bool is_vector = name == ".v2" || name == ".v4" || name == ".v8";
    if (!is_vector && parse_data_type(name) == DataType::none) return false;
    apply_register_directive(declaration, name);
  }
  if (declaration.type == DataType::none) return false;
  std::vector<RegisterDeclaration> declarations;
  if (!read_register_names(declaration, declarations)) return false;
  builder_.add_registers(location(begin), std::move(declarations));
  return true;
}

bool StatementReader::read_register_names(RegisterDeclaration declaration,
                                          std::vector<RegisterDeclaration>& declarations) {
  do {
    skip_space();
    declaration.name = word();
    declaration.count = 0;
    if (declaration.name.empty()) return false;
    skip_space();
    if (accept('<')) {
      skip_space();
      const auto count = parse_register_count(digits());
      skip_space();
      if (!count || !accept('>')) return false;
      declaration.count = *count;
      skip_space();
    }
    declarations.push_back(declaration);
  } while (accept(','));
  return accept(';');
}

bool StatementReader::read_variables(std::uint32_t begin, std::string_view first_word) {
  // An initialiser may have a semicolon in a string or comment: both are rare in a body.
  const std::size_t end = source_.substr(0, end_).find_first_of(";\"/#", position_);
  if (end == std::string_view::npos || source_[end] != ';') return false;
  Cursor cursor(source_, begin, static_cast<std::uint32_t>(end + 1));
  std::vector<Declarator> declarators = parse_variable_declaration(cursor, {}, begin);
  if (cursor.failed() || cursor.end_of_last() != end + 1) return false;
  move_to(static_cast<std::uint32_t>(end + 1));
  builder_.add_variables(location(begin), std::move(declarators), first_word);
  return true;
}

// ---------------------------------------------------------------- labels and instructions

/// Reads a label, unless a target list or a prototype follows.
bool StatementReader::read_label(std::uint32_t begin, std::string_view name) {
  ++position_;
  const StatementLocation label = location(begin);
  const std::uint32_t end_line = line_;
  skip_space();
  if (peek() == '.') {
    const std::string_view next = directive();
    if (next.empty() || next == ".branchtargets" || next == ".calltargets" || next == ".callprototype")
      return false;
  }
  position_ = label.text.end;
  line_ = end_line;
  builder_.add_statement(StatementKind::label, label, name);
  return true;
}

bool StatementReader::read_guarded(std::uint32_t begin) {
  Instruction instruction;
  ++position_;
  skip_space();
  instruction.guard.negated = accept('!');
  if (instruction.guard.negated) skip_space();
  instruction.guard.predicate = word();
  skip_space();
  instruction.opcode = word();
  skip_space();
  return !instruction.guard.predicate.empty() && !instruction.opcode.empty() &&
         read_instruction(begin, instruction);
}

/// Reads the rest of an instruction after its opcode. White space before a modifier, which PTX allows, is
/// left to the grammar.
bool StatementReader::read_instruction(std::uint32_t begin, Instruction& instruction) {
  instruction.traits = builder_.traits_of(instruction.opcode);
  is_call_ = instruction.op() == Op::call;
  if (accept(';')) {
    builder_.add_instruction(location(begin), instruction);
    return true;
  }
  if (!read_operands(';', instruction.operands)) return false;
  builder_.add_instruction(location(begin), instruction);
  return true;
}

bool StatementReader::read_operands(char closing, OperandList& operands) {
  do {
    skip_space();
    if (!read_operand()) return false;
    skip_space();
  } while (accept(','));
  if (!accept(closing)) return false;
  operands = builder_.keep(operands_);
  return true;
}

bool StatementReader::read_operand() {
  const std::uint32_t begin = position_;
  const std::size_t first = operands_.size();
  switch (peek()) {
    case '[': return read_group(OperandKind::address, ']', true);
    case '(': return is_call_ && read_group(OperandKind::list, ')', true);
    case '{':
      if (!read_group(OperandKind::vector, '}', false)) return false;
      break;
    default:
      if (!read_value()) return false;
  }
  const std::uint32_t end = position_;
  const std::uint32_t end_line = line_;
  skip_space();
  if (!accept('|')) {
    position_ = end;
    line_ = end_line;
    return true;
  }
  skip_space();
  if (!is(peek(), name_start) || operands_[first].kind == OperandKind::integer || !read_value()) return false;
  Operand pair;
  pair.kind = OperandKind::pair;
  pair.text = {begin, position_};
  pair.elements = builder_.keep(std::span(operands_).subspan(first));
  operands_.resize(first);
  operands_.push_back(pair);
  return true;
}

/// [a, b], {a, b} or (a, b). A vector of one element is replaced by that element.
bool StatementReader::read_group(OperandKind kind, char closing, bool vectors) {
  const std::uint32_t begin = position_++;
  const std::size_t first = operands_.size();
  skip_space();
  if (kind != OperandKind::list || peek() != closing) {
    do {
      skip_space();
      const bool is_vector = vectors && peek() == '{';
      if (!(is_vector ? read_group(OperandKind::vector, '}', false) : read_value())) return false;
      skip_space();
    } while (accept(','));
  }
  if (!accept(closing)) return false;
  if (kind == OperandKind::vector && operands_.size() == first + 1) {
    operands_[first].text = {begin, position_};
    return true;
  }
  Operand group;
  group.kind = kind;
  group.text = {begin, position_};
  // [base + offset]: the constant belongs to the address.
  if (kind == OperandKind::address) group.offset = std::exchange(operands_[first].offset, 0);
  group.elements = builder_.keep(std::span(operands_).subspan(first));
  operands_.resize(first);
  operands_.push_back(group);
  return true;
}

bool StatementReader::read_value() {
  const std::uint32_t begin = position_;
  Operand operand;
  char sign = '\0';
  if (const char c = peek(); c == '-' || c == '!' || c == '~' || c == '+') {
    sign = c;
    ++position_;
    skip_space();
  }
  if (is(peek(), name_start)) {
    set_name(operand, word());
  } else if (!read_number(operand)) {
    return false;
  }
  if (!apply_sign(operand, sign)) return false;
  operand.text = {begin, position_};
  if (!read_addends(operand)) return false;
  operands_.push_back(operand);
  return true;
}

/// Reads `+4`, `-4` and `+-4` after a name or an integer; operand.text then includes them.
bool StatementReader::read_addends(Operand& operand) {
  std::int64_t sum = 0;
  while (true) {
    const std::uint32_t end = position_;
    const std::uint32_t end_line = line_;
    skip_space();
    const bool minus = peek() == '-';
    if (!minus && peek() != '+') {
      position_ = end;
      line_ = end_line;
      break;
    }
    if (operand.kind == OperandKind::floating) return false;
    ++position_;
    skip_space();
    const bool second_minus = accept('-');
    if (second_minus) skip_space();
    const auto value = parse_integer_literal(digits());
    if (!value) return false;
    const auto addend = static_cast<std::int64_t>(*value);
    sum = wrapping_sum(sum, minus != second_minus ? wrapping_negative(addend) : addend);
    operand.text.end = position_;
  }
  if (operand.kind == OperandKind::integer) {
    operand.integer = wrapping_sum(operand.integer, sum);
  } else {
    operand.offset = sum;
  }
  return true;
}

bool StatementReader::read_number(Operand& operand) {
  const std::uint32_t begin = position_;
  if (!is(peek(), digit)) return false;
  if (const std::string_view literal = digits(); !literal.empty()) return set_integer(operand, literal);
  // A floating-point literal is a run of letters, digits and a point, possibly with a signed exponent.
  position_ = begin;
  const bool is_bits = peek() == '0' && begin + 1 < end_ &&
                       std::string_view("fFdD").find(source_[begin + 1]) != std::string_view::npos;
  while (position_ < end_) {
    const char c = source_[position_];
    const bool exponent_sign = !is_bits && (c == '+' || c == '-') && (source_[position_ - 1] | 0x20) == 'e';
    if (!is(c, name_part) && c != '.' && !exponent_sign) break;
    ++position_;
  }
  return set_float(operand, view(begin));
}

// ---------------------------------------------------------------- tokens

void StatementReader::skip_space() {
  while (position_ < end_) {
    const char c = source_[position_];
    if (is(c, space)) {
      if (c == '\n') ++line_;
      ++position_;
    } else if (c == '#') {
      const std::uint32_t end = end_of_line_marker(source_.substr(0, end_), position_);
      if (end == position_) return;
      position_ = end;
    } else if (c != '/' || !skip_comment()) {
      return;
    }
  }
}

/// Returns false if no comment begins here, or if the comment is unterminated.
bool StatementReader::skip_comment() {
  if (position_ + 1 >= end_) return false;
  const char next = source_[position_ + 1];
  if (next == '/') {
    position_ = static_cast<std::uint32_t>(std::min<std::size_t>(source_.find('\n', position_), end_));
    return true;
  }
  if (next != '*') return false;
  const std::size_t end = source_.find("*/", position_ + 2);
  if (end == std::string_view::npos || end + 2 > end_) return false;
  move_to(static_cast<std::uint32_t>(end + 2));
  return true;
}

bool StatementReader::accept(char c) {
  if (peek() != c || position_ >= end_) return false;
  ++position_;
  return true;
}

/// Skips `::name`, and also `.name` if `dots`.
void StatementReader::skip_segments(bool dots) {
  while (true) {
    std::uint32_t next = position_;
    if (dots && peek() == '.') {
      next += 1;
    } else if (peek() == ':' && position_ + 1 < end_ && source_[position_ + 1] == ':') {
      next += 2;
    } else {
      return;
    }
    if (next >= end_ || !is(source_[next], name_part)) return;
    position_ = next;
    while (position_ < end_ && is(source_[position_], name_part)) ++position_;
  }
}

/// Returns empty if another token is next.
std::string_view StatementReader::word() {
  const std::uint32_t begin = position_;
  if (!is(peek(), name_start)) return {};
  ++position_;
  while (position_ < end_ && is(source_[position_], name_part)) ++position_;
  skip_segments(true);
  return view(begin);
}

std::string_view StatementReader::directive() {
  const std::uint32_t begin = position_;
  if (peek() != '.' || begin + 1 >= end_ || !is(source_[begin + 1], name_start)) return {};
  position_ += 2;
  while (position_ < end_ && is(source_[position_], name_part)) ++position_;
  skip_segments(false);
  return view(begin);
}

/// Returns an integer literal; empty, perhaps after consuming part of it, if the text is not an integer.
std::string_view StatementReader::digits() {
  const std::uint32_t begin = position_;
  if (!is(peek(), digit)) return {};
  while (position_ < end_ && is(source_[position_], name_part)) ++position_;
  const std::string_view literal = view(begin);
  if (peek() == '.') return {};
  const bool is_plain = std::ranges::all_of(literal, [](char c) { return is(c, digit); });
  return is_plain || parse_integer_literal(literal) ? literal : std::string_view();
}

bool StatementReader::skip_string() {
  if (!accept('"')) return false;
  while (position_ < end_) {
    const char c = source_[position_++];
    if (c == '"') return true;
    if (c == '\n' || c == '\r') return false;
    if (c == '\\') {
      if (peek() == '\n') ++line_;
      ++position_;
    }
  }
  return false;
}

}  // namespace lynxpp::ptx
