// The processor of the cpu device: compiles PTX ▶ LLVM IR ▶ machine code (ORC) and executes it in SIMT
// fashion.
//
// A warp is 32 lanes with an active mask; divergent branches reconverge at the immediate post-dominator.
// Thread blocks are spread over the host's cores; the warps of one block take turns between barriers. Global
// memory is host memory: addresses are host pointers.
#pragma once

#include <atomic>
#include <chrono>
#include <compare>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "device/cpu/simt/check/finding.h"
#include "device/cpu/simt/execute/global_memory.h"
#include "ptx/ir/opcode.h"
#include "support/result.h"

namespace lynxpp::device::cpu {

struct Dim3 {
  std::uint32_t x = 1, y = 1, z = 1;
};

struct LaunchShape {
  Dim3 grid, block;
  std::uint32_t shared_bytes = 0;    ///< dynamic
  bool cooperative = false;          ///< all blocks may wait for each other
  std::optional<Dim3> cluster = {};  ///< extents of a cluster in blocks; nullopt: no clusters
};

/// Exact counts of one basic block in one launch, computed by the executor. Block indices are those of the
/// control-flow graph in ptx/analysis, per function.
struct BlockCounters {
  std::string function;  ///< the kernel or a device function that it called
  std::uint32_t block = 0;
  std::uint32_t instructions = 0;         ///< static
  std::uint64_t warp_executions = 0;      ///< times a warp entered the block
  std::uint64_t thread_executions = 0;    ///< active lanes, summed
  std::uint64_t warp_instructions = 0;    ///< instructions issued for a warp, regardless of their guards
  std::uint64_t thread_instructions = 0;  ///< lanes that executed an instruction: active, with a true guard
};

/// Accesses to global memory. A request is one instruction of one warp with at least one lane whose guard
/// holds.
struct GlobalAccessCounts {
  std::uint64_t requests = 0;
  std::uint64_t sectors = 0;  ///< distinct 32-byte sectors of each request, summed
  std::uint64_t bytes = 0;    ///< bytes that the lanes requested

  GlobalAccessCounts& operator+=(const GlobalAccessCounts& other);
};
/// Accesses to shared memory; see count_wavefronts() in counters.h.
struct SharedAccessCounts {
  std::uint64_t accesses = 0;
  std::uint64_t wavefronts = 0;
  std::uint64_t least_wavefronts = 0;  ///< without bank conflicts

  SharedAccessCounts& operator+=(const SharedAccessCounts& other);
};
/// Counters of one instruction.
enum class AccessKind : std::uint32_t { load, store, atomic };

struct SiteCounters {
  std::string function;
  std::uint32_t instruction = 0;  ///< index in the function's body
  std::uint32_t block = 0;
  std::uint32_t line = 0;  ///< in the PTX
  std::string opcode;
  ptx::OpcodeTraits traits;
  std::uint64_t warp_issues = 0;        ///< times a warp issued it, regardless of its guard
  std::uint64_t active_lanes = 0;       ///< active lanes at these issues, summed
  std::uint64_t executing_warps = 0;    ///< issues with at least one lane whose guard held
  std::uint64_t thread_executions = 0;  ///< lanes whose guard held, summed
  std::uint64_t divergent = 0;          ///< branches: issues at which the warp diverged
  GlobalAccessCounts global;
  SharedAccessCounts shared;
  // Kinds of these accesses; a copy has both.
  AccessKind global_kind = AccessKind::load;
  AccessKind shared_kind = AccessKind::load;
};
struct MemoryCounters {
  GlobalAccessCounts global;
  SharedAccessCounts shared;
};
struct BranchCounters {
  std::uint64_t warps = 0;    ///< branches issued, conditional or not
  std::uint64_t threads = 0;  ///< active lanes at them
  std::uint64_t divergent = 0;
};
struct BarrierCounters {
  std::uint64_t warps = 0;
  std::uint64_t threads = 0;
};
/// Accesses to each 4-byte word: an access counts once for every word that a lane touches.
struct WordCounters {
  std::unordered_map<std::uint64_t, std::uint64_t> global;  ///< by address / 4
  std::unordered_map<std::uint64_t, std::uint64_t> shared;  ///< by offset / 4, summed over all thread blocks

  WordCounters& operator+=(const WordCounters& other);
};
struct LaunchCounters {
  std::uint64_t thread_instructions = 0;
  std::uint64_t warp_instructions = 0;
  MemoryCounters loads, stores, atomics;  ///< loads and stores do not include atomics
  BranchCounters branches;
  BarrierCounters barriers;
  /// Blocks of every reached function, ordered by function and block.
  std::vector<BlockCounters> blocks;
  std::vector<SiteCounters> sites;  ///< of the same functions, ordered by function and instruction
  /// Counted if it has a value before the launch, because it takes memory and time.
  std::optional<WordCounters> words;
};

/// Parameter layout of a kernel and resources of its launches.
struct KernelInfo {
  std::string name;
  struct Parameter {
    std::uint32_t offset = 0, bytes = 0;
  };
  std::vector<Parameter> parameters;
  std::uint32_t parameter_bytes = 0;
  std::uint32_t static_shared_bytes = 0;
  std::uint32_t local_bytes = 0;
  std::uint32_t max_threads = 1024;
  std::uint32_t registers = 0;         ///< PTX virtual registers, for cudaFuncGetAttributes
  std::optional<Dim3> cluster = {};    ///< .reqnctapercluster: required cluster extents
  bool needs_cluster = false;          ///< .explicitcluster
  std::uint32_t max_cluster_rank = 0;  ///< .maxclusterrank; 0 if absent
};

struct LaunchClock;  // clock.h

/// The instrumentation that code is compiled with.
struct CodeKind {
  bool counts = false;
  bool timed = false;    ///< for launches with a clock
  bool checked = false;  ///< for checked launches
  auto operator<=>(const CodeKind&) const = default;
};

/// One loaded PTX module: its variables have storage; kernels are compiled on their first launch.
class LoadedModule {
 public:
  virtual ~LoadedModule() = default;
  virtual std::vector<std::string> kernel_names() const = 0;
  virtual Result<KernelInfo> kernel(const std::string& name) = 0;
  struct VariableStorage {
    void* address = nullptr;
    std::uint64_t bytes = 0;
  };
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

/// Variables whose storage another module provides, with their contents.
using SharedVariables = std::unordered_map<std::string, LoadedModule::VariableStorage>;

/// Parses the module and allocates its variables, except those in `shared`. `name` is used in diagnostics.
/// Kernels are compiled lazily. Their global accesses are limited to `memory`, which outlives the module; the
/// caller must add the module's own variables to it.
Result<std::shared_ptr<LoadedModule>> load_module(std::string ptx, const std::string& name,
                                                  GlobalMemory& memory = unchecked_memory(),
                                                  const SharedVariables& shared = {});

/// Time after which a running kernel is reported in the log with its location, 10 s by default. It is
/// reported again each time its running time has doubled.
std::atomic<std::chrono::milliseconds>& first_running_report();

/// Ends running and future launches with a failure, because the process is about to exit.
void abandon_launches();
bool launches_abandoned();

/// Properties of the cpu device: 32-lane warps, compute capability 9.0, one multiprocessor per host core.
inline constexpr int compute_capability = 90;
std::uint32_t multiprocessors();

}  // namespace lynxpp::device::cpu
