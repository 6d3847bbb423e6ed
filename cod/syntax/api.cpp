#include "cod/syntax/api.h"

#include <algorithm>
#include <array>

namespace lynxpp::cod {
namespace {

constexpr ApiFunction functions[] = {
#define LYNXPP_API(name, identifier, result, arguments, contexts, uniform) \
  {Api::identifier, #name, Type::result, ApiArguments::arguments, contexts, uniform, std::nullopt},
#define LYNXPP_API_SITE_ARGUMENTS(name, identifier, result, arguments, contexts, uniform, site) \
  {Api::identifier, #name, Type::result, ApiArguments::arguments, contexts, uniform, SiteValue::site},
#include "cod/syntax/api.def"
};

template <typename Value>
struct Named {
  std::string_view name;
  Value value;
};

constexpr std::array extents{
    Named<Extent>{"BASIC_BLOCKS", Extent::basic_blocks},
    Named<Extent>{"INSTRUCTIONS", Extent::instructions},
    Named<Extent>{"BLOCKS", Extent::blocks},
    Named<Extent>{"WARPS", Extent::warps},
    Named<Extent>{"THREADS", Extent::threads},
    Named<Extent>{"SMS", Extent::sms},
    Named<Extent>{"LANES", Extent::lanes},
    Named<Extent>{"SHARED_WORDS", Extent::shared_words},
    Named<Extent>{"DEVICE_WORDS", Extent::device_words},
};

constexpr std::array limits{
    Named<std::uint64_t>{"WARPS_PER_BLOCK", 32},
    Named<std::uint64_t>{"THREADS_PER_BLOCK", 1024},
};

template <typename Table>
auto find_named(const Table& table, std::string_view name) {
  return std::find_if(std::begin(table), std::end(table),
                      [&](const auto& entry) { return entry.name == name; });
}

template <typename Table>
void append_names(const Table& table, std::vector<std::string>& names) {
  for (const auto& entry : table) names.emplace_back(entry.name);
}

}  // namespace

const ApiFunction* find_api(std::string_view name) {
  const auto found = find_named(functions, name);
  return found == std::end(functions) ? nullptr : &*found;
}

const ApiFunction& overload_of(const ApiFunction& first) {
  const auto found = std::find_if(&first + 1, std::end(functions),
                                  [&](const ApiFunction& each) { return each.name == first.name; });
  return found == std::end(functions) ? first : *found;
}

std::pair<std::size_t, std::size_t> argument_counts(ApiArguments arguments) {
  static constexpr std::pair<std::size_t, std::size_t> counts[] = {
#define LYNXPP_ARGUMENTS(kind, least, most) {least, most},
#include "cod/syntax/api_arguments.def"
  };
  return counts[static_cast<std::size_t>(arguments)];
}

std::optional<Extent> find_extent(std::string_view name) {
  const auto found = find_named(extents, name);
  return found == extents.end() ? std::nullopt : std::optional(found->value);
}

std::string_view name_of(Extent extent) {
  for (const auto& entry : extents) {
    if (entry.value == extent) return entry.name;
  }
  return "constant";
}

Extent indexed_extent(Api api) {
  switch (api) {
    case Api::basic_block_id: return Extent::basic_blocks;
    case Api::instruction_id: return Extent::instructions;
    case Api::block_id:
    case Api::block_idx: return Extent::blocks;
    case Api::warp_id: return Extent::warps;
    case Api::global_thread_id: return Extent::threads;
    case Api::sm_id: return Extent::sms;
    case Api::lane_id: return Extent::lanes;
    default: return Extent::constant;
  }
}

std::optional<std::uint64_t> find_limit(std::string_view name) {
  const auto found = find_named(limits, name);
  return found == limits.end() ? std::nullopt : std::optional(found->value);
}

std::vector<std::string> api_names() {
  std::vector<std::string> names;
  append_names(functions, names);
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());  // overloads share a name
  return names;
}

std::vector<std::string> extent_names() {
  std::vector<std::string> names;
  append_names(extents, names);
  append_names(limits, names);
  return names;
}

std::vector<std::string> label_names() {
  std::vector<std::string> names{"ON_REPORT",       "ON_END",        "KERNEL",      "OPCODE",
                                 "SOURCE",          "CALL_TARGET",   "RESULT",      "EVERY",
                                 "SAMPLE_LAUNCHES", "SAMPLE_BLOCKS", "SAMPLE_WARPS"};
  for (int target = 0; target <= static_cast<int>(TargetKind::instruction_after); ++target)
    names.emplace_back(name_of(static_cast<TargetKind>(target)));
  const std::vector<std::string> filters = filter_names();
  names.insert(names.end(), filters.begin(), filters.end());
  return names;
}

}  // namespace lynxpp::cod
