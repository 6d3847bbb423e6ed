// The time that a kernel occupies each resource of a machine with caches, and thus the resource that bounds
// it.
//
// CuMAPz's estimate (terms.h) is a product: it assumes that accesses not served by shared memory go to global
// memory, and that every factor matters, whatever bounds the kernel. On a machine whose caches serve most of
// these accesses, time follows the busiest resource:
//
//   const Bounds bounds = bounds_of(totals, machine);
//   bounds.cycles();               // of a multiprocessor; compares variants of one kernel
//   name_of(bounds.slowest());     // "l1"
//
// Each is the work of the entire grid divided by the device's throughput per cycle:
//
//   memory   bytes of arrays that the grid touches, read and written, once each, over the memory's rate
//   l2       sectors that miss the L1, and all stored sectors, over the slices' rate; partially stored
//            sectors occupy a slice longer
//   l1       lines of 128 bytes for each access of a warp, and turns of shared memory: one each cycle,
//            per multiprocessor, since both are one unit
//   issue    warp instructions: one for each reference and each path of it, and `arithmetic`
//   latency  waits of blocks for global memory, sequential for blocks that are not resident together, and in
//            each iteration of a loop; at the latency of the cache or memory that has the data
//
// In a grid with fewer blocks than multiprocessors the others are idle.
// Modelled: the overlap between them is unknown. cycles() is the root of the sum of squares, between the
// maximum and the sum; it is closest to the times of CuMAPz's eight benchmarks on an H100
// (docs/measurements), and does not identify a cause if variants differ by a few percent.
#pragma once

#include <array>
#include <string_view>

#include "models/cumapz/execution.h"

namespace lynxpp::models::cumapz {

enum class Resource { memory, l2, l1, issue, latency };
constexpr std::size_t resources = 5;
std::string_view name_of(Resource resource);

struct Bounds {
  std::array<double, resources> busy{};  ///< cycles per multiprocessor, by Resource

  double of(Resource resource) const { return busy[static_cast<std::size_t>(resource)]; }
  double cycles() const;
  Resource slowest() const;
};

/// Precondition: machine.timing has both caches.
Bounds bounds_of(const Totals& totals, const Machine& machine);

/// True if the machine has the parameters that bounds_of() needs.
bool has_bounds(const Machine& machine);

}  // namespace lynxpp::models::cumapz
