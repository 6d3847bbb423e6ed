// Modifiers that opcodes may have.
//
// Emitters query the modifiers that change the code they emit. All others must be listed here: an instruction
// with an unlisted modifier is rejected, because its meaning is unknown.
#include <algorithm>

#include "device/cpu/simt/compile/codegen.h"
#include "support/text.h"

namespace lynxpp::device::cpu {
namespace {

struct Accepted {
  std::string_view root;
  /// Modifiers without effect here: defaults, and those that only affect a GPU's speed or memory order (each
  /// access is performed at once and in order). A name that ends in '*' matches any suffix.
  std::string_view modifiers;
  std::size_t types = 1;  ///< most types
};

constexpr Accepted accepted[] = {
    // Results are rounded to nearest by default, and approximations are exact.
    {"add", "rn"},
    {"sub", "rn"},
    {"mul", "rn"},
    {"mad", "rn"},
    {"fma", "rn"},
    {"div", "rn approx full"},
    {"sqrt", "rn approx"},
    {"rcp", "rn approx"},
    {"rsqrt", "approx"},
    {"ex2", "approx"},
    {"lg2", "approx"},
    {"sin", "approx"},
    {"cos", "approx"},
    {"tanh", "approx"},
    {"cvt", "rn", 2},
    {"set", "", 2},
    {"slct", "", 2},
    {"dp4a", "", 2},
    {"dp2a", "lo", 2},
    {"mul24", "lo"},
    {"mad24", "lo"},
    {"shf", "r clamp"},
    {"ld", "weak relaxed acquire volatile mmio cta cluster gpu sys nc unified ca cg cs lu cv L1::* L2::*"},
    {"ldu", ""},
    {"st", "weak relaxed release volatile mmio cta cluster gpu sys wb cg cs wt L1::* L2::*"},
    {"cvta", "to"},
    {"atom", "relaxed acquire release acq_rel cta cluster gpu sys noftz L1::* L2::*"},
    {"red", "relaxed release cta cluster gpu sys noftz L1::* L2::*"},
    {"membar", "cta gl gpu sys proxy alias"},
    {"fence",
     "sc acq_rel acquire release cta cluster gpu sys proxy alias async async::* global shared::cta "
     "shared::cluster mbarrier_init tensormap::* sync_restrict::*"},
    {"shfl", "sync"},
    {"match", "sync any"},
    {"redux", "sync"},
    {"elect", "sync"},
    {"bra", "uni"},
    {"brx", "idx uni"},
    {"call", "uni"},
    {"ret", "uni"},
    {"bar", "cta sync arrive aligned popc and or"},
    {"barrier", "cta sync arrive aligned popc and or"},
    {"prefetch", "global local const param generic tensormap L1 L2 L2::*"},
    {"prefetchu", "L1"},
    {"discard", "global L2"},
    {"applypriority", "global L2::*"},
    {"pmevent", "mask"},
    {"griddepcontrol", "launch_dependents wait"},
};

bool names(std::string_view list, std::string_view modifier) {
  while (!list.empty()) {
    const std::string_view name = list.substr(0, list.find(' '));
    list.remove_prefix(std::min(list.size(), name.size() + 1));
    if (name.ends_with('*') ? modifier.starts_with(name.substr(0, name.size() - 1)) : modifier == name)
      return true;
  }
  return false;
}

}  // namespace

std::string_view DecodedOpcode::unknown_modifier() const {
  const auto found = std::ranges::find(accepted, root, &Accepted::root);
  const Accepted allowed = found != std::end(accepted) ? *found : Accepted{root, ""};
  std::size_t types_seen = 0;
  for (std::size_t i = 0; i < modifiers.size(); ++i) {
    const bool is_type = ptx::parse_data_type(modifiers[i]) != ptx::DataType::none;
    if (is_type && ++types_seen > allowed.types) return modifiers[i];
    if (!is_type && !handled_[i] && !names(allowed.modifiers, modifiers[i])) return modifiers[i];
  }
  return {};
}

}  // namespace lynxpp::device::cpu
