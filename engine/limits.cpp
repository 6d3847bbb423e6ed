#include "engine/limits.h"

#include <charconv>
#include <cstdlib>
#include <limits>
#include <string_view>

#include "support/setting.h"
#include "support/text.h"

namespace lynxpp::engine {
namespace {

constexpr const char* limit_variable = "LYNXPP_VARIANT_LIMIT";
constexpr const char* outline_variable = "LYNXPP_OUTLINE";
constexpr const char* without_variable = "LYNXPP_WITHOUT";

std::string_view environment(const char* name) {
  const char* value = setting(name);
  return value == nullptr ? std::string_view{} : std::string_view(value);
}

}  // namespace

Limits without_functions(Limits limits) {
  limits.outline.sites = std::numeric_limits<std::uint32_t>::max();
  return limits;
}

std::set<std::string, std::less<>> names_in(std::string_view list) {
  std::set<std::string, std::less<>> names;
  for (const std::string& each : split(list, ',')) {
    if (const std::string_view name = trim(each); !name.empty()) names.emplace(name);
  }
  return names;
}

std::set<ptx::Refinement> refinements_in(std::string_view list) {
  std::set<ptx::Refinement> refinements;
  for (const std::string& name : names_in(list)) {
    if (const auto refinement = ptx::refinement_named(name)) refinements.insert(*refinement);
  }
  return refinements;
}

Limits limits_of_environment() {
  Limits limits;
  const std::string_view limit = environment(limit_variable);
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(limit.data(), limit.data() + limit.size(), value);
  if (!limit.empty() && error == std::errc{} && end == limit.data() + limit.size())
    limits.instructions = value;
  const std::string_view outline = environment(outline_variable);
  if (outline == "all") limits.outline = {0, 0};
  if (outline == "none") limits = without_functions(limits);
  limits.without = refinements_in(environment(without_variable));
  return limits;
}

std::uint64_t added_instructions(const ptx::EditList& edits) {
  std::uint64_t added = 0;
  for (const ptx::Edit& edit : edits.edits()) added += edit.instructions();
  return added;
}

Status check_size(const Limits& limits, std::uint64_t original, std::uint64_t added) {
  if (limits.instructions == 0 || original + added <= limits.instructions) return success();
  const std::string size = added == 0 ? "the kernel has " + std::to_string(original) +
                                            " PTX instructions, and the limit for a variant is "
                                      : "the variant would have " + std::to_string(original + added) +
                                            " PTX instructions instead of " + std::to_string(original) +
                                            ", and the limit is ";
  return failure(size + std::to_string(limits.instructions) + " (" + limit_variable + ")",
                 std::string("raise ") + limit_variable + ", or measure less per specification");
}

}  // namespace lynxpp::engine
