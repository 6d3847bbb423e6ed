// What JIT-compiled segments and the C++ helpers they call see of a running warp.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "device/cpu/simt/check/access_role.h"
#include "device/cpu/simt/execute/global_memory.h"
#include "ptx/ir/opcode.h"

namespace lynxpp::device::cpu {

inline constexpr std::uint32_t warp_size = 32;
inline constexpr std::uint32_t half_warp = warp_size / 2;

/// How an address becomes a host address.
enum class AddressKind : std::uint8_t {
  host,    ///< it is one: global, generic, constant, and a kernel's parameters
  shared,  ///< an offset into the block's shared memory
  local,   ///< an offset into the thread's stack
};

/// An instruction of the program that accesses memory. The views live as long as the module.
struct AccessSite {
  std::uint32_t index = 0;  ///< among those of the program
  std::uint32_t bytes = 0;  ///< that one lane accesses; addresses are multiples of it
  AddressKind kind = AddressKind::host;
  ptx::StateSpace space = ptx::StateSpace::generic;  ///< that the instruction names
  std::string_view opcode;
  std::string_view function;
  std::uint32_t line = 0;        ///< PTX line
  std::string_view source_file;  ///< empty without line information
  std::uint32_t source_line = 0;
  AccessRole role;             ///< checked code only, as the next one
  unsigned element_bytes = 0;  ///< of a store: of each of its values
  bool in_cluster = false;     ///< it names shared::cluster
};

/// Where WarpContext::known has what holds an address, if it was found lately. Allocations begin at multiples
/// of 256; the factor spreads them evenly.
inline constexpr std::uint64_t known_ranges = 1024;
constexpr std::uint64_t known_index(std::uint64_t address) {
  return (address / 256 * 0x9e37'79b9'7f4a'7c15) >> 54;
}

enum class FaultKind : std::uint32_t {
  none,
  illegal_address,
  misaligned_address,
  wrong_space,  ///< .global and an address of shared or local memory
  breakpoint,
  stack_overflow,   ///< of alloca; its address is where the stack would end
  no_object,        ///< a handle of no texture or surface; its address is the handle
  outside_surface,  ///< with .trap; likewise
  apart             ///< lanes of the warp were elsewhere at an instruction that all must execute together
};

struct SiteCounts;    // counters.h
class StepRecorder;   // clock.h
class BlockCheck;     // block_check.h
struct WordCounters;  // executor.h

/// The first illegal access of a warp.
struct Fault {
  FaultKind kind = FaultKind::none;
  std::uint32_t line = 0;  ///< PTX line
  std::uint32_t lane = 0;
  std::uint64_t address = 0;
  const AccessSite* site = nullptr;  ///< null where no access is at fault
};

/// The mbarrier object that a warp queried in its present turn and whose phase was not complete.
struct AwaitedObject {
  const AccessSite* site = nullptr;  ///< null: none
  const std::byte* object = nullptr;
};

/// State of one warp that compiled code reads and writes; compiled code knows its members by offsetof. What
/// the scheduler sets from members of a frame or a group that lie side by side does not: they would be copied
/// by one load, which waits for the stores of what was just written there.
/// Addresses: global memory and generic addresses are host pointers; a shared address is an offset from
/// `shared`; a local address is an offset into the thread's stack at local + lane × local_stride.
struct WarpContext {
  std::byte* registers = nullptr;         ///< register file of the current frame
  const std::byte* parameters = nullptr;  ///< the kernel's parameter buffer
  std::byte* shared = nullptr;
  std::uint64_t shared_bytes = 0;
  std::byte* local = nullptr;
  std::uint64_t local_stride = 0;     ///< bytes of local memory of one thread
  std::uint64_t frame = 0;            ///< local address of the current frame
  SiteCounts* sites = nullptr;        ///< of the program's instructions (counting code only)
  WordCounters* words = nullptr;      ///< where words are counted
  std::uint64_t stack_top = 0;        ///< local address behind what the frame has, alloca's included
  StepRecorder* recorder = nullptr;   ///< of a launch that keeps a modelled time (timed code only)
  BlockCheck* check = nullptr;        ///< of a launch that is checked (checked code only)
  std::uint64_t modelled_cycles = 0;  ///< its clocks when the slice began
  std::uint64_t modelled_ns = 0;
  std::uint64_t operand[warp_size] = {};  ///< target of an indirect branch or call, per lane
  std::uint32_t barrier_id = 0;           ///< operands of a barrier, on the way to the scheduler
  std::uint32_t barrier_threads = 0;
  std::uint32_t barrier_predicate = 0;
  std::uint32_t barrier_result = 0;         ///< of bar.red, on the way back: a count, or all ones for true
  std::uint32_t members[warp_size] = {};    ///< of the meeting at which a lane has arrived
  std::uint64_t exchanged[warp_size] = {};  ///< what the lane brings there: a value, or a predicate as 0 or 1
  std::uint32_t participants = 0;           ///< lanes that have met and exchange now
  std::uint32_t live = 0;                   ///< lanes that have not exited
  std::uint32_t join = 0;                   ///< where the lanes that run join others
  std::uint32_t yields = 0;    ///< set by an operation that waits for other warps: the turn may end
  std::uint32_t segment = 0;   ///< set to the last one that was run
  std::int32_t turn = 0;       ///< segments, or iterations of loops, that the warp may still run
  std::uint32_t spun = 0;      ///< set by a segment that may wait for other threads
  std::uint32_t has_rows = 0;  ///< not 0: in each half x goes on from lane to lane, and y and z stay
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
  std::uint64_t cluster_stride = 0;     ///< from there to the next block's
  std::uint64_t cluster_bytes = 0;      ///< of all of it
  std::uint32_t warpid = 0;
  std::uint32_t nwarpid = 0;
  std::uint32_t smid = 0;
  std::uint32_t nsmid = 0;
  std::uint32_t dynamic_shared_bytes = 0;
  std::uint32_t total_shared_bytes = 0;
  std::uint32_t reserved_shared = 0;  ///< where what CUDA reserves begins, of programs that ask
  std::uint64_t gridid = 0;
  std::uint64_t workspace = 0;           ///< of a cooperative launch
  const std::byte* constants = nullptr;  ///< the range of all .const variables
  std::uint64_t constant_bytes = 0;
  std::uint64_t parameter_bytes = 0;
  const GlobalMemory* memory = nullptr;
  AddressRange* ranges = nullptr;  ///< where each AccessSite's last access to global memory was, by its index
  AddressRange* known = nullptr;   ///< ranges of global memory that were found, by known_index()
  Fault fault;
  AwaitedObject awaited;
};

/// A segment of straight-line code run for the lanes in `mask` (never 0), and maybe what they do behind it
/// while they stay together. Returns the lanes for which the guard of the last instruction holds (all of
/// `mask` when that is unguarded); which segment that is of is in `segment` when it is not the first one.
using SegmentFunction = std::uint32_t (*)(WarpContext* warp, std::uint32_t mask);

}  // namespace lynxpp::device::cpu
