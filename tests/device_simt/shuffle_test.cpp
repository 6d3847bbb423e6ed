// shfl.sync in warps and in parts of them, by registers and by immediates, against CUDA's description of
// __shfl_sync, __shfl_up_sync, __shfl_down_sync and __shfl_xor_sync.
#include <algorithm>
#include <string>
#include <vector>

#include "instruction_fixture.h"

namespace lynxpp::device::cpu::test {
namespace {

constexpr std::uint32_t warp = 32, from_a_lane = 1000;

struct Mode {
  const char* name;
  /// The lane of the part [first, first + width) that `lane` reads; outside of it: none, its own value stays.
  int (*source)(int lane, int amount, int first, int width);
  /// The least or the greatest lane, which `shfl` takes with the width.
  std::uint32_t bound;
};
constexpr Mode shuffle_modes[] = {
    {"up", [](int lane, int amount, int, int) { return lane - amount; }, 0},
    {"down", [](int lane, int amount, int, int) { return lane + amount; }, 31},
    // Lanes of earlier parts may be read, those of later parts may not.
    {"bfly",
     [](int lane, int amount, int first, int) {
       const int source = lane ^ amount;
       return source < first ? source + 64 : source;
     },
     31},
    {"idx", [](int, int amount, int first, int width) { return first + amount % width; }, 31}};

/// What a lane has with its predicate afterwards; lane l begins with 3 l + 7.
std::uint32_t shuffled(const Mode& mode, int lane, int amount, int width) {
  const int first = lane / width * width;
  int source = mode.source(lane, amount, first, width);
  const bool is_earlier = source >= 64;
  if (is_earlier) source -= 64;
  const bool is_read = is_earlier || (source >= first && source < first + width);
  return 3 * static_cast<std::uint32_t>(is_read ? source : lane) + 7 + (is_read ? from_a_lane : 0);
}

class Shuffles : public testing::TestWithParam<Mode> {
 protected:
  static std::string code(const std::string& amount, const std::string& part) {
    return std::string("shfl.sync.") + GetParam().name + ".b32 %t1|%p, %a, " + amount + ", " + part +
           ", -1;\nselp.u32 %t2, " + std::to_string(from_a_lane) + ", 0, %p;\nadd.u32 %d, %t1, %t2;";
  }
  static std::uint32_t part_of(std::uint32_t width) { return (warp - width) << 8 | GetParam().bound; }
};

TEST_P(Shuffles, StayInTheirPartOfTheWarp) {
  std::vector<std::uint32_t> a, amounts, parts, expected;
  for (std::uint32_t width = 1; width <= warp; width *= 2) {
    for (std::uint32_t amount = 0; amount < warp; ++amount) {
      for (std::uint32_t lane = 0; lane < warp; ++lane) {
        a.push_back(3 * lane + 7);
        amounts.push_back(amount);
        parts.push_back(part_of(width));
        expected.push_back(
            shuffled(GetParam(), static_cast<int>(lane), static_cast<int>(amount), static_cast<int>(width)));
      }
    }
  }
  const auto found = run_instruction<std::uint32_t>(code("%b", "%c"), a, amounts, parts);
  for (std::size_t i = 0; i < found.size(); ++i)
    ASSERT_EQ(found[i], expected[i]) << "lane " << i % warp << ", " << amounts[i] << ", part " << parts[i];
}

TEST_P(Shuffles, ByImmediatesAreTheSame) {
  std::vector<std::uint32_t> a;
  for (std::uint32_t lane = 0; lane < 2 * warp; ++lane) a.push_back(3 * (lane % warp) + 7);
  for (const std::uint32_t width : {4u, 16u, 32u}) {
    for (const std::uint32_t amount : {1u, 3u, 17u}) {
      const auto found = run_instruction<std::uint32_t>(
          code(std::to_string(amount), std::to_string(part_of(width))), a, a, a);
      for (std::size_t i = 0; i < found.size(); ++i)
        ASSERT_EQ(found[i], shuffled(GetParam(), static_cast<int>(i % warp), static_cast<int>(amount),
                                     static_cast<int>(width)))
            << "lane " << i % warp << ", " << amount << ", width " << width;
    }
  }
}

/// The PTX ISA leaves the value undefined; a lane of the cpu device keeps its own.
TEST(ShufflesOfSomeLanes, ReadNoLaneOutsideTheMask) {
  std::vector<std::uint32_t> a(warp), lanes(warp);
  for (std::uint32_t lane = 0; lane < warp; ++lane) {
    a[lane] = 100 + lane;
    lanes[lane] = lane;
  }
  const auto found = run_instruction<std::uint32_t>(
      "setp.lt.u32 %q, %b, 8;\n@!%q bra END;\nshfl.sync.bfly.b32 %a, %a, 12, 31, 255;\nEND: mov.u32 %d, %a;",
      a, lanes, lanes);
  EXPECT_EQ(found, a);
}

INSTANTIATE_TEST_SUITE_P(Modes, Shuffles, testing::ValuesIn(shuffle_modes),
                         [](const auto& each) { return std::string(each.param.name); });

}  // namespace
}  // namespace lynxpp::device::cpu::test
