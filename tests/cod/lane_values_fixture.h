// Counts sectors and wavefronts of a kernel launch and compares them with the cpu device's own counters.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "device/cpu/simt/execute/executor.h"
#include "engine/instrument.h"

namespace lynxpp::cod {

struct Shape {
  std::uint32_t x = 32, y = 1, z = 1;
  std::uint32_t threads() const { return x * y * z; }
};

inline constexpr Shape shapes[] = {{32, 1, 1}, {33, 1, 1}, {96, 1, 1}, {100, 1, 1}, {1, 1, 1},
                                   {7, 5, 1},  {16, 4, 1}, {2, 3, 11}, {8, 8, 2},   {1, 40, 1}};

/// The kernel k(u64 data) with this body: %r1 to %r3 are the thread indices, %rd1 the middle of `data`, %rd2
/// its address as shared memory `tile`.
std::string access_module(const std::string& body, const std::string& functions = {});

/// Number of occurrences of the part in the text.
int count_of(const std::string& text, const std::string& part);

class MeasuredLaunch {
 public:
  /// The location of `data`. `across`: the upper half of addresses changes one kilobyte after its middle.
  enum class Memory : std::uint8_t { anywhere, across };

  /// Runs the original with the device's counters.
  MeasuredLaunch(const std::string& ptx, const Shape& shape, Memory memory = Memory::anywhere);

  /// Runs the variant, compares its counts with the device's, and returns the variant's text.
  std::string check(bool lane_values);

  bool wide_counters = false;
  bool knows_rows = true;      ///< the variant is built for launches whose blocks have the shape's rows
  bool wraps_indices = false;  ///< sectors are an estimate
  // Of the last check:
  std::size_t tallies = 0;     ///< without those of unexpected warps
  std::size_t exceptions = 0;  ///< counts of unexpected warps
  bool adds_nothing = false;   ///< no warp added to the counters in memory
  int lane_registers = 0;      ///< registers with hoisted lane values
  int banks_of_some = 0;       ///< accesses that compute it again for the active lanes

 private:
  void look_at_lanes(const ptx::LaneValuePlan* plan, const std::string& text);
  void compare(const engine::Instrumented& variant, const std::vector<std::vector<std::uint64_t>>& arrays);
  std::uint64_t* data();
  void run(device::cpu::LoadedModule& module, const std::vector<std::uint64_t>& words,
           device::cpu::LaunchCounters* counters);

  const std::string ptx_;
  const Shape shape_;
  const Memory memory_;
  device::cpu::LaunchCounters counters_;
  std::vector<std::uint64_t> storage_, data_, native_;
};

}  // namespace lynxpp::cod
