#include "device/cpu/simt/execute/faults.h"

#include <cstdio>

#include "device/cpu/simt/execute/memory/tensor_memory.h"
#include "ptx/ir/memory_table.h"

namespace lynxpp::device::cpu {

std::string hexadecimal(std::uint64_t value) {
  char text[32];
  std::snprintf(text, sizeof text, "0x%llx", static_cast<unsigned long long>(value));
  return text;
}

std::string name_of_access(const AccessSite& site) {
  const std::string bytes = std::to_string(site.bytes) + (site.bytes == 1 ? " byte" : " bytes");
  const ptx::OpcodeTraits traits = ptx::classify(site.opcode);
  if (site.in_tensor_memory || (traits.op == ptx::Op::tcgen05 && traits.memory == nullptr))
    return std::string(site.opcode) + " at";
  if (traits.op == ptx::Op::txq || traits.op == ptx::Op::suq) return "a query at";
  const ptx::MemoryRow* const row = traits.memory;
  if (row == nullptr) return "an access of " + bytes + " to";
  const bool is_map = traits.op == ptx::Op::tensormap;
  if (is_map) return row->kind == ptx::MemoryKind::copy ? "a copy of" : "a change of";
  if (row->kind == ptx::MemoryKind::copy && site.opcode.find(".tensor.") != std::string_view::npos)
    return "a tensor copy from or to";
  if (row->kind == ptx::MemoryKind::copy) return "a copy of " + bytes + " from or to";
  if (row->kind == ptx::MemoryKind::synchronization)
    return std::string(site.opcode.substr(0, site.opcode.find(".shared"))) + " at";
  const ptx::MemorySide& side = row->sides[0];
  if (side.space == ptx::MemorySide::Space::texture) return "a texture read at";
  const bool is_surface = side.space == ptx::MemorySide::Space::surface;
  if (side.reads() && side.writes() && is_surface) return "a surface reduction at";
  if (is_surface) return side.writes() ? "a surface store to" : "a surface load from";
  if (!side.writes()) return "a load of " + bytes + " from";
  if (!side.reads()) return "a store of " + bytes + " to";
  return "an atomic operation on " + bytes + " at";
}

namespace {

/// Describes the location of the illegal access.
std::string name_of_place(const WarpContext& warp, const Fault& fault) {
  const std::string address = "address " + hexadecimal(fault.address);
  switch (fault.site->kind) {
    case AddressKind::shared:
      return "shared memory access out of range: " + address + ", the block has " +
             std::to_string(warp.shared_bytes) + " bytes";
    case AddressKind::local:
      return "local memory access out of range: " + address + ", the thread has " +
             std::to_string(warp.local_stride) + " bytes";
    case AddressKind::host: break;
  }
  switch (fault.site->space) {
    case ptx::StateSpace::constant: return "no .const variable is at this address";
    case ptx::StateSpace::param: return "no kernel parameter is at this address";
    default: break;
  }
  const std::uint64_t from_local = fault.address - reinterpret_cast<std::uintptr_t>(warp.local);
  if (from_local < warp.local_stride * warp_size) return "local memory of another thread";
  const std::uint64_t from_shared = fault.address - reinterpret_cast<std::uintptr_t>(warp.shared);
  constexpr std::uint64_t a_little = 256;
  if (warp.shared_bytes != 0 && from_shared - warp.shared_bytes < a_little &&
      warp.memory->around(fault.address).bytes == 0 && !warp.memory->is_freed(fault.address)) {
    return std::to_string(from_shared - warp.shared_bytes) + " bytes past the end of the block's " +
           std::to_string(warp.shared_bytes) + " bytes of shared memory";
  }
  return warp.memory->describe(fault.address);
}

}  // namespace

std::string name_of_target(const Fault& fault) {
  const std::string address = hexadecimal(fault.address);
  if (fault.kind == FaultKind::tensor_memory) {
    const TensorAddress at(fault.address);
    return "lane " + std::to_string(at.lane) + ", column " + std::to_string(at.column) + " of tensor memory";
  }
  if (fault.kind != FaultKind::invalid_tensor) return address;
  const bool is_map = ptx::classify(fault.site->opcode).op == ptx::Op::tensormap;
  return (is_map ? "the tensor map at " : "the tensor of the map at ") + address;
}

std::string name_of_fault(const WarpContext& warp, const Fault& fault) {
  switch (fault.kind) {
    case FaultKind::misaligned_address:
      return "the address is not a multiple of " +
             (never_in_window(*fault.site) && fault.site->space != ptx::StateSpace::global
                  ? "the size of its elements"
                  : std::to_string(fault.site->bytes));
    case FaultKind::wrong_space:
      return "the address is in shared or local memory, but " + std::string(fault.site->opcode) +
             " accesses global memory";
    case FaultKind::no_object:
      return std::string("the value is not the handle of a ") +
             (fault.site->opcode.starts_with("su") ? "surface object" : "texture object");
    case FaultKind::outside_surface: return "the coordinates are outside the surface";
    case FaultKind::invalid_tensor:
    case FaultKind::tensor_memory:
    case FaultKind::bad_descriptor: return fault.reason;
    default: return name_of_place(warp, fault);
  }
}

}  // namespace lynxpp::device::cpu
