#include "cod/site_value.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <string>

namespace lynxpp::cod {

std::string_view name_of(SiteValue value) {
  static constexpr std::string_view names[] = {
#define LYNXPP_SITE_VALUE(name) #name,
#include "cod/site_value.def"
  };
  return names[static_cast<std::size_t>(value)];
}

bool is_wide(SiteValue value) {
  using enum SiteValue;
  static constexpr std::array wide{memory_address, bulk_size,     loop_trips,  loaded_value,
                                   stored_value,   operand_value, result_value};
  return std::ranges::find(wide, value) != wide.end();
}

std::optional<InstructionFilter> filter_of_value(std::string_view name) {
  const std::string prefix = std::string(name_of(SiteValue::instruction_is)) + "_";
  if (!name.starts_with(prefix)) return std::nullopt;
  std::uint64_t bits = 0;
  std::from_chars(name.data() + prefix.size(), name.data() + name.size(), bits);
  return unpack(bits);
}

bool has_parameter(SiteValue value) {
  using enum SiteValue;
  static constexpr std::array with_parameter{instruction_is, loaded_value, stored_value, operand_value,
                                             result_value};
  return std::ranges::find(with_parameter, value) != with_parameter.end();
}

}  // namespace lynxpp::cod
