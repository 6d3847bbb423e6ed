// What a session tells of itself while the program runs.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace lynxpp::interposer {

struct KernelStatus {
  std::string kernel;              ///< mangled
  std::uint64_t launches = 0;      ///< seen while specifications were attached
  std::uint64_t instrumented = 0;  ///< of these
};

struct SessionStatus {
  std::vector<std::string> specifications;  ///< attached now, by name
  std::string kernels;                      ///< the filter's text; empty: all
  std::string launches;                     ///< the filter's text; empty: all
  std::string output;                       ///< LYNXPP_OUTPUT
  bool prints_table = true;
  std::string device;             ///< of launches whose results were taken; empty: none was
  std::uint64_t outstanding = 0;  ///< launches whose results have not been taken
  std::uint64_t lost = 0;         ///< launches whose results could not be had
  std::vector<KernelStatus> seen;
};

}  // namespace lynxpp::interposer
