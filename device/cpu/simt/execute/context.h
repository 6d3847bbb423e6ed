// State of a running warp that compiled segments and their C++ helpers share.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "device/cpu/simt/check/access_role.h"
#include "device/cpu/simt/execute/memory/global_memory.h"
#include "ptx/ir/opcode.h"

namespace lynxpp::device::cpu {

inline constexpr std::uint32_t warp_size = 32;
inline constexpr std::uint32_t half_warp = warp_size / 2;

/// How an address is converted to a host address.
enum class AddressKind : std::uint8_t {
  host,    ///< already a host address: global, generic, constant, kernel parameter
  shared,  ///< an offset into the block's shared memory
  local,   ///< an offset into the thread's stack
};

/// An instruction of the program that accesses memory. The views live as long as the module.
struct AccessSite {
  std::uint32_t index = 0;  ///< index among the program's sites
  std::uint32_t bytes = 0;  ///< bytes that one lane accesses; addresses must be multiples of it
  AddressKind kind = AddressKind::host;
  ptx::StateSpace space = ptx::StateSpace::generic;  ///< as the instruction names it
  std::string_view opcode;
  std::string_view function;
  std::uint32_t line = 0;        ///< PTX line
  std::string_view source_file;  ///< empty without line information
  std::uint32_t source_line = 0;
  bool from_library = false;   ///< ptx::Instruction::from_library
  AccessRole role;             ///< checked code only, like the next member
  unsigned element_bytes = 0;  ///< size of each value that a store writes
  bool in_cluster = false;     ///< true if the instruction names shared::cluster
  bool in_tensor_memory = false;
};

/// True if the instruction may access all global memory.
inline bool reaches_global_memory(const AccessSite& site) {
  return site.space == ptx::StateSpace::global || site.space == ptx::StateSpace::generic;
}

/// True if the instruction can access global memory but not shared, local or parameter memory.
inline bool never_in_window(const AccessSite& site) {
  return site.space == ptx::StateSpace::global || site.space == ptx::StateSpace::texture ||
         site.space == ptx::StateSpace::surface;
}

/// Index in WarpContext::known of the range that holds an address, if it was found recently. Allocations
/// begin at multiples of 256; the factor spreads them evenly.
inline constexpr std::uint64_t known_ranges = 1024;
constexpr std::uint64_t known_index(std::uint64_t address) {
  return (address / 256 * 0x9e37'79b9'7f4a'7c15) >> 54;
}

enum class FaultKind : std::uint32_t {
  none,
  illegal_address,
  misaligned_address,
  wrong_space,  ///< address of shared or local memory in an instruction on .global
  breakpoint,
  stack_overflow,   ///< in alloca; the address is the requested end of the stack
  no_object,        ///< not a texture or surface handle; the address is the handle
  outside_surface,  ///< with .trap; likewise
  invalid_tensor,   ///< a tensor map or operands that the instruction cannot use; the address is the map's
  tensor_memory,    ///< an access to tensor memory that the instruction may not make
  bad_descriptor,   ///< of a product in tensor memory; the address is the descriptor's bits
  partial_warp      ///< an instruction that all lanes must execute together was executed by some of them
};

struct SiteCounts;    // counters.h
class StepRecorder;   // clock.h
class BlockCheck;     // block_check.h
class TensorMemory;   // tensor_memory.h
struct WordCounters;  // launch_counters.h

/// The first illegal access of a warp.
struct Fault {
  FaultKind kind = FaultKind::none;
  std::uint32_t line = 0;  ///< PTX line
  std::uint32_t lane = 0;
  std::uint64_t address = 0;
  const AccessSite* site = nullptr;  ///< null if the fault is not an access
  /// invalid_tensor, tensor_memory, bad_descriptor: "its rank is not between 1 and 5".
  std::string reason = {};
};

/// The mbarrier object that a warp queried in its current turn and whose phase was incomplete.
struct AwaitedObject {
  const AccessSite* site = nullptr;  ///< null if none exists
  const std::byte* object = nullptr;
};

/// Products of a warpgroup that a warp has issued (wgmma). An operation of the warpgroup is complete only
/// after all its warps have issued it.
struct ProductProgress {
  static constexpr std::uint32_t most_pending = 8;
  std::uint32_t issued = 0;
  std::uint32_t groups = 0;                    ///< committed
  std::uint32_t at_commit[most_pending] = {};  ///< products issued before each of the last groups
  std::uint32_t attempts = 0;                  ///< of the present wait
};

/// State of one warp that compiled code reads and writes; compiled code knows its members by offsetof.
/// Members that the scheduler copies from a frame or a group are deliberately not adjacent in both: one wide
/// load would copy them and stall on the preceding narrow stores.
/// Addresses: global and generic addresses are host pointers; a shared address is an offset from `shared`; a
/// local address is an offset into the thread's stack at local + lane × local_stride.
struct WarpContext {
  std::byte* registers = nullptr;         ///< register file of the current frame
  const std::byte* parameters = nullptr;  ///< the kernel's parameter buffer
  std::byte* shared = nullptr;
  std::uint64_t shared_bytes = 0;
  std::byte* local = nullptr;
  std::uint64_t local_stride = 0;     ///< bytes of local memory per thread
  std::uint64_t frame = 0;            ///< local address of the current frame
  SiteCounts* sites = nullptr;        ///< counters of the program's instructions (counting code only)
  WordCounters* words = nullptr;      ///< counters of words; null if words are not counted
  std::uint64_t stack_top = 0;        ///< local address past the end of the frame, including alloca's memory
  StepRecorder* recorder = nullptr;   ///< in launches with modelled time (timed code only)
  BlockCheck* check = nullptr;        ///< in checked launches (checked code only)
  std::uint64_t modelled_cycles = 0;  ///< value of the clocks at the start of the slice
  std::uint64_t modelled_ns = 0;
  std::uint64_t operand[warp_size] = {};  ///< target of an indirect branch or call, per lane
  std::uint32_t barrier_id = 0;           ///< operands of a barrier, passed to the scheduler
  std::uint32_t barrier_threads = 0;
  std::uint32_t barrier_predicate = 0;
  std::uint32_t barrier_result = 0;         ///< result of bar.red: a count, or all ones for true
  std::uint32_t members[warp_size] = {};    ///< member mask of the meeting at which each lane has arrived
  std::uint64_t exchanged[warp_size] = {};  ///< value that each lane contributes; 0 or 1 for a predicate
  std::uint32_t participants = 0;           ///< lanes that have met and exchange values
  std::uint32_t live = 0;                   ///< lanes that have not exited
  std::uint32_t join = 0;                   ///< segment where the running lanes reconverge with others
  std::uint32_t yields = 0;                 ///< set by an operation that waits for other warps: ends the turn
  std::uint32_t segment = 0;                ///< last segment that was run
  std::int32_t turn = 0;                    ///< remaining segments or loop iterations of the warp's turn
  std::uint32_t spun = 0;                   ///< set by a segment that may wait for other threads
  std::uint32_t has_rows = 0;  ///< not 0: x increments by lane in each half warp; y and z are uniform
  std::uint32_t tid[3][warp_size] = {};
  std::uint32_t ntid[3] = {};
  std::uint32_t ctaid[3] = {};
  std::uint32_t nctaid[3] = {};
  std::uint32_t clusterid[3] = {};
  std::uint32_t nclusterid[3] = {};
  std::uint32_t cluster_ctaid[3] = {};
  std::uint32_t cluster_nctaid[3] = {1, 1, 1};
  std::uint32_t cluster_ctarank = 0;
  std::uint32_t cluster_nctarank = 1;
  std::uint32_t is_explicit_cluster = 0;
  std::byte* cluster_shared = nullptr;  ///< shared memory of the cluster's first block (cluster_window.h)
  std::uint64_t cluster_stride = 0;     ///< distance between the memory of consecutive blocks
  std::uint64_t cluster_bytes = 0;      ///< size of the cluster's shared memory
  std::uint32_t warpid = 0;
  std::uint32_t nwarpid = 0;
  std::uint32_t smid = 0;
  std::uint32_t nsmid = 0;
  std::uint32_t dynamic_shared_bytes = 0;
  std::uint32_t total_shared_bytes = 0;
  std::uint32_t reserved_shared = 0;  ///< offset of the part that CUDA reserves, in programs that use it
  std::uint64_t gridid = 0;
  std::uint64_t workspace = 0;           ///< in cooperative launches
  const std::byte* constants = nullptr;  ///< the range of all .const variables
  std::uint64_t constant_bytes = 0;
  std::uint64_t parameter_bytes = 0;
  const GlobalMemory* memory = nullptr;
  AddressRange* ranges = nullptr;  ///< range of each AccessSite's last global access, by site index
  AddressRange* known = nullptr;   ///< recently found ranges of global memory, by known_index()
  TensorMemory* tensor = nullptr;  ///< of the block
  /// Of the block whose rank differs in the last bit; null if the cluster has none.
  TensorMemory* peer_tensor = nullptr;
  ProductProgress* products = nullptr;  ///< of the block's warps
  Fault fault;
  AwaitedObject awaited;
};

/// A segment of straight-line code that the lanes in `mask` (never 0) run, possibly with the segments after
/// it for as long as the lanes stay converged. Returns the lanes for which the guard of the last instruction
/// holds (all of `mask` if it is unguarded). If other segments were run, stores the last one in `segment`.
using SegmentFunction = std::uint32_t (*)(WarpContext* warp, std::uint32_t mask);

}  // namespace lynxpp::device::cpu
