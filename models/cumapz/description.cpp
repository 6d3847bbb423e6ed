#include "models/cumapz/description.h"

#include <algorithm>

namespace lynxpp::models::cumapz {
namespace {

constexpr std::size_t most_variants = 10'000;
constexpr std::int64_t most_blocks = (std::int64_t{1} << 31) - 1;
constexpr std::int64_t most_threads = 1024;
constexpr std::int64_t most_registers = 255;
constexpr std::int64_t most_shared_bytes = std::int64_t{1} << 20;

/// Fills a variant, expression by expression, in textual order.
class Binding {
 public:
  Binding(const Description& description, const std::map<std::string, std::int64_t>& given)
      : description_(description), given_(given), frame_(description.slots, Column(1, 0)) {}

  Diagnostics problems;

  Variant bind(const std::vector<std::size_t>& chosen) {
    Variant variant;
    for (std::size_t i = 0; i < description_.constants.size(); ++i) {
      const Constant& constant = description_.constants[i];
      const auto replaced = given_.find(constant.name);
      const std::int64_t value =
          replaced != given_.end() ? replaced->second : value_of(constant.values[chosen[i]]);
      frame_[constant.slot][0] = value;
      variant.constants.push_back(value);
      if (constant.is_choice && replaced == given_.end()) variant.choices.emplace_back(constant.name, value);
    }
    for (unsigned d = 0; d < 3; ++d) {
      variant.grid[d] = within(description_.grid[d], 1, "the grid's size", 1, d == 0 ? most_blocks : 65535);
      variant.block[d] = within(description_.block[d], 1, "the block's size", 1, most_threads);
    }
    if (variant.grid[0] > most_blocks / variant.grid[1] / variant.grid[2])
      add(description_.grid[0].position, "the grid has 2^31 blocks or more");
    if (variant.threads() > most_threads)
      add(description_.block[0].position,
          "a block can have at most 1024 threads; this one has " + std::to_string(variant.threads()));
    variant.registers = within(description_.registers, 0, "the registers of a thread", 1, most_registers);
    for (const Array& array : description_.arrays)
      variant.array_bytes.push_back(within(array.element_bytes, 4, "an element's bytes", 1, 16));
    for (const SharedArray& array : description_.shared) {
      variant.shared_bytes.push_back(within(array.element_bytes, 4, "an element's bytes", 1, 16));
      variant.shared_elements.push_back(
          within(array.elements, 0, "the number of elements", 0, most_shared_bytes));
    }
    return variant;
  }

 private:
  std::int64_t value_of(const Expression& expression) {
    const std::optional<Column> value = evaluate(expression, frame_, Mask(1, 1));
    if (value) return value->front();
    add(expression.position, "this divides by zero");
    return 1;
  }

  std::int64_t within(const Expression& expression, std::int64_t otherwise, const char* what,
                      std::int64_t least, std::int64_t most) {
    if (expression.empty()) return otherwise;
    const std::int64_t value = value_of(expression);
    if (value >= least && value <= most) return value;
    add(expression.position, std::string(what) + " is " + std::to_string(value),
        "from " + std::to_string(least) + " to " + std::to_string(most));
    return least;
  }

  void add(const Position& at, std::string message, std::string hint = {}) {
    problems.push_back({Severity::error,
                        {description_.file, at.line, at.column, at.length},
                        std::move(message),
                        std::move(hint)});
  }

  const Description& description_;
  const std::map<std::string, std::int64_t>& given_;
  Frame frame_;
};

Status check_names(const Description& description, const std::map<std::string, std::int64_t>& given) {
  std::vector<std::string> names;
  for (const Constant& constant : description.constants) names.push_back(constant.name);
  for (const auto& [name, value] : given) {
    if (std::ranges::find(names, name) != names.end()) continue;
    const std::string close = closest_match(name, names);
    return failure_at({description.file, 0, 0, 1}, "there is no constant or choice '" + name + "'",
                      close.empty() ? "" : "did you mean '" + close + "'?");
  }
  return success();
}

/// Advances to the next combination of choices, the last one changing fastest; returns false after the last
/// combination.
bool take_next(const std::vector<std::size_t>& sizes, std::vector<std::size_t>& chosen) {
  for (std::size_t i = sizes.size(); i-- > 0;) {
    if (++chosen[i] < sizes[i]) return true;
    chosen[i] = 0;
  }
  return false;
}

}  // namespace

std::int64_t Variant::elements_of_shared(std::size_t array) const {
  const std::int64_t elements = shared_elements[array];
  return elements == 0 ? 0 : position_in_shared(array, elements - 1) + 1;
}

std::int64_t Variant::bytes_of_shared() const {
  std::int64_t sum = 0;
  for (std::size_t i = 0; i < shared_bytes.size(); ++i) sum += shared_bytes[i] * elements_of_shared(i);
  return sum;
}

std::int64_t Variant::position_in_shared(std::size_t array, std::int64_t index) const {
  if (array >= layouts.size() || layouts[array].row == 0) return index;
  const SharedLayout& layout = layouts[array];
  const std::int64_t columns = shared_elements[array] / layout.row;
  const std::int64_t row = layout.by_columns ? columns : layout.row;
  const std::int64_t place = layout.by_columns ? index % layout.row * columns + index / layout.row : index;
  return place + place / row * layout.padding;
}

Result<std::vector<Variant>> variants_of(const Description& description,
                                         const std::map<std::string, std::int64_t>& given) {
  if (const Status names = check_names(description, given); !names) return names.error();
  std::vector<std::size_t> sizes;
  std::size_t combinations = 1;
  for (const Constant& constant : description.constants) {
    sizes.push_back(given.contains(constant.name) ? 1 : constant.values.size());
    combinations *= sizes.back();
    if (combinations > most_variants)
      return failure_at({description.file, 0, 0, 1}, "there are more than 10,000 combinations of choices",
                        "give some of them a value: -D NAME=VALUE");
  }
  std::vector<Variant> variants;
  std::vector<std::size_t> chosen(sizes.size(), 0);
  Binding binding(description, given);
  do {
    variants.push_back(binding.bind(chosen));
    if (!binding.problems.empty()) return Failure{std::move(binding.problems)};
  } while (take_next(sizes, chosen));
  return variants;
}

}  // namespace lynxpp::models::cumapz
