// Which accesses of a kernel belong together, as its code says: the load and the store of a fetch, and loads
// that are one reference of the source.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>

#include "support/result.h"

namespace lynxpp::observe {

/// By the line of the PTX.
struct Transfers {
  /// Of a store to shared memory the load from global memory whose value it stores unchanged: moved, chosen
  /// among others, or one of several that meet (the first). Of a copy (cp.async) itself.
  std::map<std::uint32_t, std::uint32_t> fetched_by;
  /// Of a load the first of those from global and from shared memory of which one or the other gives a value
  /// that is used as one. Loads that are alone are left out.
  std::map<std::uint32_t, std::uint32_t> reference;
  /// Instructions on textures and surfaces by the function's name. They have coordinates, so nobody observes
  /// what they access. Functions that have none are left out.
  std::map<std::string, std::size_t, std::less<>> textures;
};

/// Of all functions of a module; what passes from one function to another is not followed.
Result<Transfers> find_transfers(std::string ptx, const std::string& name);

}  // namespace lynxpp::observe
