// Computes the results of the kernels of independent_lanes.cu on the host.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#ifdef __CUDACC__
#define HOST_AND_DEVICE __host__ __device__
#else
#define HOST_AND_DEVICE
#endif

__extension__ using Wide = unsigned __int128;
__extension__ using SignedWide = __int128;

constexpr int wide_operations = 10;

/// All operations whose code chains carries. `b` is not 0.
HOST_AND_DEVICE inline void wide_results(Wide a, Wide b, Wide* out) {
  const auto x = static_cast<SignedWide>(a);
  const auto y = static_cast<SignedWide>(b);
  out[0] = a + b;
  out[1] = a - b;
  out[2] = a * b;
  out[3] = a / b;
  out[4] = a % b;
  out[5] = static_cast<Wide>(x / y);
  out[6] = static_cast<Wide>(x % y);
  out[7] = Wide{0} - a;
  out[8] = a < b ? b - a : a - b;
  out[9] = static_cast<Wide>((x < y) + (a < b) * 2 + (x <= y) * 4);
}

namespace independent_lanes {

constexpr unsigned lanes = 32;
using Values = std::vector<unsigned>;  // one per lane

inline const std::vector<std::string>& kernels() {
  static const std::vector<std::string> names = {
      "shuffle_on_both_sides", "votes_on_both_sides", "memory_through_syncwarp",
      "loop_beside_steps",     "meet_inside_calls",   "meet_inside_indirect_calls",
      "after_exits",           "partitions",          "cooperative"};
  return names;
}

/// Returns the side of its branches that each lane takes, in pattern 0, 1, …
inline Values sides(unsigned pattern) {
  Values side(lanes);
  for (unsigned lane = 0; lane < lanes; ++lane) {
    const unsigned mixed = ((lane + 1) * 2654435761u ^ pattern * 2246822519u) * 3266489917u;
    side[lane] = pattern == 0 ? lane / 16 : pattern == 1 ? lane : pattern == 2 ? lane / 8 : mixed >> 29;
  }
  return side;
}

/// Returns the lanes among `members` for which f(lane) holds.
template <typename Predicate>
unsigned ballot(unsigned members, Predicate f) {
  unsigned mask = 0;
  for (unsigned lane = 0; lane < lanes; ++lane) {
    if ((members >> lane & 1) != 0 && f(lane)) mask |= 1u << lane;
  }
  return mask;
}

template <typename Value>
unsigned sum(unsigned members, Value f) {
  unsigned total = 0;
  for (unsigned lane = 0; lane < lanes; ++lane) total += (members >> lane & 1) != 0 ? f(lane) : 0;
  return total;
}

inline unsigned count(unsigned mask) {
  return sum(mask, [](unsigned) { return 1u; });
}
inline unsigned lowest(unsigned mask) {
  unsigned lane = 0;
  while (lane < lanes && (mask >> lane & 1) == 0) ++lane;
  return lane;
}

inline Values votes_on_both_sides(const Values& side) {
  const auto odd = [&](unsigned lane) { return (side[lane] & 1) != 0; };
  const auto key = [&](unsigned lane) { return odd(lane) ? lane % 3 : lane % 5; };
  const auto all = ~0u;
  const unsigned first = ballot(all, [&](unsigned l) { return (l & (odd(l) ? 2 : 1)) != 0; });
  const unsigned any = ballot(all, [&](unsigned l) {
    return l == (odd(l) ? 30u : (side[l] & 2) != 0 ? 31u : 4u);
  });
  const unsigned every = ballot(all, [&](unsigned l) { return odd(l) ? l < 31 : l != 5; });
  const unsigned total = sum(all, [&](unsigned l) { return odd(l) ? l : l * 9; });
  Values out(lanes);
  for (unsigned lane = 0; lane < lanes; ++lane) {
    const unsigned same = ballot(all, [&](unsigned l) { return key(l) == key(lane); });
    unsigned result = first * (odd(lane) ? 3 : (side[lane] & 2) != 0 ? 5 : 7) + (any != 0);
    result = result * 3 + (every == all);
    result = result * 3 + same;
    out[lane] = result * 3 + total;
  }
  return out;
}

inline Values loop_beside_steps(const Values& side) {
  Values value(lanes);
  for (unsigned lane = 0; lane < lanes; ++lane) value[lane] = lane + 1;
  for (unsigned step = 0; step < 3; ++step) {
    const Values before = value;
    for (unsigned lane = 0; lane < lanes; ++lane) {
      value[lane] = before[lane] * ((side[lane] & 1) != 0 ? 5 : 7) + before[lane ^ 1u << step];
      if (step == 1 && (side[lane] & 3) == 2) value[lane] += 1;
    }
  }
  return value;
}

inline Values partitions(const Values& side) {
  const unsigned odd = ballot(~0u, [&](unsigned l) { return (side[l] & 1) != 0; });
  Values out(lanes);
  for (unsigned lane = 0; lane < lanes; ++lane) {
    const unsigned mine = (side[lane] & 1) != 0 ? odd : ~odd;
    unsigned highest = 0;
    for (unsigned other = 0; other < lanes; ++other) highest = (mine >> other & 1) != 0 ? other : highest;
    unsigned result = ballot(mine, [](unsigned l) { return (l & 4) != 0; });
    result = result * 3 + (ballot(mine, [](unsigned l) { return l == 9; }) != 0);
    result = result * 3 + (ballot(mine, [](unsigned l) { return l != 9; }) == mine);
    result = result * 3 + highest;
    out[lane] = result * 3 + lowest(mine);
  }
  return out;
}

inline Values cooperative(const Values& side) {
  const unsigned odd = ballot(~0u, [&](unsigned l) { return (side[l] & 1) != 0; });
  Values out(lanes);
  for (unsigned lane = 0; lane < lanes; ++lane) {
    const unsigned first = lane / 8 * 8;
    unsigned result = (odd >> first & 0xff) * 3 + first + 2 + (first == 16);
    const bool is_odd = (side[lane] & 1) != 0;
    const unsigned group =
        is_odd ? odd : ballot(~odd, [&](unsigned l) { return (side[l] & 2) == (side[lane] & 2); });
    const unsigned rank = count(group & ((1u << lane) - 1));
    result = result * (is_odd ? 5 : 7) + count(group) + rank * 100;
    unsigned packed = 0;
    unsigned at = 0;
    for (unsigned other = 0; other < lanes; ++other) {
      if ((group >> other & 1) != 0) packed |= (other >> 1 & 1) << at++;
    }
    if (is_odd) result += packed;
    out[lane] = result * 3 + sum(group, [](unsigned l) { return l; });
  }
  return out;
}

/// Returns the output of the kernel with that name.
inline Values expected(const std::string& kernel, const Values& side) {
  if (kernel == "votes_on_both_sides") return votes_on_both_sides(side);
  if (kernel == "loop_beside_steps") return loop_beside_steps(side);
  if (kernel == "partitions") return partitions(side);
  if (kernel == "cooperative") return cooperative(side);
  Values out(lanes);
  const auto brought = [&](unsigned lane) { return (side[lane] & 1) != 0 ? lane * 3 + 1 : lane * 7; };
  for (unsigned lane = 0; lane < lanes; ++lane) {
    const bool odd = (side[lane] & 1) != 0;
    const unsigned other = lane ^ 3;
    if (kernel == "shuffle_on_both_sides") out[lane] = brought((lane + 1) % lanes) + (odd ? 1000 : 2000);
    if (kernel == "memory_through_syncwarp") out[lane] = brought(lanes - 1 - lane) + (odd ? 0 : 5);
    if (kernel == "meet_inside_calls") {
      const unsigned value = other + ((side[other] & 3) == 2 ? 100 : 0);
      out[lane] = value * (odd ? 3 : (side[lane] & 2) != 0 ? 5 : 1);
    }
    if (kernel == "meet_inside_indirect_calls") {
      out[lane] = (other + ((side[other] & 1) != 0 ? 100 : 0)) * (odd ? 5 : 3);
    }
    if (kernel == "after_exits") {
      out[lane] = odd ? 0 : ballot(~0u, [&](unsigned l) { return (side[l] & 1) == 0; });
    }
  }
  return out;
}

/// Operands that are edge cases of carries, and arbitrary ones; b is not 0.
inline void wide_operands(std::vector<Wide>& a, std::vector<Wide>& b) {
  std::uint64_t state = 88172645463325252u;
  const auto next = [&state] {
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return state;
  };
  const std::uint64_t words[] = {
      0, 1, 2, 0x7fffffffffffffff, 0x8000000000000000, 0xffffffff, ~std::uint64_t{0}};
  for (const std::uint64_t high : words) {
    for (const std::uint64_t low : words) {
      for (const std::uint64_t other : words) {
        a.push_back(Wide{high} << 64 | low);
        b.push_back(Wide{low} << 64 | (other | 1));
      }
    }
  }
  for (int i = 0; i < 1000; ++i) {
    a.push_back((Wide{next()} << 64 | next()) >> next() % 100);
    b.push_back((Wide{next()} << 64 | next()) >> next() % 127 | 1);
  }
}

}  // namespace independent_lanes
