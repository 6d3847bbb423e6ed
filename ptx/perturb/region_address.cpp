#include "ptx/perturb/region_address.h"

#include <algorithm>

#include "ptx/perturb/memory_regions.h"

namespace lynxpp::ptx {
namespace {

/// The offset of a pointer in the kernel's parameters.
std::uint32_t offset_of(const Function& kernel, const AddressRoot& root) {
  std::uint32_t offset = 0;
  for (const Variable& parameter : kernel.parameters) {
    const std::uint32_t alignment = std::max(1U, parameter.alignment);
    offset = (offset + alignment - 1) / alignment * alignment;
    if (parameter.name == root.name) break;
    offset += static_cast<std::uint32_t>(parameter.size_bytes());
  }
  return offset + static_cast<std::uint32_t>(root.byte);
}

/// Returns begin + ((low & mask) + own).
VirtualRegister sum(Additions& to, VirtualRegister low, VirtualRegister mask, VirtualRegister own,
                    VirtualRegister begin) {
  const VirtualRegister kept = to.code().b32("and.b32", {low, mask});
  const VirtualRegister offset = to.code().b32("add.u32", {kept, own});
  return to.code().b64("add.u64", {begin, to.code().b64("cvt.u64.u32", {offset})});
}

}  // namespace

std::optional<RegionAddress> region_address(Additions& to, const Operand& address, std::uint32_t bytes,
                                            bool is_store) {
  const AddressRoot root = to.roots().of_address(to.site_index(), address);
  std::optional<VirtualRegister> low = to.low_address(address);
  if (!low) return std::nullopt;
  using Kind = HiddenSlot::Kind;
  if (root.kind != AddressRoot::Kind::parameter) {
    if (is_store) low = to.code().b32("add.u32", {*low, scratch_bytes / 2});
    const VirtualRegister mask =
        to.is_again() ? to.code().b32("mov.b32", {scratch_bytes - 1}) : to.word(Kind::zero);
    return RegionAddress{sum(to, *low, mask, to.lane_offset(bytes), to.long_word(Kind::scratch)),
                         "the allocation is unknown: accesses a buffer of 4 MiB instead"};
  }
  const std::uint32_t at = offset_of(*to.kernel().function, root);
  const VirtualRegister rotation =
      is_store ? to.upper_word(Kind::allocation_rotation, at) : to.word(Kind::allocation_rotation, at);
  const VirtualRegister rotated = to.code().b32("add.u32", {*low, rotation});
  const VirtualRegister mask = to.is_again() ? to.word(Kind::allocation_mask, at) : to.word(Kind::zero);
  const VirtualRegister begin = to.long_word(Kind::allocation_begin, at);
  return RegionAddress{sum(to, rotated, mask, to.lane_offset(bytes), begin), ""};
}

std::optional<VirtualRegister> scratch_address(Additions& to, const Operand& address, std::uint32_t bytes) {
  const std::optional<VirtualRegister> low = to.low_address(address);
  if (!low) return std::nullopt;
  const VirtualRegister mask =
      to.is_again() ? to.code().b32("mov.b32", {scratch_bytes - 1}) : to.word(HiddenSlot::Kind::zero);
  const VirtualRegister own = to.thread_offset(bytes, scratch_bytes);
  return sum(to, *low, mask, own, to.long_word(HiddenSlot::Kind::scratch));
}

}  // namespace lynxpp::ptx
