// What can be changed in a description, found in its text.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "models/cumapz/description.h"

namespace lynxpp::models::cumapz {

/// Something to change, and what it can become; the first is what is written.
struct Change {
  enum class Kind : std::uint8_t { fetch, padding, layout, threads, blocks, constant };
  Kind kind = Kind::fetch;
  std::string name;
  std::vector<std::string> values;
  std::uint32_t number = 0;           ///< reference of a fetch, shared array, or constant
  std::vector<Element> elements;      ///< of a fetch, by value; one without index: nothing
  std::vector<std::int64_t> numbers;  ///< of a constant, by value
};

/// Constants that `given` names stay. Diagonal blocks are no change where the description has an order.
std::vector<Change> changes_of(const Description& description,
                               const std::map<std::string, std::int64_t>& given);

/// How many elements a row of a shared array has: the largest constant that an index of it multiplies with
/// and that divides it; 0 when there is none.
std::int64_t row_of(const Description& description, const Variant& variant, std::uint32_t shared);

}  // namespace lynxpp::models::cumapz
