// Converts a function on one lane's values to a LaneOperation.
#pragma once

#include <bit>
#include <cfenv>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "device/cpu/simt/lanes/lane_operation.h"

namespace lynxpp::device::cpu {

/// Calls `visit(lane)` for every lane in `mask`.
template <typename Visit>
inline void for_each_lane(std::uint32_t mask, Visit visit) {
  for (; mask != 0; mask &= mask - 1) visit(static_cast<std::uint32_t>(std::countr_zero(mask)));
}

template <typename R, typename A, typename F>
LaneOperation unary() {
  return {[](std::uint32_t mask, void* dst, const void* a, const void*, const void*) {
            for_each_lane(mask, [=](std::uint32_t lane) {
              static_cast<R*>(dst)[lane] = F{}(static_cast<const A*>(a)[lane]);
            });
          },
          sizeof(R) * 8,
          {sizeof(A) * 8, 0, 0}};
}

template <typename R, typename A, typename B, typename F>
LaneOperation binary() {
  return {[](std::uint32_t mask, void* dst, const void* a, const void* b, const void*) {
            for_each_lane(mask, [=](std::uint32_t lane) {
              static_cast<R*>(dst)[lane] =
                  F{}(static_cast<const A*>(a)[lane], static_cast<const B*>(b)[lane]);
            });
          },
          sizeof(R) * 8,
          {sizeof(A) * 8, sizeof(B) * 8, 0}};
}

template <typename R, typename A, typename B, typename C, typename F>
LaneOperation ternary() {
  return {[](std::uint32_t mask, void* dst, const void* a, const void* b, const void* c) {
            for_each_lane(mask, [=](std::uint32_t lane) {
              static_cast<R*>(dst)[lane] = F{}(static_cast<const A*>(a)[lane], static_cast<const B*>(b)[lane],
                                               static_cast<const C*>(c)[lane]);
            });
          },
          sizeof(R) * 8,
          {sizeof(A) * 8, sizeof(B) * 8, sizeof(C) * 8}};
}

/// Converts in a rounding mode, where the compiler's own conversion of 64-bit unsigned values is correct only
/// in round-to-nearest. `mode` is any other FE_ constant.
template <typename T>
T unsigned_to_float(std::uint64_t value, int mode) {
  constexpr int digits = std::numeric_limits<T>::digits;
  const int width = 64 - std::countl_zero(value | 1);
  if (width <= digits) return static_cast<T>(value);
  const int dropped = width - digits;
  std::uint64_t kept = value >> dropped << dropped;  // has `digits` significant bits, so it converts exactly
  T result = static_cast<T>(kept);
  if (mode == FE_UPWARD && kept != value) {
    using Bits = std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>;
    result = std::bit_cast<T>(static_cast<Bits>(std::bit_cast<Bits>(result) + 1));
  }
  return result;
}

}  // namespace lynxpp::device::cpu
