// Pro++ (Bombieri, Busato, Fummi: An Enhanced Profiling Framework for the Analysis and Development of
// Parallel Primitives for GPUs): eight criteria of how well a primitive uses a device, each from 0 to 1, the
// larger the better. A primitive is one or more launches with the copies between them.
//
//   const Criteria criteria = criteria_of(primitive, hardware);
//   const std::optional<double> coalescing = criteria[Criterion::memory_coalescing];
//
// What the paper prints needs corrections (docs/quality.md):
//   OC  the register occupancy is printed upside down; the occupancy by block size is a number of blocks,
//       with max where the lesser limit holds; shared memory is named in the text and has no formula. Here
//       each limit gives a number of blocks, and an occupancy is warps of these blocks over those of a full
//       multiprocessor.
//   WE  is a number of lanes and has to be divided by 32. Launched threads over launched warps say nothing of
//       divergence, which the text wants measured: here executed instructions count, of lanes and of warps.
//   SO  is printed as the share of time that is lost. It has to be 1 minus the sum, with W1 + W2 = 1.
//   IO  divides a number of instructions by a rate: here the rate times the time, pipe by pipe.
//   MC  divides transactions by a bandwidth: here the bytes that they move.
//   DT  is printed between -0.5 and 0.5; here 0.5 more, so that it is in (0, 1]. Where problem_size comes
//       from is not said: here the bytes of the arrays that the launches were given.
//   QM  leaves out SO, to which the paper gives a weight all the same.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "models/machine.h"

namespace lynxpp::models::proplusplus {

enum class Criterion : std::uint8_t {
  occupancy,
  load_balancing,
  warp_efficiency,
  synchronization,
  instructions,
  memory_hierarchy,
  memory_coalescing,
  data_transfer,
};
inline constexpr std::size_t criterion_count = 8;

/// "OC".
const char* symbol_of(Criterion criterion);
/// "occupancy".
const char* name_of(Criterion criterion);
/// Nullopt for what is no symbol of a criterion.
std::optional<Criterion> find_criterion(const std::string& symbol);

/// One value for each criterion.
template <typename Value>
struct PerCriterion {
  std::array<Value, criterion_count> values{};

  Value& operator[](Criterion criterion) { return values[static_cast<std::size_t>(criterion)]; }
  const Value& operator[](Criterion criterion) const { return values[static_cast<std::size_t>(criterion)]; }
  bool operator==(const PerCriterion&) const = default;
};

/// Nullopt: what it is made of is not known, or the kernel does nothing that the criterion is about.
using Criteria = PerCriterion<std::optional<double>>;

/// Table I, "Hardware Info": from the driver, or assumed for a device that is modelled.
struct Hardware {
  std::string name;
  Machine machine;  ///< total_warps and the limits of a multiprocessor
  std::uint32_t multiprocessors = 1;
  double clock_hz = 0;
  /// arithmetic_throughput: instructions of lanes for each clock and multiprocessor.
  double integer_rate = 0;
  double single_rate = 0;
  double double_rate = 0;
  double memory_rate = 0;  ///< Available_mem_throughput, bytes a second
  /// From the end of one kernel to the begin of the next, where nobody has measured Kernel_synch_time.
  double gap_seconds = 3e-6;
};

/// Table I, "Kernel Configuration" and "Compiler Info", of a launch.
struct Configuration {
  std::uint64_t grid_size = 1;     ///< thread blocks
  std::uint32_t block_size = 1;    ///< threads
  std::uint32_t registers = 0;     ///< of a thread; 0: not known, taken for no limit
  std::uint32_t shared_bytes = 0;  ///< of a block, Static_SMem + Dynamic_SMem
};

/// Table I, "Profiler Event", of a launch.
struct Counts {
  std::uint64_t lane_instructions = 0;  ///< executed, one for each active lane
  std::uint64_t warp_instructions = 0;  ///< executed, one for each warp
  std::uint64_t integers = 0;           ///< arithmetic, executed by lanes
  std::uint64_t singles = 0;
  std::uint64_t doubles = 0;
  std::uint64_t textures = 0;  ///< accesses by warps: texture_accesses
  std::uint64_t locals = 0;
  std::uint64_t shared = 0;
  std::uint64_t globals = 0;
  std::uint64_t moved_bytes = 0;  ///< of DRAM_transactions
};

struct KernelRun {
  Configuration configuration;
  Counts counts;
  double seconds = 0;   ///< kernel_time; 0: not known
  double balance = -1;  ///< mean of active_warps / total_warps over all multiprocessors; < 0: not known
  double stalled = -1;  ///< stall_sync: share of the warps' time spent at barriers; < 0: not known
};

/// A copy between host and device.
struct Copy {
  std::uint64_t bytes = 0;
  bool overlaps = false;  ///< with a kernel
};

/// What the criteria are of.
struct Primitive {
  std::vector<KernelRun> kernels;
  std::vector<Copy> copies;
  std::uint64_t problem_bytes = 0;
  /// From the first launch's begin to the last one's end, without the kernels themselves: Kernel_synch_time.
  /// < 0: not known.
  double between_seconds = -1;
};

/// The four limits of OC, each 0 to 1.
struct OccupancyLimits {
  double by_registers = 0;
  double by_blocks = 0;  ///< by block_size, the threads and the blocks of a multiprocessor
  double by_shared = 0;
  double by_grid = 0;  ///< threads of the grid over those that the device can hold
  double least() const;
};
OccupancyLimits occupancy_limits(const Configuration& configuration, const Hardware& hardware);

/// W1 and W2 of the synchronisation overhead.
struct SynchronizationShares {
  double barriers = 0.5;
  double kernels = 0.5;
};

/// Over several kernels OC and LB are means weighted by time (all alike where no time is known), the others
/// ratios of sums.
Criteria criteria_of(const Primitive& primitive, const Hardware& hardware,
                     const SynchronizationShares& shares = {});

/// DT as the paper prints it, in (-0.5, 0.5]; nullopt when there is neither a problem nor a copy.
std::optional<double> printed_data_transfer(const Primitive& primitive);

}  // namespace lynxpp::models::proplusplus
