// The table of the language's functions (api.def) and of its other predefined names.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cod/handler.h"
#include "cod/site_value.h"
#include "cod/storage.h"
#include "cod/syntax/type.h"

namespace lynxpp::cod {

enum class Api : std::uint8_t {
#define LYNXPP_API(name, identifier, result, arguments, contexts, uniform) identifier,
#include "cod/syntax/api.def"
};

constexpr bool is_one_of(Api api, std::initializer_list<Api> set) {
  return std::find(set.begin(), set.end(), api) != set.end();
}

/// The bit of a handler in ApiFunction::contexts.
constexpr std::uint32_t context_of(TargetKind target) { return 1u << static_cast<unsigned>(target); }

/// Bits of ApiFunction::contexts: context_of() each target, and the host.
enum Contexts : std::uint32_t {
  on_device = 0x7ff,
  on_host = 0x800,  ///< ON_REPORT
  on_end = 0x1000,
  in_reports = on_host | on_end,
  anywhere = on_device | on_host,
  everywhere = on_device | in_reports,
  at_block_exit = context_of(TargetKind::basic_block_exit),
  behind_instruction = context_of(TargetKind::instruction_after),
  at_instruction = behind_instruction | context_of(TargetKind::instruction),
  in_blocks = at_block_exit | at_instruction | context_of(TargetKind::basic_block_entry),
  at_loop = context_of(TargetKind::loop_entry) * 7,
  in_functions = in_blocks | at_loop | context_of(TargetKind::function_entry) * 3,
};

enum class ApiArguments : std::uint8_t {
#define LYNXPP_ARGUMENTS(kind, least, most) kind,
#include "cod/syntax/api_arguments.def"
};

struct ApiFunction {
  Api api;
  std::string_view name;
  Type result;  ///< none: the type of the array's elements
  ApiArguments arguments;
  std::uint32_t contexts;
  bool uniform;
  std::optional<SiteValue> site;

  std::string call() const { return std::string(name) + "()"; }
};

/// Null if no function has this name; the first one of several overloads.
const ApiFunction* find_api(std::string_view name);
/// The second function with this name; `first` itself if it is the only one.
const ApiFunction& overload_of(const ApiFunction& first);
/// The least and the greatest number of arguments.
std::pair<std::size_t, std::size_t> argument_counts(ApiArguments arguments);

/// "BASIC_BLOCKS" ▶ Extent::basic_blocks.
std::optional<Extent> find_extent(std::string_view name);
std::string_view name_of(Extent extent);

/// The extent that the function's results index; Extent::constant if none.
Extent indexed_extent(Api api);

/// "WARPS_PER_BLOCK" ▶ 32: an upper bound, a constant of type unsigned long.
std::optional<std::uint64_t> find_limit(std::string_view name);

/// Candidates for "did you mean".
std::vector<std::string> api_names();
std::vector<std::string> extent_names();

std::vector<std::string> label_names();  ///< targets, ON_REPORT and filters, including those with arguments

}  // namespace lynxpp::cod
