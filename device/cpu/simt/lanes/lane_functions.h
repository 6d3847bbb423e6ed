// Operations without a short vector form: C++ loops over the active lanes, called by compiled segments.
#pragma once

#include <cstdint>
#include <string_view>

#include "device/cpu/simt/execute/context.h"
#include "device/cpu/simt/lanes/lane_operation.h"

namespace lynxpp::device::cpu {

/// Stores values[lane] for every lane in `mask`; other lanes keep their value.
using MergeFunction = void (*)(void* place, const void* values, std::uint32_t mask);
/// Returns the merge function for values of 1, 2, 4, 8 or 16 bytes; null for other sizes.
MergeFunction find_merge(unsigned bytes);

/// Finds an operation by its opcode and significant modifiers: "div.s32", "add.rz.f32", "ex2.f32",
/// "fma.rn.f16x2", "cvt.rz.f32.s64". Returns null if there is no such operation.
const LaneOperation* find_lane_operation(std::string_view key);

// Memory. Addresses are of the kind that the site declares. `bytes` is the size of one element and `count`
// the number of elements per lane; dst and src have the layout [element][lane]. A lane whose access is
// illegal sets warp->fault and is skipped.
using LoadFunction = void (*)(WarpContext* warp, void* dst, const std::uint64_t* addresses,
                              std::uint32_t mask, const AccessSite* site);
using StoreFunction = void (*)(WarpContext* warp, const void* src, const std::uint64_t* addresses,
                               std::uint32_t mask, const AccessSite* site);
LoadFunction find_load(AddressKind kind, unsigned bytes, unsigned count);
StoreFunction find_store(AddressKind kind, unsigned bytes, unsigned count);

/// Converts addresses to host addresses in place. Returns the lanes whose access is legal.
std::uint32_t resolve_addresses(WarpContext* warp, std::uint64_t* addresses, std::uint32_t mask,
                                const AccessSite* site);

/// Updates memory lane by lane: dst[lane] is the old value at the host address; the new value is f(old, b),
/// or for cas, c if the old value equals b. Precondition: resolve_addresses() found the lanes' accesses
/// legal.
using AtomicFunction = void (*)(void* dst, const std::uint64_t* addresses, const void* b, const void* c,
                                std::uint32_t mask);
struct AtomicOperation {
  AtomicFunction function = nullptr;
  AtomicFunction in_block = nullptr;  ///< for memory that no other host thread accesses
  std::uint8_t bits = 0;
};
/// Finds an atomic operation by key: "add.u32", "cas.b64", "inc.u32", "add.f64", …; "add.ftz.f32" adds to
/// global memory, "add.f32" to shared memory.
const AtomicOperation* find_atomic(std::string_view key);

// Operations across lanes: each lane in `mask` gets a result computed from the lanes in `participants`.

/// The lane that a lane's shuffle reads.
struct ShuffleSource {
  std::uint32_t lane = 0;    ///< from 0 to 31 if it is in range
  bool is_in_range = false;  ///< false: the lane reads its own value
};
/// mode: 0 up, 1 down, 2 bfly, 3 idx. `b` and `c`: the lane's operands.
ShuffleSource shuffle_source(std::uint32_t mode, std::uint32_t lane, std::uint32_t b, std::uint32_t c);
/// Same modes. Returns the lanes whose source lane is in range.
std::uint32_t shuffle(std::uint32_t mask, std::uint32_t participants, std::uint32_t mode, std::uint32_t* dst,
                      const std::uint32_t* a, const std::uint32_t* b, const std::uint32_t* c);
/// Finds the lanes in participants & members[lane] with the same value. `all`: zero unless all have it.
void match32(std::uint32_t mask, std::uint32_t participants, std::uint32_t all, std::uint32_t* dst,
             const std::uint32_t* a, const std::uint32_t* members);
void match64(std::uint32_t mask, std::uint32_t participants, std::uint32_t all, std::uint32_t* dst,
             const std::uint64_t* a, const std::uint32_t* members);
/// Reduces over participants & members[lane]. op: index in "add", "min", "max", "and", "or", "xor"; is_signed
/// applies to min and max.
void reduce(std::uint32_t mask, std::uint32_t participants, std::uint32_t op, std::uint32_t is_signed,
            std::uint32_t* dst, const std::uint32_t* a, const std::uint32_t* members);

/// Minimum or maximum of floats: −0 is less than +0. NaNs are ignored unless all values are NaN or
/// `keeps_nan` is set.
void reduce_floats(std::uint32_t mask, std::uint32_t participants, std::uint32_t is_max,
                   std::uint32_t absolute, std::uint32_t keeps_nan, std::uint32_t* dst,
                   const std::uint32_t* a, const std::uint32_t* members);

/// Returns the clock counter: nanoseconds since the process started, strictly monotonic per thread.
std::uint64_t read_clock();
/// Returns nanoseconds since 1970.
std::uint64_t read_global_timer();
void raise_breakpoint(WarpContext* warp, std::uint32_t mask, std::uint32_t line);
void full_fence();

}  // namespace lynxpp::device::cpu
