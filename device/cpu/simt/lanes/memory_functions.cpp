// Loads, stores, atomics and warp-wide operations that compiled code calls.
#include <algorithm>
#include <bit>
#include <chrono>
#include <cmath>
#include <cstring>
#include <map>
#include <string>
#include <type_traits>

#include "device/cpu/simt/lanes/access_check.h"
#include "device/cpu/simt/lanes/half.h"
#include "device/cpu/simt/lanes/lane_functions.h"
#include "device/cpu/simt/lanes/lane_loop.h"

namespace lynxpp::device::cpu {
namespace {

/// A run of adjacent active lanes.
struct Neighbours {
  std::uint32_t first = 0;
  std::uint32_t count = 0;  ///< 0 if the active lanes are not contiguous
};
inline Neighbours neighbours(std::uint32_t mask) {
  const auto first = static_cast<std::uint32_t>(std::countr_zero(mask));
  const auto count = static_cast<std::uint32_t>(std::popcount(mask));
  return {first, mask >> first == all_lanes >> (warp_size - count) ? count : 0};
}

/// True if each lane's address is `bytes` after that of the previous lane.
inline bool is_strided(const std::uint64_t* addresses, Neighbours lanes, std::uint64_t bytes) {
  if (lanes.count == 0) return false;
  addresses += lanes.first;
  if (addresses[lanes.count - 1] - addresses[0] != bytes * (lanes.count - 1)) return false;
  std::uint64_t different = 0;
  for (std::uint32_t lane = 0; lane < lanes.count; ++lane)
    different |= addresses[lane] ^ (addresses[0] + lane * bytes);
  return different == 0;
}

/// Same as for_each_lane, but faster for a full warp.
template <typename Visit>
inline void for_each_access(std::uint32_t mask, Visit visit) {
  if (mask != all_lanes) return for_each_lane(mask, visit);
  for (std::uint32_t lane = 0; lane < warp_size; ++lane) visit(lane);
}

template <AddressKind kind, typename T, unsigned count>
void load(WarpContext* warp, void* dst, const std::uint64_t* addresses, std::uint32_t mask,
          const AccessSite* site) {
  if (mask == 0) return;
  AccessCheck<kind, sizeof(T) * count> check(warp, site);
  T* const values = static_cast<T*>(dst);
  if constexpr (kind == AddressKind::host && count == 1) {
    const Neighbours lanes = neighbours(mask);
    const std::uint64_t first = addresses[lanes.first];
    if (is_strided(addresses, lanes, sizeof(T)) && check.may_access(first, lanes.count)) {
      std::memcpy(values + lanes.first, reinterpret_cast<const std::byte*>(first), sizeof(T) * lanes.count);
      return;
    }
    if (mask == all_lanes && is_strided(addresses, lanes, 0)) {
      const std::byte* const source = check.place(addresses[0], 0);
      if (source == nullptr) return;
      T value;
      std::memcpy(&value, source, sizeof(T));
      std::fill_n(values, warp_size, value);
      return;
    }
  }
  for_each_access(mask, [&](std::uint32_t lane) {
    const std::byte* const source = check.place(addresses[lane], lane);
    if (source == nullptr) return;
    for (unsigned i = 0; i < count; ++i)
      std::memcpy(&values[i * warp_size + lane], source + i * sizeof(T), sizeof(T));
  });
}

template <AddressKind kind, typename T, unsigned count>
void store(WarpContext* warp, const void* src, const std::uint64_t* addresses, std::uint32_t mask,
           const AccessSite* site) {
  if (mask == 0) return;
  AccessCheck<kind, sizeof(T) * count> check(warp, site);
  const T* const values = static_cast<const T*>(src);
  if constexpr (kind == AddressKind::host && count == 1) {
    const Neighbours lanes = neighbours(mask);
    const std::uint64_t first = addresses[lanes.first];
    if (is_strided(addresses, lanes, sizeof(T)) && check.may_access(first, lanes.count)) {
      std::memcpy(reinterpret_cast<std::byte*>(first), values + lanes.first, sizeof(T) * lanes.count);
      return;
    }
  }
  for_each_access(mask, [&](std::uint32_t lane) {
    std::byte* const target = check.place(addresses[lane], lane);
    if (target == nullptr) return;
    for (unsigned i = 0; i < count; ++i)
      std::memcpy(target + i * sizeof(T), &values[i * warp_size + lane], sizeof(T));
  });
}

template <AddressKind kind, typename T>
LoadFunction pick_load(unsigned count) {
  switch (count) {
    case 1: return &load<kind, T, 1>;
    case 2: return &load<kind, T, 2>;
    case 4: return &load<kind, T, 4>;
    case 8: return &load<kind, T, 8>;
    default: return nullptr;
  }
}
template <AddressKind kind, typename T>
StoreFunction pick_store(unsigned count) {
  switch (count) {
    case 1: return &store<kind, T, 1>;
    case 2: return &store<kind, T, 2>;
    case 4: return &store<kind, T, 4>;
    case 8: return &store<kind, T, 8>;
    default: return nullptr;
  }
}
template <AddressKind kind>
LoadFunction pick_load(unsigned bytes, unsigned count) {
  switch (bytes) {
    case 1: return pick_load<kind, std::uint8_t>(count);
    case 2: return pick_load<kind, std::uint16_t>(count);
    case 4: return pick_load<kind, std::uint32_t>(count);
    case 8: return pick_load<kind, std::uint64_t>(count);
    default: return nullptr;
  }
}
template <AddressKind kind>
StoreFunction pick_store(unsigned bytes, unsigned count) {
  switch (bytes) {
    case 1: return pick_store<kind, std::uint8_t>(count);
    case 2: return pick_store<kind, std::uint16_t>(count);
    case 4: return pick_store<kind, std::uint32_t>(count);
    case 8: return pick_store<kind, std::uint64_t>(count);
    default: return nullptr;
  }
}

// ---------------------------------------------------------------- atomics

struct AtomicAdd {
  template <typename T>
  static T of(T old, T b, T) {
    return static_cast<T>(old + b);
  }
};
struct AtomicMin {
  template <typename T>
  static T of(T old, T b, T) {
    return b < old ? b : old;
  }
};
struct AtomicMax {
  template <typename T>
  static T of(T old, T b, T) {
    return b > old ? b : old;
  }
};
struct AtomicAnd {
  template <typename T>
  static T of(T old, T b, T) {
    return old & b;
  }
};
struct AtomicOr {
  template <typename T>
  static T of(T old, T b, T) {
    return old | b;
  }
};
struct AtomicXor {
  template <typename T>
  static T of(T old, T b, T) {
    return old ^ b;
  }
};
struct AtomicExchange {
  template <typename T>
  static T of(T, T b, T) {
    return b;
  }
};
struct AtomicCompareSwap {
  template <typename T>
  static T of(T old, T b, T c) {
    return old == b ? c : old;
  }
};
struct AtomicIncrement {
  template <typename T>
  static T of(T old, T b, T) {
    return old >= b ? 0 : old + 1;
  }
};
struct AtomicDecrement {
  template <typename T>
  static T of(T old, T b, T) {
    return old == 0 || old > b ? b : old - 1;
  }
};
/// Adds 16-bit floats in their own precision.
template <const HalfFormat& format>
struct AtomicHalfAdd {
  template <typename T>
  static T of(T old, T b, T) {
    T result = 0;
    for (unsigned shift = 0; shift < sizeof(T) * 8; shift += 16) {
      const double sum = half_to_double(static_cast<std::uint16_t>(old >> shift), format) +
                         half_to_double(static_cast<std::uint16_t>(b >> shift), format);
      result |= static_cast<T>(T{double_to_half(sum, format, HalfRounding::nearest_even)} << shift);
    }
    return result;
  }
};

/// Returns the smaller or larger 16-bit float; a number wins over NaN, and −0 is less than +0.
template <const HalfFormat& format, bool minimum>
struct AtomicHalfOrder {
  static std::uint16_t pick(std::uint16_t a, std::uint16_t b) {
    const double x = half_to_double(a, format);
    const double y = half_to_double(b, format);
    if (std::isnan(x) || std::isnan(y)) return std::isnan(x) ? (std::isnan(y) ? format.canonical_nan : b) : a;
    if (x == y) return std::signbit(x) == minimum ? a : b;
    return (x < y) == minimum ? a : b;
  }
  template <typename T>
  static T of(T old, T b, T) {
    T result = 0;
    for (unsigned shift = 0; shift < sizeof(T) * 8; shift += 16)
      result |= static_cast<T>(
          T{pick(static_cast<std::uint16_t>(old >> shift), static_cast<std::uint16_t>(b >> shift))} << shift);
    return result;
  }
};
/// Single precision. `flushes`: subnormal operands and sums become zeros of their sign, as in global memory;
/// shared memory keeps them. NaN is canonical in both (measured on an H200).
template <bool flushes>
struct AtomicFloatAdd {
  static float flushed(float value) {
    return flushes && std::fpclassify(value) == FP_SUBNORMAL ? std::copysign(0.0f, value) : value;
  }
  template <typename T>
  static T of(T old, T b, T) {
    const T sum = flushed(flushed(old) + flushed(b));
    return std::isnan(sum) ? std::bit_cast<float>(0x7fff'ffffu) : sum;
  }
};

template <typename T, typename Operation>
void atomic(void* dst, const std::uint64_t* addresses, const void* b, const void* c, std::uint32_t mask) {
  using Bits = std::conditional_t<sizeof(T) == 8, std::uint64_t,
                                  std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint16_t>>;
  for_each_lane(mask, [=](std::uint32_t lane) {
    auto* const target = reinterpret_cast<Bits*>(addresses[lane]);
    if constexpr (std::is_integral_v<T> && std::is_same_v<Operation, AtomicAdd>) {
      static_cast<Bits*>(dst)[lane] =
          __atomic_fetch_add(target, static_cast<const Bits*>(b)[lane], __ATOMIC_SEQ_CST);
      return;
    }
    const T operand = static_cast<const T*>(b)[lane];
    const T other = static_cast<const T*>(c)[lane];
    Bits old = __atomic_load_n(target, __ATOMIC_RELAXED);
    Bits next;
    do {
      next = std::bit_cast<Bits>(Operation::template of<T>(std::bit_cast<T>(old), operand, other));
    } while (!__atomic_compare_exchange_n(target, &old, next, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST));
    static_cast<Bits*>(dst)[lane] = old;
  });
}

/// Atomic update of shared memory without host atomics: one thread runs all blocks of a cluster.
template <typename T, typename Operation>
void atomic_in_block(void* dst, const std::uint64_t* addresses, const void* b, const void* c,
                     std::uint32_t mask) {
  for_each_access(mask, [=](std::uint32_t lane) {
    auto* const target = reinterpret_cast<std::byte*>(addresses[lane]);
    T old;
    std::memcpy(&old, target, sizeof(T));
    const T next =
        Operation::template of<T>(old, static_cast<const T*>(b)[lane], static_cast<const T*>(c)[lane]);
    std::memcpy(target, &next, sizeof(T));
    std::memcpy(static_cast<std::byte*>(dst) + lane * sizeof(T), &old, sizeof(T));
  });
}

using AtomicTable = std::map<std::string, AtomicOperation, std::less<>>;

template <typename T, typename Operation>
void add(AtomicTable& table, const std::string& key) {
  table[key] = {&atomic<T, Operation>, &atomic_in_block<T, Operation>, sizeof(T) * 8};
}

template <typename T>
void add_ordered(AtomicTable& table, const std::string& type) {
  add<T, AtomicAdd>(table, "add." + type);
  add<T, AtomicMin>(table, "min." + type);
  add<T, AtomicMax>(table, "max." + type);
}

template <typename T>
void add_bitwise(AtomicTable& table, const std::string& type) {
  add<T, AtomicAnd>(table, "and." + type);
  add<T, AtomicOr>(table, "or." + type);
  add<T, AtomicXor>(table, "xor." + type);
  add<T, AtomicExchange>(table, "exch." + type);
  add<T, AtomicCompareSwap>(table, "cas." + type);
}

/// Adds min and max for vectors and bulk reductions; the ISA has no scalar 16-bit min and max.
template <const HalfFormat& format>
void add_half_order(AtomicTable& table, const std::string& type) {
  add<std::uint16_t, AtomicHalfOrder<format, true>>(table, "vector.min." + type);
  add<std::uint16_t, AtomicHalfOrder<format, false>>(table, "vector.max." + type);
  add<std::uint32_t, AtomicHalfOrder<format, true>>(table, "vector.min." + type + "x2");
  add<std::uint32_t, AtomicHalfOrder<format, false>>(table, "vector.max." + type + "x2");
}

AtomicTable build_atomics() {
  AtomicTable table;
  add_ordered<std::uint32_t>(table, "u32");
  add_ordered<std::int32_t>(table, "s32");
  add_ordered<std::uint64_t>(table, "u64");
  add_ordered<std::int64_t>(table, "s64");
  add_bitwise<std::uint32_t>(table, "b32");
  add_bitwise<std::uint64_t>(table, "b64");
  add<std::uint16_t, AtomicCompareSwap>(table, "cas.b16");
  add<std::uint32_t, AtomicIncrement>(table, "inc.u32");
  add<std::uint32_t, AtomicDecrement>(table, "dec.u32");
  add<float, AtomicFloatAdd<false>>(table, "add.f32");
  add<double, AtomicAdd>(table, "add.f64");
  add<std::uint16_t, AtomicHalfAdd<binary16>>(table, "add.f16");
  add<std::uint32_t, AtomicHalfAdd<binary16>>(table, "add.f16x2");
  add<std::uint16_t, AtomicHalfAdd<brain16>>(table, "add.bf16");
  add<std::uint32_t, AtomicHalfAdd<brain16>>(table, "add.bf16x2");
  add_half_order<binary16>(table, "f16");
  add_half_order<brain16>(table, "bf16");
  add<float, AtomicFloatAdd<true>>(table, "add.ftz.f32");
  return table;
}

}  // namespace

LoadFunction find_load(AddressKind kind, unsigned bytes, unsigned count) {
  switch (kind) {
    case AddressKind::host: return pick_load<AddressKind::host>(bytes, count);
    case AddressKind::shared: return pick_load<AddressKind::shared>(bytes, count);
    case AddressKind::local: return pick_load<AddressKind::local>(bytes, count);
  }
  return nullptr;
}

StoreFunction find_store(AddressKind kind, unsigned bytes, unsigned count) {
  switch (kind) {
    case AddressKind::host: return pick_store<AddressKind::host>(bytes, count);
    case AddressKind::shared: return pick_store<AddressKind::shared>(bytes, count);
    case AddressKind::local: return pick_store<AddressKind::local>(bytes, count);
  }
  return nullptr;
}

namespace {

template <AddressKind kind>
std::uint32_t resolve(WarpContext* warp, std::uint64_t* addresses, std::uint32_t mask,
                      const AccessSite* site) {
  std::uint32_t legal = 0;
  const auto visit = [&](auto check) {
    for_each_access(mask, [&](std::uint32_t lane) {
      const std::byte* const host = check.place(addresses[lane], lane);
      if (host == nullptr) return;
      addresses[lane] = reinterpret_cast<std::uintptr_t>(host);
      legal |= 1u << lane;
    });
  };
  switch (site->bytes) {
    case 2: visit(AccessCheck<kind, 2>(warp, site)); break;
    case 4: visit(AccessCheck<kind, 4>(warp, site)); break;
    default: visit(AccessCheck<kind, 8>(warp, site)); break;
  }
  return legal;
}

}  // namespace

std::uint32_t resolve_addresses(WarpContext* warp, std::uint64_t* addresses, std::uint32_t mask,
                                const AccessSite* site) {
  switch (site->kind) {
    case AddressKind::host: return resolve<AddressKind::host>(warp, addresses, mask, site);
    case AddressKind::shared: return resolve<AddressKind::shared>(warp, addresses, mask, site);
    case AddressKind::local: return resolve<AddressKind::local>(warp, addresses, mask, site);
  }
  return 0;
}

const AtomicOperation* find_atomic(std::string_view key) {
  static const AtomicTable table = build_atomics();
  const auto found = table.find(key);
  return found == table.end() ? nullptr : &found->second;
}

// ---------------------------------------------------------------- across lanes

ShuffleSource shuffle_source(std::uint32_t mode, std::uint32_t lane, std::uint32_t b, std::uint32_t c) {
  const std::uint32_t amount = b & 31;
  const std::uint32_t segment = c >> 8 & 31;
  const std::uint32_t highest = (lane & segment) | (c & ~segment & 31);
  const std::uint32_t lowest = lane & segment;
  switch (mode) {
    case 0: return {lane - amount, amount <= lane && lane - amount >= highest};
    case 1: return {lane + amount, lane + amount <= highest};
    case 2: return {lane ^ amount, (lane ^ amount) <= highest};
    default: {
      const std::uint32_t source = lowest | (amount & ~segment & 31);
      return {source, source <= highest};
    }
  }
}

std::uint32_t shuffle(std::uint32_t mask, std::uint32_t participants, std::uint32_t mode, std::uint32_t* dst,
                      const std::uint32_t* a, const std::uint32_t* b, const std::uint32_t* c) {
  std::uint32_t in_range = 0;
  for_each_lane(mask, [&](std::uint32_t lane) {
    const ShuffleSource source = shuffle_source(mode, lane, b[lane], c[lane]);
    if (source.is_in_range) in_range |= 1u << lane;
    // A value read from an inactive lane is undefined, so the lane's own value is used.
    const bool readable = source.is_in_range && (participants >> source.lane & 1) != 0;
    dst[lane] = a[readable ? source.lane : lane];
  });
  return in_range;
}

namespace {

template <typename T>
void match(std::uint32_t mask, std::uint32_t participants, std::uint32_t all, std::uint32_t* dst, const T* a,
           const std::uint32_t* members) {
  std::uint32_t done = 0;
  for_each_lane(mask, [&](std::uint32_t lane) {
    if ((done >> lane & 1) != 0) return;
    const std::uint32_t peers = participants & members[lane];
    std::uint32_t same = 0;
    for_each_lane(peers, [&](std::uint32_t other) {
      if (a[other] == a[lane]) same |= 1u << other;
    });
    const std::uint32_t result = all == 0 || same == peers ? same : 0;
    for_each_lane((same | 1u << lane) & mask, [&](std::uint32_t other) {
      if (members[other] != members[lane]) return;
      dst[other] = result;
      done |= 1u << other;
    });
  });
}

}  // namespace

void match32(std::uint32_t mask, std::uint32_t participants, std::uint32_t all, std::uint32_t* dst,
             const std::uint32_t* a, const std::uint32_t* members) {
  match(mask, participants, all, dst, a, members);
}

void match64(std::uint32_t mask, std::uint32_t participants, std::uint32_t all, std::uint32_t* dst,
             const std::uint64_t* a, const std::uint32_t* members) {
  match(mask, participants, all, dst, a, members);
}

void reduce(std::uint32_t mask, std::uint32_t participants, std::uint32_t op, std::uint32_t is_signed,
            std::uint32_t* dst, const std::uint32_t* a, const std::uint32_t* members) {
  const auto less = [is_signed](std::uint32_t x, std::uint32_t y) {
    return is_signed != 0 ? static_cast<std::int32_t>(x) < static_cast<std::int32_t>(y) : x < y;
  };
  const auto reduce_lanes = [&](std::uint32_t lanes) {
    std::uint32_t result = a[std::countr_zero(lanes)];
    for_each_lane(lanes & (lanes - 1), [&](std::uint32_t lane) {
      const std::uint32_t value = a[lane];
      switch (op) {
        case 0: result += value; break;
        case 1: result = less(value, result) ? value : result; break;
        case 2: result = less(result, value) ? value : result; break;
        case 3: result &= value; break;
        case 4: result |= value; break;
        default: result ^= value; break;
      }
    });
    return result;
  };
  // Lanes usually have the same members, so the last result is reused.
  std::uint32_t last_lanes = 0;
  std::uint32_t last = 0;
  for_each_lane(mask, [&](std::uint32_t lane) {
    const std::uint32_t lanes = (participants & members[lane]) | 1u << lane;
    if (lanes != last_lanes) last = reduce_lanes(lanes);
    last_lanes = lanes;
    dst[lane] = last;
  });
}

void reduce_floats(std::uint32_t mask, std::uint32_t participants, std::uint32_t is_max,
                   std::uint32_t absolute, std::uint32_t keeps_nan, std::uint32_t* dst,
                   const std::uint32_t* a, const std::uint32_t* members) {
  constexpr std::uint32_t sign = 0x8000'0000;
  constexpr std::uint32_t infinity = 0x7f80'0000;
  constexpr std::uint32_t canonical_nan = 0x7fff'ffff;
  // Maps float bits to integers with the same order.
  const auto rank = [](std::uint32_t bits) { return (bits & sign) != 0 ? ~bits : bits | sign; };
  for_each_lane(mask, [&](std::uint32_t lane) {
    std::uint32_t best = canonical_nan;
    bool has_number = false;
    bool has_nan = false;
    for_each_lane(participants & members[lane], [&](std::uint32_t other) {
      const std::uint32_t bits = absolute != 0 ? a[other] & ~sign : a[other];
      if ((bits & ~sign) > infinity) {
        has_nan = true;
        return;
      }
      const bool is_better = !has_number || (is_max != 0 ? rank(bits) > rank(best) : rank(bits) < rank(best));
      if (is_better) best = bits;
      has_number = true;
    });
    dst[lane] = has_nan && keeps_nan != 0 ? canonical_nan : best;
  });
}

// ---------------------------------------------------------------- time, faults

std::uint64_t read_clock() {
  thread_local std::uint64_t last = 0;
  const auto now = static_cast<std::uint64_t>(std::chrono::steady_clock::now().time_since_epoch().count());
  last = now > last ? now : last + 1;
  return last;
}

std::uint64_t read_global_timer() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return static_cast<std::uint64_t>(std::chrono::duration_cast<std::chrono::nanoseconds>(now).count());
}

void raise_breakpoint(WarpContext* warp, std::uint32_t mask, std::uint32_t line) {
  if (mask != 0 && warp->fault.kind == FaultKind::none)
    warp->fault = {.kind = FaultKind::breakpoint, .line = line};
}

void full_fence() { __atomic_thread_fence(__ATOMIC_SEQ_CST); }

}  // namespace lynxpp::device::cpu
