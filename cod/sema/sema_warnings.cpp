// Warnings: code that is valid but probably a mistake.
#include <algorithm>

#include "cod/sema/analyser.h"
#include "cod/sema/constant.h"

namespace lynxpp::cod {
namespace {

std::optional<std::uint64_t> fixed_extent(const Dimension& dimension) {
  if (dimension.extent == Extent::lanes) return 32;
  return dimension.extent == Extent::constant ? std::optional(dimension.constant) : std::nullopt;
}

}  // namespace

/// Some code is analysed more than once; its warnings are not repeated.
void Analyser::warn(const Position& position, std::string message, std::string hint) {
  Diagnostic warning{Severity::warning, program_.locate(position), std::move(message), std::move(hint)};
  const auto is_same = [&](const Diagnostic& other) {
    return other.location.line == warning.location.line && other.location.column == warning.location.column &&
           other.message == warning.message;
  };
  if (std::ranges::none_of(warnings_, is_same)) warnings_.push_back(std::move(warning));
}

void Analyser::warn_of_zero_divisor(const Expression& divisor, Type type) {
  if (!is_integer(type)) return;
  const auto constant = evaluate(divisor);
  if (constant && is_integer(constant->type) && constant->integer == 0)
    warn(divisor.position, "division by zero yields 0", "");
}

/// Checks the constant indices of an array element.
void Analyser::warn_of_indices(const Expression& element) {
  const Symbol& array = *element.symbol;
  if (array.memory == Symbol::Memory::indirect || array.is_in_map()) return;
  for (std::size_t i = 0; i < std::min(array.dimensions.size(), element.operands.size()); ++i) {
    const Expression& index = *element.operands[i];
    const auto extent = fixed_extent(array.dimensions[i]);
    const auto constant = extent ? evaluate(index) : std::nullopt;
    if (!constant || !is_integer(constant->type) || constant->integer < *extent) continue;
    const std::string number = is_signed(constant->type)
                                   ? std::to_string(static_cast<std::int64_t>(constant->integer))
                                   : std::to_string(constant->integer);
    warn(index.position,
         "index " + number + " is out of range for '" + array.name + "', whose extent is " +
             std::to_string(*extent),
         "the access is skipped; indices start at 0");
  }
}

void Analyser::warn_of_endless_loop(const Statement& loop) {
  const auto constant = loop.condition ? evaluate(*loop.condition) : std::nullopt;
  const Exits exits = exits_of(*loop.children[0]);
  if ((loop.condition && !(constant && is_true(*constant))) || exits.breaks || exits.returns) return;
  warn(loop.position, "this loop is infinite", "add a condition, or a 'break' or 'return'");
}

/// Warns of shared arrays that are read and updated but never set.
void Analyser::warn_of_unset_arrays() {
  for (const auto& symbol : program_.symbols) {
    const bool is_shared = symbol->kind == Symbol::Kind::array && symbol->memory == Symbol::Memory::shared;
    if (!is_shared || symbol->reads == 0 || symbol->is_set) continue;
    warn(symbol->position,
         "'" + symbol->name + "' is never set, and the initial contents of a 'shared' array are undefined",
         "assign its elements in ON_KERNEL_ENTRY and call 'syncThreads();' there");
  }
}

}  // namespace lynxpp::cod
