// Functions that device code calls and the cpu device implements.
#pragma once

#include <cstdint>

#include "device/cpu/simt/compile/program.h"
#include "device/cpu/simt/execute/context.h"
#include "device/cpu/simt/execute/device_launches.h"
#include "device/cpu/simt/execute/memory/global_memory.h"
#include "device/cpu/simt/execute/order/explored_run.h"
#include "support/result.h"

namespace lynxpp::device::cpu {

/// One lane's call of a builtin. Arguments are already read; of an array, its host address.
struct BuiltinCall {
  Builtin builtin = Builtin::none;
  std::uint64_t arguments[5] = {};
  std::uint32_t lane = 0;
  const WarpContext* warp = nullptr;
  GlobalMemory* memory = nullptr;
  DeviceLaunches* launches = nullptr;
  ExploredRun* explored = nullptr;  ///< notes what is printed, and discards it if the run is a repetition

  bool is_silent() const { return explored != nullptr && explored->is_repetition(); }
};
/// Returns the result, or a failure that ends the launch (__assertfail, an invalid text or address).
Result<std::uint64_t> run_builtin(const BuiltinCall& call);

}  // namespace lynxpp::device::cpu
