// Addresses of shared memory that the lanes of a warp access without conflicts: consecutive elements.
#pragma once

#include <cstdint>
#include <map>
#include <optional>

#include "ptx/perturb/additions.h"

namespace lynxpp::ptx {

class SharedLanes {
 public:
  /// True if the kernel names a shared array with room for an element of this size.
  static bool has_room(const Additions& to, std::uint32_t bytes);

  /// Returns the address of the lane's element in the kernel's largest shared array, or of the array's last
  /// element. Precondition: has_room(). An array that is sized by the launch must have room for an element.
  VirtualRegister address(Additions& to, std::uint32_t bytes);

  /// An access that is safe whatever the kernel's shared memory is.
  struct Lane {
    VirtualRegister address;
    std::optional<VirtualRegister> is_there;  ///< false if the launch gives the array no room
  };
  /// Returns the address in an array of the kernel, or in one that is added to a kernel without any: added
  /// memory would move arrays whose position the kernel may rely on. nullopt if no array has room.
  std::optional<Lane> lane(Additions& to, std::uint32_t bytes);

 private:
  std::map<std::uint32_t, VirtualRegister> own_;
  std::map<std::uint32_t, VirtualRegister> rooms_;
};

}  // namespace lynxpp::ptx
