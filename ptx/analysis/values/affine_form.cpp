#include "ptx/analysis/values/affine_form.h"

#include <algorithm>
#include <limits>

#include "support/check.h"

namespace lynxpp::ptx {
namespace {

constexpr std::size_t most_terms = 16;

/// Returns `value` as the signed integer of that width.
std::int64_t wrap(std::uint64_t value, std::uint8_t bits) {
  if (bits >= 64) return static_cast<std::int64_t>(value);
  const std::uint64_t sign = std::uint64_t{1} << (bits - 1);
  value &= (sign << 1) - 1;
  return static_cast<std::int64_t>((value ^ sign) - sign);
}
std::int64_t wrapping_multiply(std::int64_t left, std::int64_t right, std::uint8_t bits) {
  return wrap(static_cast<std::uint64_t>(left) * static_cast<std::uint64_t>(right), bits);
}
std::int64_t wrapping_add(std::int64_t left, std::int64_t right, std::uint8_t bits) {
  return wrap(static_cast<std::uint64_t>(left) + static_cast<std::uint64_t>(right), bits);
}

/// Sorts the terms, adds those of the same product and drops zero terms.
std::optional<AffineForm> normalize(AffineForm form) {
  std::ranges::sort(form.terms,
                    [](const Term& left, const Term& right) { return left.product < right.product; });
  std::vector<Term> terms;
  for (const Term& term : form.terms) {
    if (!terms.empty() && terms.back().product == term.product) {
      terms.back().coefficient = wrapping_add(terms.back().coefficient, term.coefficient, form.bits);
    } else {
      terms.push_back({term.product, wrap(static_cast<std::uint64_t>(term.coefficient), form.bits)});
    }
  }
  std::erase_if(terms, [](const Term& term) { return term.coefficient == 0; });
  if (terms.size() > most_terms) return std::nullopt;
  form.terms = std::move(terms);
  form.constant = wrap(static_cast<std::uint64_t>(form.constant), form.bits);
  return form;
}

std::optional<Product> multiply(const Product& left, const Product& right) {
  Product result;
  if (left.degree + right.degree > static_cast<int>(result.symbols.size())) return std::nullopt;
  std::merge(left.symbols.begin(), left.symbols.begin() + left.degree, right.symbols.begin(),
             right.symbols.begin() + right.degree, result.symbols.begin());
  result.degree = static_cast<std::uint8_t>(left.degree + right.degree);
  return result;
}

Product without_one(const Product& product, SymbolId symbol) {
  Product result;
  bool removed = false;
  for (std::uint8_t index = 0; index < product.degree; ++index) {
    if (!removed && product.symbols[index] == symbol) {
      removed = true;
    } else {
      result.symbols[result.degree++] = product.symbols[index];
    }
  }
  return result;
}

/// ctaid.d × ntid.d counts the threads before the block: it is bounded by the grid, not by the product of the
/// two bounds.
bool is_first_thread_of_block(const Product& product, const std::vector<Symbol>& symbols) {
  if (product.degree != 2) return false;
  const Symbol& first = symbols[product.symbols[0]];
  const Symbol& second = symbols[product.symbols[1]];
  const bool kinds = (first.kind == SymbolKind::ctaid && second.kind == SymbolKind::ntid) ||
                     (first.kind == SymbolKind::ntid && second.kind == SymbolKind::ctaid);
  return kinds && first.index == second.index;
}

std::optional<Interval> interval_of(const Product& product, const std::vector<Symbol>& symbols) {
  constexpr Wide largest_thread_count = std::numeric_limits<std::int32_t>::max() - 1024;
  if (is_first_thread_of_block(product, symbols)) return Interval{0, largest_thread_count};
  Interval result{1, 1};
  constexpr Wide limit = Wide{1} << 62;
  for (std::uint8_t index = 0; index < product.degree; ++index) {
    const Symbol& symbol = symbols[product.symbols[index]];
    if (!symbol.is_bounded || result.maximum > limit || result.minimum < -limit) return std::nullopt;
    const auto corners = {result.minimum * symbol.minimum, result.minimum * symbol.maximum,
                          result.maximum * symbol.minimum, result.maximum * symbol.maximum};
    result = {std::min(corners), std::max(corners)};
  }
  if (result.maximum > limit || result.minimum < -limit) return std::nullopt;
  return result;
}

}  // namespace

bool Product::contains(SymbolId symbol) const {
  return std::find(symbols.begin(), symbols.begin() + degree, symbol) != symbols.begin() + degree;
}

std::int64_t AffineForm::coefficient_of(SymbolId symbol) const {
  for (const Term& term : terms) {
    if (term.product.degree == 1 && term.product.symbols[0] == symbol) return term.coefficient;
  }
  return 0;
}

AffineForm constant_form(std::int64_t constant, std::uint8_t bits) {
  AffineForm form;
  form.bits = bits;
  form.constant = wrap(static_cast<std::uint64_t>(constant), bits);
  return form;
}

AffineForm symbol_form(SymbolId symbol, std::uint8_t bits) {
  AffineForm form;
  form.bits = bits;
  Product product;
  product.symbols[0] = symbol;
  product.degree = 1;
  form.terms.push_back({product, 1});
  return form;
}

std::optional<AffineForm> add(const AffineForm& left, const AffineForm& right) {
  LYNXPP_CHECK(left.bits == right.bits, "forms of different widths");
  AffineForm sum = left;
  sum.constant = wrapping_add(left.constant, right.constant, left.bits);
  sum.exact = left.exact && right.exact;
  sum.terms.insert(sum.terms.end(), right.terms.begin(), right.terms.end());
  return normalize(std::move(sum));
}

std::optional<AffineForm> multiply(const AffineForm& left, const AffineForm& right) {
  LYNXPP_CHECK(left.bits == right.bits, "forms of different widths");
  AffineForm result = constant_form(wrapping_multiply(left.constant, right.constant, left.bits), left.bits);
  result.exact = left.exact && right.exact;
  for (const Term& term : left.terms) {
    result.terms.push_back({term.product, wrapping_multiply(term.coefficient, right.constant, left.bits)});
    for (const Term& other : right.terms) {
      const std::optional<Product> product = multiply(term.product, other.product);
      if (!product) return std::nullopt;
      result.terms.push_back({*product, wrapping_multiply(term.coefficient, other.coefficient, left.bits)});
    }
  }
  for (const Term& other : right.terms)
    result.terms.push_back({other.product, wrapping_multiply(other.coefficient, left.constant, left.bits)});
  return normalize(std::move(result));
}

AffineForm scale(const AffineForm& form, std::int64_t factor) {
  AffineForm result = form;
  result.constant = wrapping_multiply(form.constant, factor, form.bits);
  for (Term& term : result.terms) term.coefficient = wrapping_multiply(term.coefficient, factor, form.bits);
  return *normalize(std::move(result));  // no more terms than the input
}

AffineForm narrow(const AffineForm& form, std::uint8_t bits) {
  AffineForm result = form;
  result.bits = bits;
  return *normalize(std::move(result));
}

std::optional<AffineForm> substitute(const AffineForm& form, SymbolId symbol, const AffineForm& replacement) {
  AffineForm rest = constant_form(form.constant, form.bits);
  rest.exact = form.exact;
  for (const Term& term : form.terms) {
    AffineForm factor = constant_form(term.coefficient, form.bits);
    Product product = term.product;
    while (product.contains(symbol)) {
      product = without_one(product, symbol);
      auto longer = multiply(factor, replacement);
      if (!longer) return std::nullopt;
      factor = std::move(*longer);
    }
    AffineForm others = constant_form(product.degree == 0 ? 1 : 0, form.bits);
    if (product.degree > 0) others.terms.push_back({product, 1});
    const auto whole = multiply(factor, others);
    if (!whole) return std::nullopt;
    auto sum = add(rest, *whole);
    if (!sum) return std::nullopt;
    rest = std::move(*sum);
  }
  return rest;
}

std::optional<Interval> interval_of(const AffineForm& form, const std::vector<Symbol>& symbols) {
  Interval sum{form.constant, form.constant};
  for (const Term& term : form.terms) {
    const std::optional<Interval> product = interval_of(term.product, symbols);
    if (!product) return std::nullopt;
    const Wide left = product->minimum * term.coefficient;
    const Wide right = product->maximum * term.coefficient;
    sum.minimum += std::min(left, right);
    sum.maximum += std::max(left, right);
  }
  return sum;
}

std::string to_string(const Symbol& symbol) {
  static constexpr const char* dimensions[] = {"x", "y", "z"};
  const auto with_dimension = [&](const char* name) {
    return std::string(name) + "." + dimensions[symbol.index % 3];
  };
  switch (symbol.kind) {
    case SymbolKind::tid: return with_dimension("tid");
    case SymbolKind::ntid: return with_dimension("ntid");
    case SymbolKind::ctaid: return with_dimension("ctaid");
    case SymbolKind::nctaid: return with_dimension("nctaid");
    case SymbolKind::iteration: return "iteration(" + std::to_string(symbol.index) + ")";
    case SymbolKind::parameter:
      return "[" + std::string(symbol.name) + (symbol.index == 0 ? "" : "+" + std::to_string(symbol.index)) +
             "]";
    case SymbolKind::variable: return std::string(symbol.name);
    case SymbolKind::value: return "value(" + std::to_string(symbol.index) + ")";
  }
  return {};
}

std::string to_string(const AffineForm& form, const std::vector<Symbol>& symbols) {
  std::string text;
  const auto begin_term = [&text](bool negative) {
    if (text.empty()) {
      if (negative) text += "-";
    } else {
      text += negative ? " - " : " + ";
    }
  };
  const auto magnitude = [](std::int64_t value) {
    const auto bits = static_cast<std::uint64_t>(value);
    return std::to_string(value < 0 ? 0 - bits : bits);
  };
  for (const Term& term : form.terms) {
    begin_term(term.coefficient < 0);
    if (term.coefficient != 1 && term.coefficient != -1) text += magnitude(term.coefficient) + "*";
    for (std::uint8_t index = 0; index < term.product.degree; ++index)
      text += (index > 0 ? "*" : "") + to_string(symbols[term.product.symbols[index]]);
  }
  if (form.constant != 0 || text.empty()) {
    begin_term(form.constant < 0);
    text += magnitude(form.constant);
  }
  return form.exact ? text : text + " ?";
}

}  // namespace lynxpp::ptx
