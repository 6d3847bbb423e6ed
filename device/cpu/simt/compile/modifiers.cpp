// Modifiers that opcodes may have.
//
// Emitters query the modifiers that change the code they emit. All others must be listed here: an instruction
// with an unlisted modifier is rejected, because its meaning is unknown.
#include <algorithm>

#include "device/cpu/simt/compile/codegen.h"
#include "support/text.h"

namespace lynxpp::device::cpu {
namespace {

using ptx::Op;

struct Accepted {
  Op op;
  /// Modifiers without effect here: defaults, and those that only affect a GPU's speed or memory order (each
  /// access is performed at once and in order). A name that ends in '*' matches any suffix.
  std::string_view modifiers;
  std::size_t types = 1;  ///< most types
};

constexpr Accepted accepted[] = {
    // Results are rounded to nearest by default, and approximations are exact.
    {Op::add, "rn"},
    {Op::sub, "rn"},
    {Op::mul, "rn"},
    {Op::mad, "rn"},
    {Op::fma, "rn"},
    {Op::div, "rn approx full"},
    {Op::sqrt, "rn approx"},
    {Op::rcp, "rn approx"},
    {Op::rsqrt, "approx"},
    {Op::ex2, "approx"},
    {Op::lg2, "approx"},
    {Op::sin, "approx"},
    {Op::cos, "approx"},
    {Op::tanh, "approx"},
    {Op::cvt, "rn", 2},
    {Op::set, "", 2},
    {Op::slct, "", 2},
    {Op::dp4a, "", 2},
    {Op::dp2a, "lo", 2},
    {Op::mul24, "lo"},
    {Op::mad24, "lo"},
    {Op::shf, "r clamp"},
    {Op::ld, "weak relaxed acquire volatile mmio cta cluster gpu sys nc unified ca cg cs lu cv L1::* L2::*"},
    {Op::ldu, ""},
    {Op::st, "weak relaxed release volatile mmio cta cluster gpu sys wb cg cs wt L1::* L2::*"},
    {Op::cvta, "to"},
    {Op::atom, "relaxed acquire release acq_rel cta cluster gpu sys noftz L1::* L2::*"},
    {Op::red, "relaxed release cta cluster gpu sys noftz L1::* L2::*"},
    {Op::membar, "cta gl gpu sys proxy alias"},
    {Op::fence,
     "sc acq_rel acquire release cta cluster gpu sys proxy alias async async::* global shared::cta "
     "shared::cluster mbarrier_init tensormap::* sync_restrict::*"},
    {Op::shfl, "sync"},
    {Op::match, "sync any"},
    {Op::redux, "sync"},
    {Op::elect, "sync"},
    {Op::bra, "uni"},
    {Op::brx, "idx uni"},
    {Op::call, "uni"},
    {Op::ret, "uni"},
    {Op::bar, "cta sync arrive aligned popc and or"},
    {Op::barrier, "cta sync arrive aligned popc and or"},
    {Op::prefetch, "global local const param generic tensormap L1 L2 L2::*"},
    {Op::prefetchu, "L1"},
    {Op::discard, "global L2"},
    {Op::applypriority, "global L2::*"},
    {Op::pmevent, "mask"},
    {Op::griddepcontrol, "launch_dependents wait"},
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
  const auto found = std::ranges::find(accepted, op, &Accepted::op);
  const Accepted allowed = found != std::end(accepted) ? *found : Accepted{op, ""};
  std::size_t types_seen = 0;
  for (std::size_t i = 0; i < modifiers.size(); ++i) {
    const bool is_type = ptx::parse_data_type(modifiers[i]) != ptx::DataType::none;
    if (is_type && ++types_seen > allowed.types) return modifiers[i];
    if (!is_type && !handled_[i] && !names(allowed.modifiers, modifiers[i])) return modifiers[i];
  }
  return {};
}

}  // namespace lynxpp::device::cpu
