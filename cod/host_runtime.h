// What native code of ON_REPORT calls. No LLVM type here: plain functions, reached by address.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "cod/program.h"
#include "cod/specification.h"

namespace lynxpp::cod {

/// One run of ON_REPORT; the generated code hands it to every function below.
struct HostRun {
  const Program& program;
  const LaunchView& launch;
  LaunchExtents extents;
  std::vector<std::uint64_t> counts;  ///< elements per array
  struct Mishap {
    const Expression* place;
    const char* message;
    std::uint64_t times;
  };
  std::vector<Mishap> mishaps;  ///< one per place, in order of the first

  void add_mishap(const Expression* place, const char* message);
};

LaunchExtents extents_of(const LaunchView& launch);

/// Checks that the launch's arrays have the sizes that its extents ask for.
Status check_arrays(const Program& program, const LaunchView& launch, HostRun& run);

// ---- called by generated code; `call` is the expression that stands in ON_REPORT
std::uint64_t host_extent(HostRun* run, std::uint64_t extent);
void* host_array(HostRun* run, std::uint64_t array);
std::uint64_t host_launch_value(HostRun* run, std::uint64_t api);
void host_out_of_range(HostRun* run, const Expression* place);
void host_division_by_zero(HostRun* run, const Expression* place);
/// `unit` may be null.
void host_emit_value(HostRun* run, const Expression* call, const std::string* name, const std::string* unit,
                     std::uint64_t bits);
void host_emit_array(HostRun* run, const Expression* call, const std::string* name, const std::string* unit);
/// What a function of the site table says of instruction or block `index`; for texts the address of a std::string.
std::uint64_t host_site_value(HostRun* run, const Expression* call, std::uint64_t index);
const std::string* host_site_text(HostRun* run, const Expression* call, std::uint64_t index);
std::uint64_t host_reduce(HostRun* run, const Expression* call);
void host_print(HostRun* run, const Expression* call, const std::uint64_t* values);

/// The whole array under `name`.
void emit_array(HostRun& run, std::uint32_t array, const std::string& name, const std::string& unit);

}  // namespace lynxpp::cod
