// The status of a process and how it is shown.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "support/result.h"

namespace lynxpp::cli {

/// The answer of interposer/control/answer.h.
struct ProcessStatus {
  struct Kernel {
    std::string name;  ///< mangled
    std::uint64_t launches = 0;
    std::uint64_t instrumented = 0;
    std::uint64_t timed = 0;         ///< launches in `milliseconds`
    double milliseconds = 0;         ///< on the device
    bool is_modelled = false;        ///< of `milliseconds`
    std::uint64_t warps_per_sm = 0;  ///< resident on a multiprocessor; 0: unknown
    std::uint64_t most_warps_per_sm = 0;
  };
  std::string device;
  std::vector<std::string> specifications;
  std::string kernels, launches;  ///< filters; empty: all
  std::string output;             ///< a file's pattern; empty: none
  std::uint64_t launched = 0;     ///< launches since the program started
  std::uint64_t seen = 0, instrumented = 0, outstanding = 0, lost = 0;
  std::vector<Kernel> seen_kernels;  ///< most launched first
};

/// Fails if a member has the wrong type.
Result<ProcessStatus> read_status(const nlohmann::json& answer);

Result<ProcessStatus> ask_status(int process);

/// Returns the lines of `lynxpp status`.
std::string status_text(int process, const ProcessStatus& status);

}  // namespace lynxpp::cli
