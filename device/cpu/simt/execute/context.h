// What JIT-compiled segments and the C++ helpers they call see of a running warp.
#pragma once

#include <cstddef>
#include <cstdint>

namespace lynxpp::device::cpu {

inline constexpr std::uint32_t warp_size = 32;

enum class FaultKind : std::uint32_t {
  none,
  null_page,
  shared_range,
  local_range,
  misaligned_atomic,
  breakpoint
};

struct SiteCounts;    // counters.h
struct WordCounters;  // executor.h

/// The first illegal access of a warp.
struct Fault {
  FaultKind kind = FaultKind::none;
  std::uint32_t line = 0;  ///< PTX line
  std::uint64_t address = 0;
};

/// State of one warp that compiled code reads and writes; compiled code knows its members by offsetof.
/// Addresses: global memory and generic addresses are host pointers; a shared address is an offset from
/// `shared`; a local address is an offset into the thread's stack at local + lane × local_stride.
struct WarpContext {
  std::byte* registers = nullptr;         ///< register file of the current frame
  const std::byte* parameters = nullptr;  ///< the kernel's parameter buffer
  std::byte* shared = nullptr;
  std::uint64_t shared_bytes = 0;
  std::byte* local = nullptr;
  std::uint64_t local_stride = 0;         ///< bytes of local memory of one thread
  std::uint64_t frame = 0;                ///< local address of the current frame
  SiteCounts* sites = nullptr;            ///< of the program's instructions (counting code only)
  WordCounters* words = nullptr;          ///< where words are counted
  std::uint64_t operand[warp_size] = {};  ///< target of an indirect branch or call, per lane
  std::uint32_t barrier_id = 0;           ///< operands of a barrier, on the way to the scheduler
  std::uint32_t barrier_threads = 0;
  std::uint32_t barrier_predicate = 0;
  std::uint32_t barrier_result = 0;  ///< of bar.red, on the way back: a count, or all ones for true
  std::uint32_t tid[3][warp_size] = {};
  std::uint32_t ntid[3] = {};
  std::uint32_t ctaid[3] = {};
  std::uint32_t nctaid[3] = {};
  std::uint32_t warpid = 0;
  std::uint32_t nwarpid = 0;
  std::uint32_t smid = 0;
  std::uint32_t nsmid = 0;
  std::uint32_t dynamic_shared_bytes = 0;
  std::uint32_t total_shared_bytes = 0;
  std::uint64_t gridid = 0;
  const std::byte* constants = nullptr;  ///< the range of all .const variables
  std::uint64_t constant_bytes = 0;
  std::uint64_t parameter_bytes = 0;
  Fault fault;
};

/// A segment of straight-line code run for the lanes in `mask` (never 0). Returns the lanes for which the
/// guard of its last instruction holds (all of `mask` when that is unguarded).
using SegmentFunction = std::uint32_t (*)(WarpContext* warp, std::uint32_t mask);

}  // namespace lynxpp::device::cpu
