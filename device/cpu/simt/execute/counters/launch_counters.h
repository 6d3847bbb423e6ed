// Exact counts of a launch, per block and per instruction.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "ptx/ir/opcode.h"

namespace lynxpp::device::cpu {

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
/// Work that no access shows.
struct OperationCounts {
  std::uint64_t tensor_copies = 0;    ///< that lanes issued
  std::uint64_t tensor_bytes = 0;     ///< of their boxes, in each block that receives them; with the elements
                                      ///< outside the tensor
  std::uint64_t expected_bytes = 0;   ///< of mbarrier operations
  std::uint64_t completed_waits = 0;  ///< lanes whose wait on an mbarrier found its phase completed
  std::uint64_t tensor_core_operations = 0;  ///< multiplications and additions of stored elements
  // Modelled (docs/metrics.md, shared_bank_conflicts):
  std::uint64_t operand_matrices = 0;    ///< core matrices, of 8 pieces of 16 bytes, read by descriptors
  std::uint64_t operand_wavefronts = 0;  ///< of these; more than one of a matrix are bank conflicts
  /// Lines of 128 bytes of shared memory that bulk and tensor copies and tensormap.cp_fenceproxy touch.
  std::uint64_t copy_wavefronts = 0;

  OperationCounts& operator+=(const OperationCounts& other);
  bool operator==(const OperationCounts&) const = default;
};
enum class AccessKind : std::uint32_t { load, store, atomic };

/// Counters of one instruction.
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
  OperationCounts operations;
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

}  // namespace lynxpp::device::cpu
