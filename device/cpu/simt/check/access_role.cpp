#include "device/cpu/simt/check/access_role.h"

#include "ptx/ir/memory_table.h"

namespace lynxpp::device::cpu {
namespace {

/// Returns the side of the row that uses the instruction's address number `address`; null if none does.
const ptx::MemorySide* side_at(const ptx::MemoryRow& row, std::size_t address) {
  // The addresses of a copy are its first operands; other instructions have one address.
  for (const ptx::MemorySide& side : row.sides) {
    const std::size_t number = row.kind == ptx::MemoryKind::copy ? side.address : 0;
    if (side.exists() && number == address) return &side;
  }
  return nullptr;
}

}  // namespace

AccessRole role_of(const ptx::OpcodeTraits& traits, std::size_t address) {
  using enum ptx::Modifier;
  AccessRole role;
  if (traits.memory == nullptr) return role;
  const ptx::MemoryRow& row = *traits.memory;
  const ptx::MemorySide* const side = side_at(row, address);
  // A replacement is a weak access to all bytes of the tensor map.
  if (traits.op == ptx::Op::tensormap && side == nullptr) return {.reads = true, .writes = true};
  if (side == nullptr) {
    role.is_barrier = row.kind != ptx::MemoryKind::hint && row.kind != ptx::MemoryKind::descriptor;
    role.only_asks = role.is_barrier && traits.modifiers.has_any({test_wait, try_wait});
    return role;
  }
  role.is_async = row.completion != ptx::MemoryCompletion::now;
  role.reads = side->reads();
  role.writes = side->writes();
  role.acquires = traits.modifiers.has_any({acq_rel, acquire});
  role.releases = traits.modifiers.has_any({acq_rel, release});
  const bool is_strong = (role.reads && role.writes) || role.acquires || role.releases ||
                         traits.modifiers.has_any({relaxed, is_volatile, mmio});
  if (is_strong) role.reach = reach_of_fence(traits.modifiers);
  return role;
}

Reach reach_of_fence(ptx::Modifiers modifiers) {
  return modifiers.has(ptx::Modifier::cta) ? Reach::block : Reach::device;
}

}  // namespace lynxpp::device::cpu
