// Pro++ (Bombieri, Busato, Fummi: An Enhanced Profiling Framework for the Analysis and Development of
// Parallel Primitives for GPUs): eight criteria of how well a primitive uses a device, each from 0 to 1,
// larger is better. A primitive is one or more launches with the copies between them.
//
//   const Criteria criteria = criteria_of(primitive, hardware);
//   const std::optional<double> coalescing = criteria[Criterion::memory_coalescing];
//
// The printed formulas need corrections (docs/quality.md):
//   OC  The register occupancy is printed as its reciprocal; the occupancy by block size is a number of
//       blocks, with max where the lesser limit holds; shared memory is named in the text without a formula.
//       Here each limit gives a number of blocks, and an occupancy is the warps of these blocks divided by
//       those of a full multiprocessor.
//   WE  The result is a number of lanes and has to be divided by 32. Launched threads over launched warps do
//       not measure divergence, which the text asks for: here executed instructions count, of lanes and of
//       warps.
//   SO  Printed as the share of time that is lost. It has to be 1 minus the sum, with W1 + W2 = 1.
//   IO  arithmetic_throughput is the rate times the execution time (Table I): here for each pipe, since pipes
//       have different rates. A matrix instruction counts as its products.
//   MC  Divides transactions by a bandwidth: here the transferred bytes.
//   DT  Printed between -0.5 and 0.5; here 0.5 larger, so that it is in (0, 1]. The source of problem_size is
//       not specified: here the bytes of the arrays passed to the launches.
//   QM  Omits SO, although the paper gives it a weight.
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
/// Returns nullopt if `symbol` is not the symbol of a criterion.
std::optional<Criterion> find_criterion(const std::string& symbol);

/// One value for each criterion.
template <typename Value>
struct PerCriterion {
  std::array<Value, criterion_count> values{};

  Value& operator[](Criterion criterion) { return values[static_cast<std::size_t>(criterion)]; }
  const Value& operator[](Criterion criterion) const { return values[static_cast<std::size_t>(criterion)]; }
  bool operator==(const PerCriterion&) const = default;
};

/// nullopt: the inputs are unknown, or the criterion does not apply to the kernel.
using Criteria = PerCriterion<std::optional<double>>;

/// Table I, "Hardware Info": from the driver, or assumed for a modelled device.
struct Hardware {
  std::string name;
  Machine machine;  ///< total_warps and the limits of a multiprocessor
  std::uint32_t multiprocessors = 1;
  double clock_hz = 0;
  /// arithmetic_throughput: lane instructions per clock and multiprocessor.
  double integer_rate = 0;
  double single_rate = 0;
  double double_rate = 0;
  double matrix_rate =
      0;  ///< matrix_products() per clock and multiprocessor; 0: unknown, or it has no such units
  double memory_rate = 0;  ///< Available_mem_throughput, bytes per second
  /// Time between two kernels if Kernel_synch_time was not measured.
  double gap_seconds = 3e-6;
};

/// Table I, "Kernel Configuration" and "Compiler Info", of a launch.
struct Configuration {
  std::uint64_t grid_size = 1;     ///< thread blocks
  std::uint32_t block_size = 1;    ///< threads
  std::uint32_t registers = 0;     ///< per thread; 0: unknown, not limiting
  std::uint32_t shared_bytes = 0;  ///< per block, Static_SMem + Dynamic_SMem
};

/// Table I, "Profiler Event", of a launch.
struct Counts {
  std::uint64_t lane_instructions = 0;  ///< executed by active lanes
  std::uint64_t warp_instructions = 0;  ///< executed by warps
  std::uint64_t integers = 0;           ///< arithmetic instructions executed by lanes
  std::uint64_t singles = 0;
  std::uint64_t doubles = 0;
  std::uint64_t textures = 0;  ///< warp accesses: texture_accesses
  std::uint64_t locals = 0;
  std::uint64_t shared = 0;
  std::uint64_t globals = 0;
  std::uint64_t moved_bytes = 0;  ///< bytes of DRAM_transactions
  double matrix = 0;              ///< matrix_products() of all lanes; not in the arithmetic instructions
};

/// Returns the bytes that cross caches which hold what a launch accesses again: each of the bytes of its
/// `arrays` at most once to read and once to write. If `arrays` is 0 (it finds them through memory), all
/// requested bytes.
std::uint64_t bytes_past_caches(std::uint64_t read, std::uint64_t written, std::uint64_t arrays);

struct KernelRun {
  Configuration configuration;
  Counts counts;
  double seconds = 0;   ///< kernel_time; 0: unknown
  double balance = -1;  ///< mean of active_warps / total_warps over all multiprocessors; < 0: unknown
  double stalled = -1;  ///< stall_sync: share of the warps' time spent at barriers; < 0: unknown
};

/// A copy between host and device.
struct Copy {
  std::uint64_t bytes = 0;
  bool overlaps = false;  ///< with a kernel
};

/// The launches and copies that the criteria describe.
struct Primitive {
  std::vector<KernelRun> kernels;
  std::vector<Copy> copies;
  std::uint64_t problem_bytes = 0;
  /// Kernel_synch_time: time from the first launch's beginning to the last one's end, excluding the kernels.
  /// < 0: unknown.
  double between_seconds = -1;
};

/// The four limits of OC, each 0 to 1.
struct OccupancyLimits {
  double by_registers = 0;
  double by_blocks = 0;  ///< by block_size, with the thread and block limits of a multiprocessor
  double by_shared = 0;
  double by_grid = 0;  ///< threads of the grid / capacity of the device
  double least() const;
};
OccupancyLimits occupancy_limits(const Configuration& configuration, const Hardware& hardware);

/// W1 and W2 of the synchronisation overhead.
struct SynchronizationShares {
  double barriers = 0.5;
  double kernels = 0.5;
};

/// For several kernels, OC and LB are means weighted by time (equally if no time is known), the others ratios
/// of sums.
Criteria criteria_of(const Primitive& primitive, const Hardware& hardware,
                     const SynchronizationShares& shares = {});

/// DT as printed in the paper, in (-0.5, 0.5]; nullopt without a problem size and copies.
std::optional<double> printed_data_transfer(const Primitive& primitive);

}  // namespace lynxpp::models::proplusplus
