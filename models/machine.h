// Device parameters of the models, as data that users can write: models/machines/*.json.
//
//   const Result<Machine> machine = find_machine("compute_1_3");   // or the path of a file
//   const double share = occupancy(*machine, {256, 10, 1024}).share;
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "support/result.h"

namespace lynxpp::models {

/// Formation of transactions from lanes' accesses to global memory.
enum class Coalescing {
  segments,  ///< compute capability 1.2 and 1.3: 32, 64 or 128 bytes, halved while one half is unused
  sectors    ///< from 2.0 on: every sector of 32 bytes that is accessed
};

struct GlobalMemory {
  Coalescing coalescing = Coalescing::sectors;
  std::uint32_t channels = 1;       ///< partitions that serve requests in parallel
  std::uint32_t channel_width = 0;  ///< consecutive bytes in one channel; 0: addresses are hashed
};

struct SharedMemory {
  std::uint32_t banks = 32;
  std::uint32_t bank_width = 4;     ///< bytes
  std::uint32_t bytes = 0;          ///< per multiprocessor
  std::uint32_t unit = 1;           ///< allocation granularity of a block, in bytes
  std::uint32_t of_each_block = 0;  ///< additional bytes reserved for each block
};

struct Registers {
  std::uint32_t count = 0;       ///< per multiprocessor
  std::uint32_t partitions = 1;  ///< number of register file partitions; a warp's registers are in one
  std::uint32_t unit = 1;        ///< allocation granularity
  bool of_block = false;         ///< allocated per block, otherwise per warp
  std::uint32_t warp_unit = 1;   ///< per block: granularity of the number of warps
};

struct Residency {
  std::uint32_t threads = 0;  ///< per multiprocessor
  std::uint32_t blocks = 0;
  std::uint32_t warps = 0;
  std::uint32_t block_threads = 0;  ///< per block
};

/// In multiprocessor cycles, like all cycles below unless stated otherwise.
struct ArithmeticTiming {
  std::uint32_t issue = 1;    ///< cycles that a warp instruction occupies a scheduler
  std::uint32_t special = 1;  ///< the same for a root, a quotient, a transcendental function
  std::uint32_t wide = 1;     ///< the same for an operation on f64 values
  std::uint32_t latency = 1;  ///< cycles until a warp's next instruction can begin, at least `issue`
};

struct SharedTiming {
  std::uint32_t turn = 1;     ///< cycles of one access group, or of one of its conflicts
  std::uint32_t latency = 0;  ///< cycles from the last turn until the lanes have the loaded values
};

struct MemoryTiming {
  std::uint32_t latency = 0;          ///< cycles of a transaction in addition to its service
  std::uint32_t gap = 1;              ///< cycles between two transactions of a multiprocessor
  std::uint32_t in_flight = 1;        ///< maximum number of outstanding transactions per multiprocessor
  std::uint32_t overhead = 0;         ///< memory cycles for each transaction, in addition to its bytes
  std::uint32_t bytes_per_cycle = 1;  ///< of one channel, in memory cycles
  std::uint32_t atomic = 0;           ///< memory cycles for each further lane of an atomic operation
};

/// A set-associative cache with LRU replacement.
struct CacheTiming {
  std::uint32_t bytes = 0;      ///< of a multiprocessor's L1; of the entire L2
  std::uint32_t line = 0;       ///< bytes per tag
  std::uint32_t sector = 0;     ///< bytes fetched at a time
  std::uint32_t ways = 0;       ///< lines per set
  std::uint32_t latency = 0;    ///< cycles of a hit
  std::uint32_t occupancy = 1;  ///< cycles that a sector occupies a slice of the L2
  std::uint32_t partial = 0;    ///< the same for a partially stored sector; 0: equal to `occupancy`
};

/// Parameters of a clock (models/clock).
struct Timing {
  std::uint32_t multiprocessors = 1;
  std::uint32_t schedulers = 1;  ///< per multiprocessor; a warp belongs to one
  std::uint32_t core_mhz = 1;
  std::uint32_t memory_mhz = 1;
  std::uint32_t launch_gap_ns = 0;  ///< between the end of a kernel and the beginning of the next
  ArithmeticTiming arithmetic;
  SharedTiming shared;
  MemoryTiming memory;
  std::optional<CacheTiming> l1, l2;
};

struct TextureCache {
  std::uint32_t line = 32;   ///< bytes
  std::uint32_t bytes = 32;  ///< per multiprocessor
};

struct Latency {
  std::uint32_t cycles = 1;  ///< of global memory
  std::uint32_t issue = 1;   ///< cycles to issue one arithmetic instruction of a warp
};

struct Machine {
  std::string name;
  std::string source;  ///< origin of the parameters
  std::uint32_t warp_size = 32;
  std::uint32_t access_group = 32;  ///< lanes whose accesses are served together: 16 or 32
  Residency residency;
  Registers registers;
  SharedMemory shared;
  GlobalMemory global;
  TextureCache texture;
  Latency latency;
  std::optional<Timing> timing;  ///< optional; without it, the machine has no modelled time
  /// Rank correlations of terms of CuMAPz with what changing them gains, measured by `lynxpp limits`.
  /// Optional; "bw_util" for example. Terms that are missing were not compared.
  std::map<std::string, double> correlations;

  static constexpr double least_correlation = 0.5;
  /// True unless the term is known not to follow what is gained: it is then not shown as advice.
  bool advises(const std::string& term) const {
    const auto known = correlations.find(term);
    return known == correlations.end() || known->second >= least_correlation;
  }
};

/// Resources that a thread block needs.
struct BlockNeeds {
  std::uint32_t threads = 0;
  std::uint32_t registers = 0;     ///< per thread
  std::uint32_t shared_bytes = 0;  ///< static and dynamic
};

struct Occupancy {
  std::uint32_t blocks = 0;  ///< resident on a multiprocessor; 0: the block does not fit
  double share = 0;          ///< of the maximum number of warps per multiprocessor, 0 to 1
};

Occupancy occupancy(const Machine& machine, const BlockNeeds& needs);

/// Parses the text of a file; `file` names it in diagnostics. Fails for members that are missing, unknown or
/// out of range, naming each.
Result<Machine> parse_machine(std::string_view text, const std::string& file);

/// Returns a built-in machine by name, or reads a file if the name contains '/' or ends with ".json".
Result<Machine> find_machine(const std::string& name);

/// Names of the built-in machines.
std::vector<std::string> machine_names();

}  // namespace lynxpp::models
