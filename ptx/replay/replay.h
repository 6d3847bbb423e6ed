// Replays on the host the part of a launch that follows from its parameters and thread indices: the exact
// addresses of its predictable accesses, without a probe in the kernel.
//
// Replay executes a kernel for a box of threads at a time, whose registers hold linear forms over the thread
// indices; loops run with their actual counters. If threads of a box diverge, the box is cut. A matrix
// product of 1024 x 1024 x 1024 takes a few thousand operations, because all its threads do the same. GMProf
// (Zheng et al., 2012, section 4.1) removes a subset of these accesses from its instrumentation, those that
// are independent of the thread or of a loop's counter; replay handles everything that is linear on boxes,
// including conditions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "ptx/replay/program.h"
#include "ptx/replay/thread_box.h"
#include "support/result.h"

namespace lynxpp::ptx {

struct ReplayLaunch {
  std::uint32_t grid[3] = {1, 1, 1};
  std::uint32_t block[3] = {1, 1, 1};
  std::span<const std::byte> parameters;  ///< the contents of the kernel's parameter buffer
  /// Addresses of ReplayProgram::variables; nullopt: unknown, and replay fails if it needs the address.
  std::vector<std::optional<std::uint64_t>> variables;
};

/// One execution of a predictable access by the threads of a box.
struct ReplayedAccess {
  std::uint32_t function = 0;  ///< position in ReplayedFunctions::functions (program_builder.h)
  std::uint32_t instruction = 0;
  std::uint32_t side = 0;
  std::uint32_t bytes = 0;  ///< accessed per thread
  ThreadForm address;       ///< address of the first byte
  ThreadBox box;
  bool is_shared = false;  ///< in shared memory, otherwise in device memory
};

struct ReplayLimits {
  std::uint64_t operations = 20'000'000;  ///< about a second
};

/// Calls `visit` for every execution of a predictable access. Fails if the limit is reached or a value turns
/// out to be unknown; the accesses visited until then are incomplete.
Status replay(const ReplayProgram& program, const ReplayLaunch& launch,
              const std::function<void(const ReplayedAccess&)>& visit, const ReplayLimits& limits = {});

/// True if the program loads the same values from two parameter buffers of one size.
bool loads_equal_parameters(const ReplayProgram& program, std::span<const std::byte> left,
                            std::span<const std::byte> right);

}  // namespace lynxpp::ptx
