// Values of the instrumented program that a handler reads, and the names that represent them in its PTX.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "cod/instruction_filter.h"

namespace lynxpp::cod {

/// Names that a handler's PTX may contain as an operand of `mov`; the splice pass replaces each at every
/// site. `<name>` is a result of name_of(SiteValue).
///   mov.b64 %rd1, __lynxpp_word_3;         parameter slot (u64)
///   mov.b64 %rd1, __lynxpp_state_0;        read of a state register: b32 for types up to 32 bits, else b64;
///                                          f32 and f64 likewise by size
///   mov.b64 __lynxpp_state_0, %rd1;        write
///   mov.b64 %rd1, __lynxpp_memory_0;       address of a module variable in its own state space
///   mov.b32 %r1, __lynxpp_site_<name>;     a site value; u32, or u64 if is_wide(value)
inline constexpr std::string_view handler_function = "lynxpp_handler";
inline constexpr std::string_view word_prefix = "__lynxpp_word_";
inline constexpr std::string_view state_prefix = "__lynxpp_state_";
inline constexpr std::string_view site_prefix = "__lynxpp_site_";
inline constexpr std::string_view memory_prefix = "__lynxpp_memory_";

enum class SiteValue {
#define LYNXPP_SITE_VALUE(name) name,
#include "cod/site_value.def"
};
std::string_view name_of(SiteValue value);  ///< "basic_block_id"
bool is_wide(SiteValue value);
/// A value with a parameter is named "<name>_<parameter>": "operand_value_2".
bool has_parameter(SiteValue value);
/// "instruction_is_17" ▶ the filter that it tests; nullopt for other values.
std::optional<InstructionFilter> filter_of_value(std::string_view name);

}  // namespace lynxpp::cod
