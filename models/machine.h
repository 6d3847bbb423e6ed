// What a model has to know about a device, as data that a user can write down: models/machines/*.json.
//
//   const Result<Machine> machine = find_machine("compute_1_3");   // or the path of a file
//   const double share = occupancy(*machine, {256, 10, 1024}).share;
#pragma once

#include <cstdint>
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

struct Machine {
  std::string name;
  std::string source;  ///< where the figures come from
  std::uint32_t warp_size = 32;
  std::uint32_t access_group = 32;  ///< lanes whose accesses are served together: 16 or 32
  Residency residency;
  Registers registers;
  SharedMemory shared;
  GlobalMemory global;
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
