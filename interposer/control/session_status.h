// A session's status while the program runs.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace lynxpp::interposer {

struct KernelStatus {
  std::string kernel;                   ///< mangled
  std::uint64_t launches = 0;           ///< launches made while specifications were attached
  std::uint64_t instrumented = 0;       ///< launches that were instrumented
  std::uint64_t timed = 0;              ///< launches whose time on the device is known (LYNXPP_TIMING)
  double milliseconds = 0;              ///< their sum
  bool is_modelled = false;             ///< these times are modelled
  std::uint64_t warps_per_sm = 0;       ///< of the original, resident on a multiprocessor; 0: unknown
  std::uint64_t most_warps_per_sm = 0;  ///< that a multiprocessor can hold
};

struct SessionStatus {
  std::vector<std::string> specifications;  ///< names of the attached specifications
  std::string kernels;                      ///< text of the filter; empty: all kernels
  std::string launches;                     ///< text of the filter; empty: all launches
  std::string output;                       ///< LYNXPP_OUTPUT
  bool prints_table = true;
  std::string device;             ///< device of the collected launches; empty: none collected yet
  std::uint64_t outstanding = 0;  ///< launches whose results are not collected yet
  std::uint64_t lost = 0;         ///< launches whose results are lost
  std::vector<KernelStatus> seen;
};

/// An instrumented launch that is not over.
struct RunningLaunch {
  std::string kernel;        ///< mangled
  std::uint64_t launch = 0;  ///< its number
  std::uint32_t grid[3] = {1, 1, 1};
  std::uint32_t block[3] = {1, 1, 1};
  double seconds = 0;                 ///< since it was requested
  std::vector<std::string> findings;  ///< printed by specifications that call isRunning()
};

}  // namespace lynxpp::interposer
