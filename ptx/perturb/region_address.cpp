#include "ptx/perturb/region_address.h"

#include <algorithm>

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
VirtualRegister sum(Additions& to, VirtualRegister low, VirtualRegister mask, VirtualRegister own,
                    VirtualRegister begin) {
  const VirtualRegister kept = to.code().b32("and.b32", {low, mask});
  const VirtualRegister offset = to.code().b32("add.u32", {kept, own});
  return to.code().b64("add.u64", {begin, to.code().b64("cvt.u64.u32", {offset})});
}

/// The module's variable that a root names; null for other roots, and for variables of the kernel.
const Variable* global_variable(const Additions& to, const AddressRoot& root) {
  if (root.kind != AddressRoot::Kind::variable) return nullptr;
  const Variable* const variable = to.module().find_variable(root.name);
  return variable != nullptr && variable->space == StateSpace::global ? variable : nullptr;
}

VirtualRegister in_variable(Additions& to, const Variable& variable, VirtualRegister low,
                            std::uint32_t bytes) {
  CodeBuilder& code = to.code();
  const MemoryRegion region = region_of(0, variable.size_bytes(), {});
  const VirtualRegister begin = to.address_of(variable);
  const VirtualRegister offset = code.b32("sub.u32", {low, code.b32("cvt.u32.u64", {begin})});
  const VirtualRegister rotated = code.b32("add.u32", {offset, region.rotation});
  const VirtualRegister mask =
      to.is_again() ? code.b32("mov.b32", {region.mask}) : to.word(HiddenSlot::Kind::zero);
  return sum(to, rotated, mask, to.lane_offset(bytes), begin);
}

}  // namespace

std::optional<RegionAddress> region_address(Additions& to, const Operand& address, std::uint32_t bytes) {
  using Kind = HiddenSlot::Kind;
  const std::optional<VirtualRegister> low = to.low_address(address);
  if (!low) return std::nullopt;
  const AddressRoot root = to.roots().of_address(to.site_index(), address);
  const Variable* const variable = global_variable(to, root);
  if (variable != nullptr && variable->size_bytes() >= least_region_bytes && variable->alignment >= bytes)
    return RegionAddress{in_variable(to, *variable, *low, bytes), ""};
  const auto mask = [&](Kind kind, std::uint32_t index) {
    return to.is_again() ? to.word(kind, index) : to.word(Kind::zero);
  };
  if (root.kind != AddressRoot::Kind::parameter) {
    return RegionAddress{
        sum(to, *low, mask(Kind::scratch_mask, 0), to.lane_offset(bytes), to.long_word(Kind::scratch)),
        variable != nullptr ? "an access to another buffer (the variable is small or unaligned)"
                            : "an access to another buffer (the allocation is unknown)"};
  }
  const std::uint32_t at = offset_of(*to.kernel().function, root);
  const VirtualRegister rotated = to.code().b32("add.u32", {*low, to.word(Kind::allocation_rotation, at)});
  const VirtualRegister begin = to.long_word(Kind::allocation_begin, at);
  return RegionAddress{sum(to, rotated, mask(Kind::allocation_mask, at), to.lane_offset(bytes), begin), ""};
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
