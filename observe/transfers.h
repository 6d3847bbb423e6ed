// Related accesses of a kernel, derived from its code: the load and the store of a fetch, and loads that are
// one reference in the source.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>

#include "support/result.h"

namespace lynxpp::observe {

/// Keyed by PTX line.
struct Transfers {
  /// For a store to shared memory, the load from global memory whose value it stores unchanged: moved,
  /// selected among others, or merged with others (the first). For a copy (cp.async), the copy itself.
  std::map<std::uint32_t, std::uint32_t> fetched_by;
  /// For a load, the first of a group of loads from global and shared memory whose results are merged into
  /// one value. Loads in no group are omitted.
  std::map<std::uint32_t, std::uint32_t> reference;
  /// Number of texture and surface instructions by function name. They use coordinates, so their accesses are
  /// not observed. Functions without them are omitted.
  std::map<std::string, std::size_t, std::less<>> textures;
};

/// Analyses all functions of a module; values passed between functions are not tracked.
Result<Transfers> find_transfers(std::string ptx, const std::string& name);

}  // namespace lynxpp::observe
