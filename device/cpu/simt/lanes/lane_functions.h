// Operations that have no short vector form: C++ loops over the active lanes, called by compiled segments.
#pragma once

#include <cstdint>
#include <string_view>

#include "device/cpu/simt/execute/context.h"

namespace lynxpp::device::cpu {

/// Computes dst[lane] = f(a[lane], b[lane], c[lane]) for every lane in `mask`. Operands that the operation
/// lacks are null.
using LaneFunction = void (*)(std::uint32_t mask, void* dst, const void* a, const void* b, const void* c);

struct LaneOperation {
  LaneFunction function = nullptr;
  std::uint8_t result_bits = 0;  ///< of one value: 8, 16, 32 or 64
  std::uint8_t operand_bits[3] = {0, 0, 0};
};

/// place[lane] = values[lane] for every lane in `mask`.
using MergeFunction = void (*)(void* place, const void* values, std::uint32_t mask);
/// Of values of 1, 2, 4, 8 or 16 bytes; null for others.
MergeFunction find_merge(unsigned bytes);

/// By a key made of the opcode and the modifiers that matter: "div.s32", "add.rz.f32", "ex2.f32",
/// "fma.rn.f16x2", "cvt.rz.f32.s64". Null when there is no such operation.
const LaneOperation* find_lane_operation(std::string_view key);

// Memory. Addresses are as the site's kind says. `bytes` is the size of one element, `count` how many of
// them a lane accesses; dst and src are laid out [element][lane]. Lanes whose access is illegal set
// warp->fault and are left alone.
using LoadFunction = void (*)(WarpContext* warp, void* dst, const std::uint64_t* addresses,
                              std::uint32_t mask, const AccessSite* site);
using StoreFunction = void (*)(WarpContext* warp, const void* src, const std::uint64_t* addresses,
                               std::uint32_t mask, const AccessSite* site);
LoadFunction find_load(AddressKind kind, unsigned bytes, unsigned count);
StoreFunction find_store(AddressKind kind, unsigned bytes, unsigned count);

/// Turns addresses into host addresses, in place. Returns the lanes whose access is legal.
std::uint32_t resolve_addresses(WarpContext* warp, std::uint64_t* addresses, std::uint32_t mask,
                                const AccessSite* site);

/// dst[lane] = old value at the host address, which becomes f(old, b) or, for cas, c where it was b. One lane
/// after the other. Precondition: resolve_addresses() found the lanes' accesses legal.
using AtomicFunction = void (*)(void* dst, const std::uint64_t* addresses, const void* b, const void* c,
                                std::uint32_t mask);
struct AtomicOperation {
  AtomicFunction function = nullptr;
  AtomicFunction in_block = nullptr;  ///< of memory that no other host thread accesses
  std::uint8_t bits = 0;
};
/// "add.u32", "cas.b64", "inc.u32", "add.f64", …; "add.ftz.f32" for global memory, "add.f32" for shared memory.
const AtomicOperation* find_atomic(std::string_view key);

// Across lanes: for each lane in `mask` from what the lanes in `participants` hold.

/// mode: 0 up, 1 down, 2 bfly, 3 idx. Returns the lanes whose source was in range.
std::uint32_t shuffle(std::uint32_t mask, std::uint32_t participants, std::uint32_t mode, std::uint32_t* dst,
                      const std::uint32_t* a, const std::uint32_t* b, const std::uint32_t* c);
/// Lanes of participants & members[lane] that hold the same value. For `all`: zero unless all do.
void match32(std::uint32_t mask, std::uint32_t participants, std::uint32_t all, std::uint32_t* dst,
             const std::uint32_t* a, const std::uint32_t* members);
void match64(std::uint32_t mask, std::uint32_t participants, std::uint32_t all, std::uint32_t* dst,
             const std::uint64_t* a, const std::uint32_t* members);
/// Over participants & members[lane]. op: index in "add", "min", "max", "and", "or", "xor"; is_signed for min
/// and max.
void reduce(std::uint32_t mask, std::uint32_t participants, std::uint32_t op, std::uint32_t is_signed,
            std::uint32_t* dst, const std::uint32_t* a, const std::uint32_t* members);

/// Likewise of floats, as min and max have them: −0 is less than +0, and a NaN is left out unless there is
/// nothing else, or `keeps_nan`.
void reduce_floats(std::uint32_t mask, std::uint32_t participants, std::uint32_t is_max,
                   std::uint32_t absolute, std::uint32_t keeps_nan, std::uint32_t* dst,
                   const std::uint32_t* a, const std::uint32_t* members);

/// clock counters: nanoseconds since the process began, strictly monotonic per thread.
std::uint64_t read_clock();
/// Nanoseconds since 1970.
std::uint64_t read_global_timer();
void raise_breakpoint(WarpContext* warp, std::uint32_t mask, std::uint32_t line);
void full_fence();

}  // namespace lynxpp::device::cpu
