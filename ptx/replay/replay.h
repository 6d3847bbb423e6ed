// Replays on the host what a launch did, as far as it follows from its parameters and thread indices: the
// addresses of its predictable accesses, exactly, without a probe in the kernel.
//
// It executes a kernel not thread after thread but for a box of threads at a time, whose registers hold
// linear forms over the thread indices; loops run with their real counters. Where threads of a box part, the
// box is cut. A matrix product of 1024 x 1024 x 1024 takes some thousand operations, because all its threads
// do the same. GMProf (Zheng et al., 2012, section 4.1) takes a part of this, accesses that are independent
// of the thread or of a loop's counter, out of its instrumentation; here it is whatever is linear on boxes,
// and conditions with it.
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
  std::span<const std::byte> parameters;  ///< as the kernel's parameter buffer holds them
  /// Addresses of ReplayProgram::variables; nullopt: not known, and what depends on it is a failure.
  std::vector<std::optional<std::uint64_t>> variables;
};

/// One execution of a predictable access by the threads of a box.
struct ReplayedAccess {
  std::uint32_t function = 0;  ///< position in ReplayedFunctions::functions
  std::uint32_t instruction = 0;
  std::uint32_t side = 0;
  std::uint32_t bytes = 0;  ///< of each thread
  ThreadForm address;       ///< of the first byte
  ThreadBox box;
  bool is_shared = false;  ///< in shared memory, else in device memory
};

struct ReplayLimits {
  std::uint64_t operations = 20'000'000;  ///< about a second
};

/// Calls `visit` for every execution of a predictable access. Failure: the limit is reached, or a number
/// cannot be followed after all; what was visited until then is a part of the whole.
Status replay(const ReplayProgram& program, const ReplayLaunch& launch,
              const std::function<void(const ReplayedAccess&)>& visit, const ReplayLimits& limits = {});

}  // namespace lynxpp::ptx
