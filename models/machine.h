// What a model has to know about a device, as data that a user can write down: models/machines/*.json.
//
//   const Result<Machine> machine = find_machine("compute_1_3");   // or the path of a file
//   const double share = occupancy(*machine, {256, 10, 1024}).share;
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "support/result.h"

namespace lynxpp::models {

/// How lanes' accesses to global memory become transactions.
enum class Coalescing {
  segments,  ///< compute capability 1.2 and 1.3: of 32, 64 or 128 bytes, halved while one half is unused
  sectors    ///< since 2.0: every sector of 32 bytes that is touched
};

struct GlobalMemory {
  Coalescing coalescing = Coalescing::sectors;
  std::uint32_t channels = 1;       ///< partitions that serve requests side by side
  std::uint32_t channel_width = 0;  ///< bytes that follow each other in one; 0: addresses are hashed
};

struct SharedMemory {
  std::uint32_t banks = 32;
  std::uint32_t bank_width = 4;     ///< bytes
  std::uint32_t bytes = 0;          ///< of a multiprocessor
  std::uint32_t unit = 1;           ///< a block gets a multiple of so many bytes
  std::uint32_t of_each_block = 0;  ///< bytes that each block takes besides
};

struct Registers {
  std::uint32_t count = 0;       ///< of a multiprocessor
  std::uint32_t partitions = 1;  ///< that these are divided among; a warp's are in one
  std::uint32_t unit = 1;        ///< what is given out is a multiple of so many
  bool of_block = false;         ///< whether that is for a block as a whole, else for a warp
  std::uint32_t warp_unit = 1;   ///< for a block: its warps are rounded up to a multiple of this
};

struct Residency {
  std::uint32_t threads = 0;  ///< of a multiprocessor
  std::uint32_t blocks = 0;
  std::uint32_t warps = 0;
  std::uint32_t block_threads = 0;  ///< of one block
};

/// Of the multiprocessors, like all cycles below that are not said to be the memory's.
struct ArithmeticTiming {
  std::uint32_t issue = 1;    ///< cycles that an instruction of a warp keeps a scheduler busy
  std::uint32_t special = 1;  ///< … a root, a quotient, a transcendental function
  std::uint32_t wide = 1;     ///< … an operation on values of f64
  std::uint32_t latency = 1;  ///< cycles until a warp's next instruction can begin, no less than `issue`
};

struct SharedTiming {
  std::uint32_t turn = 1;     ///< cycles that one access group, or one conflict of it, takes
  std::uint32_t latency = 0;  ///< cycles from the last turn until the lanes have what they read
};

struct MemoryTiming {
  std::uint32_t latency = 0;          ///< cycles of a transaction beside its service
  std::uint32_t gap = 1;              ///< cycles between two transactions of a multiprocessor
  std::uint32_t in_flight = 1;        ///< transactions of a multiprocessor that are not over
  std::uint32_t overhead = 0;         ///< cycles of the memory for each transaction, besides its bytes
  std::uint32_t bytes_per_cycle = 1;  ///< of the memory, of one channel
  std::uint32_t atomic = 0;           ///< cycles of the memory for each further lane of an atomic operation
};

/// Set-associative; the least recently used line goes.
struct CacheTiming {
  std::uint32_t bytes = 0;      ///< of a multiprocessor's L1; of the whole L2
  std::uint32_t line = 0;       ///< bytes that have one tag
  std::uint32_t sector = 0;     ///< bytes that are fetched at a time
  std::uint32_t ways = 0;       ///< lines of a set
  std::uint32_t latency = 0;    ///< cycles of a hit
  std::uint32_t occupancy = 1;  ///< cycles that a sector keeps a slice of the L2 busy
  std::uint32_t partial = 0;    ///< … a sector of which only a part is stored; 0: as many
};

/// What a clock needs (models/clock).
struct Timing {
  std::uint32_t multiprocessors = 1;
  std::uint32_t schedulers = 1;  ///< of a multiprocessor; a warp belongs to one
  std::uint32_t core_mhz = 1;
  std::uint32_t memory_mhz = 1;
  std::uint32_t launch_gap_ns = 0;  ///< between the end of a kernel and the begin of the next
  ArithmeticTiming arithmetic;
  SharedTiming shared;
  MemoryTiming memory;
  std::optional<CacheTiming> l1, l2;
};

struct TextureCache {
  std::uint32_t line = 32;   ///< bytes
  std::uint32_t bytes = 32;  ///< of a multiprocessor
};

struct Latency {
  std::uint32_t cycles = 1;  ///< of global memory
  std::uint32_t issue = 1;   ///< cycles that an arithmetic instruction of a warp takes to issue
};

struct Machine {
  std::string name;
  std::string source;  ///< where the figures come from
  std::uint32_t warp_size = 32;
  std::uint32_t access_group = 32;  ///< lanes whose accesses are served together: 16 or 32
  Residency residency;
  Registers registers;
  SharedMemory shared;
  GlobalMemory global;
  TextureCache texture;
  Latency latency;
  std::optional<Timing> timing;  ///< a file need not have it; nothing is timed on such a machine then
};

/// What one thread block needs.
struct BlockNeeds {
  std::uint32_t threads = 0;
  std::uint32_t registers = 0;     ///< of a thread
  std::uint32_t shared_bytes = 0;  ///< static and dynamic
};

struct Occupancy {
  std::uint32_t blocks = 0;  ///< on a multiprocessor at a time; 0: the block does not fit
  double share = 0;          ///< of the warps that a multiprocessor can hold, 0 to 1
};

Occupancy occupancy(const Machine& machine, const BlockNeeds& needs);

/// From the text of a file; `file` names it in diagnostics. Fails on members that are missing, unknown or
/// out of range, each by its name.
Result<Machine> parse_machine(std::string_view text, const std::string& file);

/// One that comes with lynxpp, by name; or a file, when the name has a '/' or ends with ".json".
Result<Machine> find_machine(const std::string& name);

/// Names of those that come with lynxpp.
std::vector<std::string> machine_names();

}  // namespace lynxpp::models
