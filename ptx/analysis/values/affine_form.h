// Sums of products: constant + Σ coefficient × symbol × …, the form addresses usually have.
//
// Arithmetic is that of the machine: forms of 32 bits hold modulo 2³², forms of 64 bits modulo 2⁶⁴;
// coefficients are kept as the signed number of that width.
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
  iteration,  ///< how often the loop `index` has gone back to its header since it was entered
  parameter,  ///< what the kernel's parameter `name` holds at byte `index`
  variable,   ///< the address of the variable `name`
  value,      ///< a value of which nothing is known but that it is one: SSA value `index`
};

struct Symbol {
  SymbolKind kind = SymbolKind::value;
  std::uint32_t index = 0;
  std::string_view name;
  /// What the number may be, when it is read as a signed number of its width where minimum < 0, else as an
  /// unsigned one.
  std::int64_t minimum = 0;
  std::int64_t maximum = 0;
  /// The number is the same whether its width is read as signed or as unsigned, and minimum and maximum hold.
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
  std::vector<Term> terms;  ///< ascending by product, no coefficient is zero
  std::uint8_t bits = 32;
  /// False: holds provided that the 32-bit arithmetic in it did not overflow before it was widened to 64 bits
  /// (as C++ says of signed indices). True: holds always.
  bool exact = true;

  bool is_constant() const { return terms.empty(); }
  /// The coefficient of the symbol by itself; 0 when there is none.
  std::int64_t coefficient_of(SymbolId symbol) const;
  /// Whether the symbol occurs, alone or in a product.
  bool mentions(SymbolId symbol) const;

  bool operator==(const AffineForm&) const = default;
};

AffineForm constant_form(std::int64_t constant, std::uint8_t bits);
AffineForm symbol_form(SymbolId symbol, std::uint8_t bits);
/// Precondition of these: equal widths. nullopt: more terms or longer products than a form holds.
std::optional<AffineForm> add(const AffineForm& left, const AffineForm& right);
std::optional<AffineForm> multiply(const AffineForm& left, const AffineForm& right);
AffineForm scale(const AffineForm& form, std::int64_t factor);
/// The same number modulo 2^bits, for bits up to the form's own.
AffineForm narrow(const AffineForm& form, std::uint8_t bits);
/// `form` with every occurrence of `symbol` replaced.
std::optional<AffineForm> substitute(const AffineForm& form, SymbolId symbol, const AffineForm& replacement);

/// All numbers the form can be when computed without wrapping around; nullopt when a symbol is not bounded.
__extension__ using Wide = __int128;  // products of two 64-bit numbers
struct Interval {
  Wide minimum = 0;
  Wide maximum = 0;
};
std::optional<Interval> interval_of(const AffineForm& form, const std::vector<Symbol>& symbols);

/// "4*tid.x + 4*ctaid.x*ntid.x + [k_param_0] + 16"; loops are iteration(0), values value(7). A form that is
/// not exact ends in " ?".
std::string to_string(const AffineForm& form, const std::vector<Symbol>& symbols);
std::string to_string(const Symbol& symbol);

}  // namespace lynxpp::ptx
