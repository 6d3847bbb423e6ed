// Possible changes to a description, derived from its text.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "models/cumapz/description.h"

namespace lynxpp::models::cumapz {

/// A property to change, and its possible values; the first is the current one.
struct Change {
  enum class Kind : std::uint8_t { fetch, padding, layout, threads, blocks, constant };
  Kind kind = Kind::fetch;
  std::string name;
  std::vector<std::string> values;
  std::uint32_t number = 0;           ///< index of the fetch's reference, the shared array, or the constant
  std::vector<Element> elements;      ///< for a fetch, by value; without an index: no fetch
  std::vector<std::int64_t> numbers;  ///< for a constant, by value
};

/// Constants in `given` are fixed. Diagonal blocks are not offered if the description has an order.
std::vector<Change> changes_of(const Description& description,
                               const std::map<std::string, std::int64_t>& given);

/// Returns the number of elements in a row of a shared array: the largest constant factor of one of its
/// indices that divides its size; 0 if there is no such factor.
std::int64_t row_of(const Description& description, const Variant& variant, std::uint32_t shared);

}  // namespace lynxpp::models::cumapz
