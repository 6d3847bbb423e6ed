// Initialisers of variables ▶ bytes and relocations.
#include <algorithm>
#include <bit>
#include <string>

#include "ptx/parser/constant_expression.h"
#include "ptx/parser/cursor.h"
#include "ptx/parser/declaration.h"
#include "ptx/parser/literal.h"
#include "ptx/parser/parser.h"

namespace lynxpp::ptx {
namespace {

constexpr std::uint64_t maximum_bytes = std::uint64_t{1} << 32;
constexpr const char* file_name = "<ptx>";  ///< in diagnostics

/// An address in an initialiser: symbol or generic(symbol), each with an optional addend.
struct Address {
  std::string symbol;
  std::int64_t addend = 0;
  bool generic = false;
};

class InitializerParser {
 public:
  InitializerParser(std::string_view text, const Declarator& declarator, InitialValue& value)
      : cursor_(text, declarator.variable.initializer.begin, declarator.variable.initializer.end),
        variable_(declarator.variable),
        extents_(declarator.extents),
        element_bytes_(size_of(variable_.type)),
        value_(value) {
    if (variable_.vector > 1) extents_.push_back(variable_.vector);
  }

  std::optional<Diagnostic> parse() {
    std::uint64_t elements = 1;
    for (const std::uint64_t extent : extents_) elements *= extent;
    if (cursor_.peek() == '{') {
      group(0, 0, elements);
    } else {
      element(0);
    }
    if (!cursor_.failed() && !cursor_.at_end()) {
      cursor_.fail("unexpected " + cursor_.describe_next() + " in the initialiser of '" + variable_.name +
                   "'");
    }
    return cursor_.error();
  }

 private:
  /// Parses `{ … }` into elements [first, first + count) of the array; it is inside `depth` braces.
  void group(std::size_t depth, std::uint64_t first, std::uint64_t count) {
    cursor_.expect('{', "in an initialiser");
    const std::uint64_t row = depth < extents_.size() && extents_[depth] > 0 ? count / extents_[depth] : 1;
    std::uint64_t next = first;
    while (!cursor_.failed() && !cursor_.accept('}')) {
      const std::uint32_t place = cursor_.position();
      const bool nested = cursor_.peek() == '{';
      const std::uint64_t wanted = nested ? row : 1;
      if (next + wanted > first + count) {
        cursor_.fail_at(place, "'" + variable_.name + "' has more initial values than elements");
      } else if (nested && depth + 1 >= std::max<std::size_t>(extents_.size(), 1)) {
        cursor_.fail_at(place, "the nesting of braces exceeds the array's dimensions");
      } else if (nested) {
        group(depth + 1, next, row);
      } else {
        element(next);
      }
      next += wanted;
      if (!cursor_.failed() && !cursor_.accept(',') && cursor_.peek() != '}') {
        cursor_.fail("expected ',' or '}' instead of " + cursor_.describe_next());
      }
    }
  }

  void element(std::uint64_t index) {
    const std::uint64_t offset = index * element_bytes_;
    std::uint64_t mask = 0;
    if (is_floating_literal(rest())) return constant_element(offset, 0);
    if (const auto masked = open_mask()) mask = *masked;
    if (cursor_.failed()) return;
    if (at_symbol()) {
      address_element(offset, mask);
    } else {
      constant_element(offset, mask);
    }
    if (mask != 0 && !cursor_.failed()) cursor_.expect(')', "after a masked value");
  }

  std::string_view rest() {
    return cursor_.text().substr(std::min<std::size_t>(cursor_.position(), cursor_.text().size()));
  }

  bool at_symbol() {
    const std::string_view text = rest();
    return !text.empty() && is_identifier_start(text[0]) && !text.starts_with("WARP_SZ");
  }

  /// Consumes `0xff(` or `mask(0xff,` and returns the mask; nullopt if neither is next.
  std::optional<std::uint64_t> open_mask() {
    const std::uint32_t begin = cursor_.position();
    std::optional<std::uint64_t> mask;
    if (rest().starts_with("mask")) {
      cursor_.identifier();
      if (!cursor_.accept('(')) {  // a symbol named like the mask
        cursor_.move_to(begin);
        return std::nullopt;
      }
      mask = cursor_.integer();
      cursor_.expect(',', "after a mask");
    } else {
      mask = cursor_.integer();
      if (cursor_.failed()) return std::nullopt;
      if (!mask || !cursor_.accept('(')) {
        cursor_.move_to(begin);
        return std::nullopt;
      }
    }
    if (cursor_.failed()) return std::nullopt;
    const std::uint64_t ones = mask && *mask != 0 ? *mask >> std::countr_zero(*mask) : 0;
    if (ones != 0xff || std::countr_zero(*mask) % 8 != 0) {
      cursor_.fail_at(begin, "a mask selects one byte: 0xff, 0xff00, …");
      return std::nullopt;
    }
    return mask;
  }

  void address_element(std::uint64_t offset, std::uint64_t mask) {
    const std::uint32_t place = cursor_.position();
    const Address address = parse_address();
    if (cursor_.failed()) return;
    Relocation relocation{offset,          static_cast<std::uint32_t>(element_bytes_),
                          address.symbol,  address.addend,
                          address.generic, 0};
    if (mask != 0) {
      relocation.bytes = 1;
      relocation.shift = static_cast<std::uint32_t>(std::countr_zero(mask));
    } else if (element_bytes_ < 4 || element_bytes_ > 8) {
      cursor_.fail_at(place, "an address does not fit the type " + variable_.type_text);
    }
    value_.relocations.push_back(std::move(relocation));
  }

  Address parse_address() {
    Address address;
    const std::string_view word = cursor_.identifier();
    if (word == "generic" && cursor_.accept('(')) {
      address.generic = true;
      address.symbol = std::string(cursor_.identifier());
      if (address.symbol.empty()) cursor_.fail("expected a name instead of " + cursor_.describe_next());
      address.addend = parse_addend();
      if (!cursor_.failed()) cursor_.expect(')', "after generic(…");
      address.addend += parse_addend();
    } else {
      address.symbol = std::string(word);
      address.addend = parse_addend();
    }
    return address;
  }

  std::int64_t parse_addend() {
    if (cursor_.failed() || (cursor_.peek() != '+' && cursor_.peek() != '-')) return 0;
    return integer_expression(cursor_).value_or(0);  // starting with its sign
  }

  void constant_element(std::uint64_t offset, std::uint64_t mask) {
    const std::uint32_t place = cursor_.position();
    const auto constant = constant_expression(cursor_);
    if (!constant) return;
    if (constant->is_floating && mask == 0) return floating_element(offset, constant->floating, place);
    if (constant->is_floating) return cursor_.fail_at(place, "a mask selects a byte of an integer");
    const std::int64_t number = constant->integer;
    auto bits = static_cast<std::uint64_t>(number);
    if (mask != 0) bits = (bits & mask) >> std::countr_zero(mask);
    if (variable_.type == DataType::f32) bits = std::bit_cast<std::uint32_t>(static_cast<float>(number));
    if (variable_.type == DataType::f64) bits = std::bit_cast<std::uint64_t>(static_cast<double>(number));
    store(offset, bits);
  }

  void floating_element(std::uint64_t offset, const FloatLiteral& literal, std::uint32_t place) {
    const bool single =
        variable_.type == DataType::f32 || (variable_.type != DataType::f64 && literal.is_single);
    if ((single ? 4U : 8U) != element_bytes_)
      return cursor_.fail_at(place, "a floating-point value does not fit the type " + variable_.type_text);
    store(offset, single ? std::bit_cast<std::uint32_t>(static_cast<float>(literal.value()))
                         : std::bit_cast<std::uint64_t>(literal.value()));
  }

  void store(std::uint64_t offset, std::uint64_t bits) {
    for (std::uint64_t byte = 0; byte < std::min<std::uint64_t>(element_bytes_, 8); ++byte) {
      value_.bytes[offset + byte] = static_cast<std::uint8_t>(bits >> (8 * byte));
    }
  }

  Cursor cursor_;
  const Variable& variable_;
  std::vector<std::uint64_t> extents_;
  std::uint64_t element_bytes_;
  InitialValue& value_;
};

Failure failure_in(const Module& module, const Variable& variable, std::string message) {
  SourceLocation place = locate(module.source(), variable.text.begin);
  place.file = file_name;
  return failure_at(std::move(place), std::move(message));
}

/// Parses the declaration again for its extents, since the IR keeps only their product.
Result<Declarator> find_declarator(const Module& module, const Variable& variable) {
  Cursor cursor(module.source(), variable.text.begin, variable.text.end);
  const Linkage linkage = parse_linkage(cursor);
  for (Declarator& declarator : parse_variable_declaration(cursor, linkage, variable.text.begin)) {
    if (declarator.variable.name == variable.name) return std::move(declarator);
  }
  return failure_in(module, variable, "the declaration of '" + variable.name + "' cannot be parsed again");
}

}  // namespace

Result<InitialValue> parse_initial_value(const Module& module, const Variable& variable) {
  InitialValue value;
  const std::uint64_t bytes = variable.size_bytes();
  if (bytes > maximum_bytes)
    return failure_in(module, variable, "the variable '" + variable.name + "' is larger than 4 GiB");
  value.bytes.resize(bytes);
  if (!variable.has_initializer) return value;
  Result<Declarator> declarator = find_declarator(module, variable);
  if (!declarator) return std::move(declarator.error());
  if (declarator->variable.size_bytes() != bytes || bytes == 0) {
    return failure_in(module, variable,
                      "the variable '" + variable.name + "' of type " + variable.type_text +
                          " cannot have an initial value");
  }
  if (const auto error = InitializerParser(module.source(), *declarator, value).parse()) {
    Diagnostic diagnostic = *error;
    diagnostic.location.file = file_name;
    return Failure{{std::move(diagnostic)}};
  }
  return value;
}

}  // namespace lynxpp::ptx
