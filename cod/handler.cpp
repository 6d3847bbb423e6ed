#include "cod/handler.h"

#include <algorithm>
#include <array>
#include <string>

namespace lynxpp::cod {
namespace {

/// Indexed by TargetKind.
constexpr std::array<std::string_view, 11> target_names{
    "ON_KERNEL_ENTRY",   "ON_KERNEL_EXIT",   "ON_BASIC_BLOCK_ENTRY", "ON_BASIC_BLOCK_EXIT",
    "ON_FUNCTION_ENTRY", "ON_FUNCTION_EXIT", "ON_LOOP_ENTRY",        "ON_LOOP_ITERATION",
    "ON_LOOP_EXIT",      "ON_INSTRUCTION",   "ON_INSTRUCTION_AFTER"};

}  // namespace

std::string_view name_of(TargetKind target) { return target_names[static_cast<std::size_t>(target)]; }

std::optional<TargetKind> find_target(std::string_view label) {
  const auto found = std::find(target_names.begin(), target_names.end(), label);
  if (found == target_names.end()) return std::nullopt;
  return static_cast<TargetKind>(found - target_names.begin());
}

std::string describe(const Sampling& sampling) {
  std::string text;
  const auto add = [&](std::uint32_t every, const char* what) {
    if (every > 1) text += (text.empty() ? "1 of " : ", 1 of ") + std::to_string(every) + " " + what;
  };
  add(sampling.launches, "launches");
  add(sampling.blocks, "thread blocks");
  add(sampling.warps, "warps");
  return text;
}

Sampling rarest(const std::vector<HandlerSampling>& handlers) {
  Sampling found;
  for (const auto& [line, sampling] : handlers) {
    found.launches = std::max(found.launches, sampling.launches);
    found.blocks = std::max(found.blocks, sampling.blocks);
    found.warps = std::max(found.warps, sampling.warps);
  }
  return found;
}

bool are_sampled_equally(const std::vector<HandlerSampling>& handlers) {
  return std::all_of(handlers.begin(), handlers.end(),
                     [&](const HandlerSampling& each) { return each.sampling == handlers.front().sampling; });
}

std::string describe(const std::vector<HandlerSampling>& handlers) {
  Sampling common = rarest(handlers);
  if (are_sampled_equally(handlers)) return describe(common);
  common.blocks = common.warps = 1;
  std::string text = describe(common);
  for (const auto& [line, sampling] : handlers) {
    const std::string own = describe(Sampling{1, sampling.blocks, sampling.warps});
    text += (text.empty() ? "handler of line " : "; handler of line ") + std::to_string(line) + ": " +
            (own.empty() ? "all" : own);
  }
  return text;
}

bool Handler::wants_kernel(const std::string& mangled) const {
  return kernels.empty() || std::any_of(kernels.begin(), kernels.end(),
                                        [&](const NamePattern& pattern) { return pattern.matches(mangled); });
}

}  // namespace lynxpp::cod
