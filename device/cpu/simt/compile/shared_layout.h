// Layout of a program's shared memory.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "device/cpu/simt/compile/frame_layout.h"
#include "ptx/ir/module.h"

namespace lynxpp::device::cpu {

/// Layout of shared memory: static arrays, then dynamic memory, then, in programs that query it, the part
/// that CUDA reserves (%reserved_smem_offset_…), in which cooperative groups keep their barriers.
struct SharedLayout {
  static constexpr std::uint32_t room_reserved = 1024;        ///< %reserved_smem_offset_cap of an H100
  static constexpr std::uint32_t reserved_end = 288;          ///< %reserved_smem_offset_end of an H100
  std::map<std::string, std::uint32_t, std::less<>> offsets;  ///< key: see shared_key()
  std::uint32_t static_bytes = 0;
  bool has_reserved = false;

  /// Offset of the reserved part for a launch with `dynamic` bytes of dynamic shared memory.
  std::uint64_t reserved_offset(std::uint32_t dynamic) const {
    return align_up(std::uint64_t{static_bytes} + dynamic, 128);
  }
  std::uint64_t bytes(std::uint32_t dynamic) const {
    return has_reserved ? reserved_offset(dynamic) + room_reserved : std::uint64_t{static_bytes} + dynamic;
  }
  struct Array {
    std::uint32_t offset = 0;
    std::uint32_t bytes = 0;
    std::string name;
  };
  std::vector<Array> arrays;  ///< all static arrays, ascending
};
/// Module variables are keyed by name; variables of a body by "function/scope/name".
std::string shared_key(const ptx::Function* function, std::uint32_t scope, std::string_view name);

/// Returns a name such as "shared array 'tile' + 4".
std::string name_of_shared(const SharedLayout& layout, std::uint64_t offset);

}  // namespace lynxpp::device::cpu
