// Programs in separate processes under liblynxpp.so, with a fake driver, runtime and engine that log their
// calls.
#pragma once

#include <string>
#include <vector>

namespace lynxpp {

struct Outcome {
  int status = 0;  ///< exit status; 128 + signal
  std::string output;
  std::string errors;
  std::vector<std::string> events;

  /// Returns the events that start with the prefix, without it.
  std::vector<std::string> events_of(const std::string& prefix) const {
    std::vector<std::string> result;
    for (const std::string& event : events) {
      if (event.starts_with(prefix)) result.push_back(event.substr(prefix.size()));
    }
    return result;
  }
};

inline const std::string programs_folder = LYNXPP_TEST_PROGRAMS;
inline const std::string stage_folder = LYNXPP_TEST_STAGE;
inline const std::string preload_library = stage_folder + "/liblynxpp.so";
inline const std::string attached = "LYNXPP_SPEC=a,b ";

/// Runs a shell command line with `preload` and the variables set.
Outcome run(const std::string& command, const std::string& environment = {},
            const std::string& preload = preload_library);

/// Runs driver_program with the arguments, on the CUDA device.
Outcome run_driver(const std::string& arguments, const std::string& environment = {},
                   const std::string& preload = preload_library);

}  // namespace lynxpp
