// How long each resource of a machine with caches is busy with a kernel, and so which one bounds it.
//
// CuMAPz's estimate (terms.h) is a product: it takes what shared memory does not hold to come from the
// memory, and every factor to count, whatever bounds the kernel. On a machine whose caches serve most of
// that, time follows the busiest resource:
//
//   const Bounds bounds = bounds_of(totals, machine);
//   bounds.cycles();               // of a multiprocessor; compares variants of one kernel
//   name_of(bounds.slowest());     // "l1"
//
// Each is the work of the whole grid over what the device does of it in a cycle:
//
//   memory   bytes of arrays that the grid touches, read and written, once each, over the memory's rate
//   l2       sectors that the L1 does not hold, and all that are stored, over the slices' rate; those of
//            which a warp stores a part keep a slice busy longer
//   l1       lines of 128 bytes for each access of a warp, and turns of shared memory: one each cycle,
//            of each multiprocessor, since both are one unit
//   issue    instructions of warps: one for each reference and each path of it, and `arithmetic`
//   latency  waits of blocks for global memory, one after the other as many as do not fit beside each other
//
// Modelled: how much of them overlaps is not known. cycles() is the root of the sum of squares, between the
// slowest alone and the sum of all; it comes nearest to the times of CuMAPz's eight benchmarks on an H100
// (docs/measurements), and names no cause where variants differ by a few per cent.
#pragma once

#include <array>
#include <string_view>

#include "models/cumapz/execution.h"

namespace lynxpp::models::cumapz {

enum class Resource { memory, l2, l1, issue, latency };
constexpr std::size_t resources = 5;
std::string_view name_of(Resource resource);

struct Bounds {
  std::array<double, resources> busy{};  ///< cycles of a multiprocessor, by Resource

  double of(Resource resource) const { return busy[static_cast<std::size_t>(resource)]; }
  double cycles() const;
  Resource slowest() const;
};

/// Precondition: machine.timing has both caches.
Bounds bounds_of(const Totals& totals, const Machine& machine);

/// Whether a machine has what bounds_of needs.
bool has_bounds(const Machine& machine);

}  // namespace lynxpp::models::cumapz
