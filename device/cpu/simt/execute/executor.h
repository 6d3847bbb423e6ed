// The cpu device's processor: PTX ▶ LLVM IR ▶ ORC, executed in SIMT fashion.
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
  bool cooperative = false;          ///< its blocks may wait for one another, all of them
  std::optional<Dim3> cluster = {};  ///< blocks of a cluster, which divide the grid's; nullopt: no clusters
};

/// Exact counts of one launch, computed by the executor itself. Block indices are those of ptx/analysis'
/// control flow graph, per function.
struct BlockCounters {
  std::string function;  ///< the kernel or a device function it called
  std::uint32_t block = 0;
  std::uint32_t instructions = 0;         ///< static
  std::uint64_t warp_executions = 0;      ///< times a warp entered the block
  std::uint64_t thread_executions = 0;    ///< the active lanes, summed
  std::uint64_t warp_instructions = 0;    ///< instructions issued for a warp, whatever their guards
  std::uint64_t thread_instructions = 0;  ///< lanes that executed an instruction: active and guard true
};

/// Accesses to global memory: a request is one instruction of one warp with at least one lane whose guard
/// holds.
struct GlobalAccessCounts {
  std::uint64_t requests = 0;
  std::uint64_t sectors = 0;  ///< distinct sectors of 32 bytes of each request, summed
  std::uint64_t bytes = 0;    ///< that the lanes asked for

  GlobalAccessCounts& operator+=(const GlobalAccessCounts& other);
};
/// Accesses to shared memory; see count_wavefronts() in counters.h.
struct SharedAccessCounts {
  std::uint64_t accesses = 0;
  std::uint64_t wavefronts = 0;
  std::uint64_t least_wavefronts = 0;  ///< without bank conflicts

  SharedAccessCounts& operator+=(const SharedAccessCounts& other);
};
/// One instruction.
enum class AccessKind : std::uint32_t { load, store, atomic };

struct SiteCounters {
  std::string function;
  std::uint32_t instruction = 0;  ///< index in the function's body
  std::uint32_t block = 0;
  std::uint32_t line = 0;  ///< in the PTX
  std::string opcode;
  ptx::OpcodeTraits traits;
  std::uint64_t warp_issues = 0;        ///< times a warp issued it, whatever its guard
  std::uint64_t active_lanes = 0;       ///< lanes that were active then, summed
  std::uint64_t executing_warps = 0;    ///< of the issues, those with at least one lane whose guard held
  std::uint64_t thread_executions = 0;  ///< lanes whose guard held, summed
  std::uint64_t divergent = 0;          ///< branches: issues that sent active lanes to different places
  GlobalAccessCounts global;
  SharedAccessCounts shared;
  // Kinds of these accesses: a copy has one of each.
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
/// How often each 4-byte word was accessed: an access counts once for every word that a lane touches.
struct WordCounters {
  std::unordered_map<std::uint64_t, std::uint64_t> global;  ///< by address / 4
  std::unordered_map<std::uint64_t, std::uint64_t> shared;  ///< by offset / 4, all thread blocks together

  WordCounters& operator+=(const WordCounters& other);
};
struct LaunchCounters {
  std::uint64_t thread_instructions = 0;
  std::uint64_t warp_instructions = 0;
  MemoryCounters loads, stores, atomics;  ///< atomics are not among loads and stores
  BranchCounters branches;
  BarrierCounters barriers;
  /// those of every function that was reached, in order of function and block
  std::vector<BlockCounters> blocks;
  std::vector<SiteCounters> sites;  ///< the same functions', in order of function and instruction
  /// Counted when it has a value before the launch: words take memory and time.
  std::optional<WordCounters> words;
};

/// Layout of a kernel's parameters and what a launch may use.
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
  std::optional<Dim3> cluster = {};    ///< .reqnctapercluster: it is launched in such clusters
  bool needs_cluster = false;          ///< .explicitcluster
  std::uint32_t max_cluster_rank = 0;  ///< .maxclusterrank; 0: it says nothing
};

struct LaunchClock;  // clock.h

/// What code is compiled for, besides running.
struct CodeKind {
  bool counts = false;
  bool timed = false;    ///< for launches with a clock
  bool checked = false;  ///< for launches that are checked
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
  /// A .global or .const variable.
  virtual std::optional<VariableStorage> variable(const std::string& name) = 0;
  /// All of them. The names live as long as the module.
  virtual std::vector<std::pair<std::string_view, VariableStorage>> variables() = 0;

  /// Compiles the kernel now, so that its first launch of this kind takes no longer than the others. Failure:
  /// as launch.
  virtual Status compile(const std::string& kernel, CodeKind kind) = 0;

  /// Runs to completion. `parameters` is the parameter buffer (KernelInfo's layout; bytes beyond it are
  /// ignored). `counters`, when given, is replaced by the launch's; `clock`, when given, runs the launch
  /// and has its time afterwards (precondition: a block fits a multiprocessor of its machine). `checks`, when
  /// given, and then no clock, gets what is wrong; illegal accesses are left out then, and the launch goes on
  /// and fails at its end. Failure: an instruction the cpu device does not know (named, with its PTX line), a
  /// trap, an illegal access, a barrier that can never complete.
  virtual Status launch(const std::string& kernel, const LaunchShape& shape,
                        std::span<const std::byte> parameters, LaunchCounters* counters,
                        LaunchClock* clock = nullptr, LaunchChecks* checks = nullptr) = 0;
};

/// Variables that lie where another module has placed them, with the contents that they have.
using SharedVariables = std::unordered_map<std::string, LoadedModule::VariableStorage>;

/// Parses the module and places its variables, but those that are `shared`. `name` is used in diagnostics.
/// `ptx` is compiled lazily. Of global memory its kernels access what `memory` holds, which outlives the
/// module; the module's own variables are to be entered there.
Result<std::shared_ptr<LoadedModule>> load_module(std::string ptx, const std::string& name,
                                                  GlobalMemory& memory = unchecked_memory(),
                                                  const SharedVariables& shared = {});

/// A kernel is named in the log, with where it is, when it has run for as long as this (10 s unless changed),
/// and again whenever that time has doubled.
std::atomic<std::chrono::milliseconds>& first_running_report();

/// Ends the running launches with a failure, and those to come: the process is about to end.
void abandon_launches();
bool launches_abandoned();

/// Properties of the cpu device: 32-lane warps, compute capability 9.0, as many multiprocessors as the host
/// has cores.
inline constexpr int compute_capability = 90;
std::uint32_t multiprocessors();

}  // namespace lynxpp::device::cpu
