#include "ptx/perturb/region_address.h"

#include <algorithm>
#include <utility>

#include "ptx/perturb/memory_regions.h"

namespace lynxpp::ptx {
namespace {

/// The offset of a pointer in the kernel's parameters.
std::uint32_t offset_of(const Function& kernel, const AddressRoot& root) {
  const auto parameter = std::ranges::find(kernel.parameters, root.name, &Variable::name);
  const auto index = static_cast<std::size_t>(parameter - kernel.parameters.begin());
  return static_cast<std::uint32_t>(kernel.parameter_offsets()[index] + root.byte);
}

/// Returns begin + ((low & mask) + own).
VirtualRegister sum(Additions& to, VirtualRegister low, CodeOperand mask, VirtualRegister own,
                    VirtualRegister begin) {
  const VirtualRegister kept = to.code().b32("and.b32", {low, std::move(mask)});
  const VirtualRegister offset = to.code().b32("add.u32", {kept, own});
  return to.code().b64("add.u64", {begin, to.code().b64("cvt.u64.u32", {offset})});
}

/// The module's variable that a root names; null for other roots, and for variables of the kernel.
const Variable* global_variable(const Additions& to, const AddressRoot& root) {
  if (root.kind != AddressRoot::Kind::variable) return nullptr;
  const Variable* const variable = to.module().find_variable(root.name);
  return variable != nullptr && variable->space == StateSpace::global ? variable : nullptr;
}

/// Returns begin + (low & mask) in the form `again`, and else an address in the same region.
VirtualRegister in_region(Additions& to, VirtualRegister low, CodeOperand mask, std::uint32_t bytes,
                          VirtualRegister begin, HarmlessAccess harmless) {
  CodeBuilder& code = to.code();
  if (to.is_again()) return sum(to, low, std::move(mask), to.lane_offset(bytes), begin);
  if (harmless == HarmlessAccess::one_line)
    return sum(to, low, to.word(HiddenSlot::Kind::zero), to.lane_offset(bytes), begin);
  constexpr std::uint32_t lanes_of_warp = 32;
  const VirtualRegister active = code.active_mask();
  const VirtualRegister first = code.b32("clz.b32", {code.b32("brev.b32", {active})});
  const VirtualRegister of_first = code.b32("shfl.sync.idx.b32", {low, first, lanes_of_warp - 1, active});
  const VirtualRegister rounded = code.b32("and.b32", {of_first, ~(lanes_of_warp * bytes - 1)});
  return sum(to, rounded, std::move(mask), code.b32("mul.lo.u32", {to.lane(), bytes}), begin);
}

VirtualRegister in_variable(Additions& to, const Variable& variable, VirtualRegister low, std::uint32_t bytes,
                            HarmlessAccess harmless) {
  CodeBuilder& code = to.code();
  const MemoryRegion region = region_of(0, variable.size_bytes(), {});
  const VirtualRegister begin = to.address_of(variable);
  const VirtualRegister offset = code.b32("sub.u32", {low, code.b32("cvt.u32.u64", {begin})});
  const VirtualRegister rotated = code.b32("add.u32", {offset, region.rotation});
  return in_region(to, rotated, region.mask, bytes, begin, harmless);
}

}  // namespace

std::optional<RegionAddress> region_address(Additions& to, const Operand& address, std::uint32_t bytes,
                                            HarmlessAccess harmless) {
  using Kind = HiddenSlot::Kind;
  const std::optional<VirtualRegister> low = to.low_address(address);
  if (!low) return std::nullopt;
  const AddressRoot root = to.roots().of_address(to.site_index(), address);
  const Variable* const variable = global_variable(to, root);
  if (variable != nullptr && variable->size_bytes() >= least_region_bytes && variable->alignment >= bytes)
    return RegionAddress{in_variable(to, *variable, *low, bytes, harmless), ""};
  if (root.kind != AddressRoot::Kind::parameter) {
    return RegionAddress{
        in_region(to, *low, to.word(Kind::scratch_mask), bytes, to.long_word(Kind::scratch), harmless),
        variable != nullptr ? "an access to another buffer (the variable is small or unaligned)"
                            : "an access to another buffer (the allocation is unknown)"};
  }
  const std::uint32_t at = offset_of(*to.kernel().function, root);
  const VirtualRegister rotated = to.code().b32("add.u32", {*low, to.word(Kind::allocation_rotation, at)});
  const VirtualRegister begin = to.long_word(Kind::allocation_begin, at);
  return RegionAddress{in_region(to, rotated, to.word(Kind::allocation_mask, at), bytes, begin, harmless),
                       ""};
}

std::optional<VirtualRegister> scratch_address(Additions& to, const Operand& address, std::uint32_t bytes) {
  using Kind = HiddenSlot::Kind;
  std::optional<VirtualRegister> low = to.low_address(address);
  if (!low) return std::nullopt;
  const AddressRoot root = to.roots().of_address(to.site_index(), address);
  if (root.kind == AddressRoot::Kind::parameter) {
    const std::uint32_t at = offset_of(*to.kernel().function, root);
    low = to.code().b32("sub.u32", {*low, to.word(Kind::allocation_begin, at)});
  }
  const VirtualRegister mask = to.word(to.is_again() ? Kind::scratch_mask : Kind::zero);
  const VirtualRegister own = to.thread_offset(bytes, least_scratch_bytes);
  return sum(to, *low, mask, own, to.long_word(Kind::scratch));
}

}  // namespace lynxpp::ptx
