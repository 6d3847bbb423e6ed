// Sums of products: constant + Σ coefficient × symbol × …, the usual form of addresses.
//
// Arithmetic is machine arithmetic: modulo 2³² for 32-bit forms, modulo 2⁶⁴ for 64-bit forms; coefficients
// are stored as signed integers of that width.
#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace lynxpp::ptx {

enum class SymbolKind : std::uint8_t {
  tid,        ///< %tid; Symbol::index is the dimension, 0 for x
  ntid,       ///< %ntid
  ctaid,      ///< %ctaid
  nctaid,     ///< %nctaid
  iteration,  ///< number of back edges taken in loop `index` since it was entered
  parameter,  ///< contents of kernel parameter `name` at byte `index`
  variable,   ///< the address of the variable `name`
  value,      ///< an unknown value: SSA value `index`
};

struct Symbol {
  SymbolKind kind = SymbolKind::value;
  std::uint32_t index = 0;
  std::string_view name;
  /// Range of the value, read as a signed integer of its width if minimum < 0, otherwise as an unsigned one.
  std::int64_t minimum = 0;
  std::int64_t maximum = 0;
  /// The signed and unsigned readings of the value are equal, and minimum and maximum hold.
  bool is_bounded = false;
};
using SymbolId = std::uint32_t;

/// A product of up to four symbols, ascending.
struct Product {
  std::array<SymbolId, 4> symbols{};
  std::uint8_t degree = 0;
  auto operator<=>(const Product&) const = default;
  bool contains(SymbolId symbol) const;
};

struct Term {
  Product product;
  std::int64_t coefficient = 0;
  auto operator<=>(const Term&) const = default;
};

struct AffineForm {
  std::int64_t constant = 0;
  std::vector<Term> terms;  ///< ascending by product, no zero coefficients
  std::uint8_t bits = 32;
  /// False: holds if the 32-bit arithmetic in it did not overflow before it was widened to 64 bits (as C++
  /// guarantees for signed indices). True: always holds.
  bool exact = true;

  bool is_constant() const { return terms.empty(); }
  /// The coefficient of the symbol by itself; 0 if it does not occur alone.
  std::int64_t coefficient_of(SymbolId symbol) const;

  bool operator==(const AffineForm&) const = default;
};

AffineForm constant_form(std::int64_t constant, std::uint8_t bits);
AffineForm symbol_form(SymbolId symbol, std::uint8_t bits);
/// Precondition: equal widths. nullopt if the result has more terms or longer products than a form holds.
std::optional<AffineForm> add(const AffineForm& left, const AffineForm& right);
std::optional<AffineForm> multiply(const AffineForm& left, const AffineForm& right);
AffineForm scale(const AffineForm& form, std::int64_t factor);
/// The same value modulo 2^bits, for bits up to the form's own.
AffineForm narrow(const AffineForm& form, std::uint8_t bits);
/// Returns `form` with every occurrence of `symbol` replaced.
std::optional<AffineForm> substitute(const AffineForm& form, SymbolId symbol, const AffineForm& replacement);

/// The range of the form's values if it does not wrap around; nullopt if a symbol is not bounded.
__extension__ using Wide = __int128;  // products of two 64-bit numbers
struct Interval {
  Wide minimum = 0;
  Wide maximum = 0;
};
std::optional<Interval> interval_of(const AffineForm& form, const std::vector<Symbol>& symbols);

/// "4*tid.x + 4*ctaid.x*ntid.x + [k_param_0] + 16"; loop counters print as iteration(0), values as value(7).
/// An inexact form ends in " ?".
std::string to_string(const AffineForm& form, const std::vector<Symbol>& symbols);
std::string to_string(const Symbol& symbol);

}  // namespace lynxpp::ptx
