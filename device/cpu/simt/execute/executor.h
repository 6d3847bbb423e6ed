// The processor of the cpu device: compiles PTX ▶ LLVM IR ▶ machine code (ORC) and executes it in SIMT
// fashion.
//
// A warp is 32 lanes with an active mask; divergent branches reconverge at the immediate post-dominator.
// Thread blocks are spread over the host's cores; the warps of one block take turns between barriers. Global
// memory is host memory: addresses are host pointers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "device/cpu/simt/check/finding.h"
#include "device/cpu/simt/compile/code_kind.h"
#include "device/cpu/simt/execute/counters/launch_counters.h"
#include "device/cpu/simt/execute/kernel_info.h"
#include "device/cpu/simt/execute/launch_shape.h"
#include "device/cpu/simt/execute/memory/global_memory.h"
#include "device/cpu/simt/execute/memory/variable_storage.h"
#include "support/result.h"

namespace lynxpp::device::cpu {

struct LaunchClock;  // clock.h

/// One loaded PTX module: its variables have storage; kernels are compiled on their first launch.
class LoadedModule {
 public:
  virtual ~LoadedModule() = default;
  virtual std::vector<std::string> kernel_names() const = 0;
  virtual Result<KernelInfo> kernel(const std::string& name) = 0;
  /// Finds a .global or .const variable.
  virtual std::optional<VariableStorage> variable(const std::string& name) = 0;
  /// Returns all variables. The names live as long as the module.
  virtual std::vector<std::pair<std::string_view, VariableStorage>> variables() = 0;

  /// Compiles the kernel now, so that its first launch of this kind is as fast as the others. Fails like
  /// launch().
  virtual Status compile(const std::string& kernel, CodeKind kind) = 0;

  /// Runs a kernel to completion.
  /// - `parameters`: the parameter buffer in KernelInfo's layout; bytes past its end are ignored.
  /// - `counters`: if not null, replaced by the launch's counters.
  /// - `clock`: if not null, the launch has a modelled time, which is stored there. Precondition: a block
  ///   fits a multiprocessor of the modelled machine.
  /// - `checks`: if not null (and `clock` is null), receives the findings. Illegal accesses are then skipped,
  ///   and the launch fails at its end.
  /// Fails at an unsupported instruction (named with its PTX line), a trap, an illegal access, or a barrier
  /// that can never complete.
  virtual Status launch(const std::string& kernel, const LaunchShape& shape,
                        std::span<const std::byte> parameters, LaunchCounters* counters,
                        LaunchClock* clock = nullptr, LaunchChecks* checks = nullptr) = 0;
};

/// Parses the module and allocates its variables, except those in `shared`. `name` is used in diagnostics.
/// Kernels are compiled lazily. Their global accesses are limited to `memory`, which outlives the module; the
/// caller must add the module's own variables to it.
Result<std::shared_ptr<LoadedModule>> load_module(std::string ptx, const std::string& name,
                                                  GlobalMemory& memory = unchecked_memory(),
                                                  const SharedVariables& shared = {});

/// Returns the compute capability, times ten: LYNXPP_CPU_CAPABILITY, which is read once: 90, the default, or
/// 100. It decides which PTX of a program is used; every module can use every instruction.
int compute_capability();
/// Returns the number of host cores, but at least the blocks of the largest cluster.
std::uint32_t multiprocessors();

}  // namespace lynxpp::device::cpu
