#include "ptx/replay/thread_box.h"

#include <gtest/gtest.h>

#include <functional>
#include <random>
#include <vector>

namespace lynxpp::ptx {
namespace {

void for_each_thread(const ThreadBox& box, const std::function<void(const ThreadBox&)>& visit,
                     std::size_t dimension = 0) {
  if (dimension == thread_dimensions) return visit(box);
  for (std::uint32_t at = box.first[dimension]; at <= box.last[dimension]; ++at) {
    ThreadBox one = box;
    one.first[dimension] = one.last[dimension] = at;
    for_each_thread(one, visit, dimension + 1);
  }
}

std::int64_t value_at(const ThreadForm& form, const ThreadBox& thread) {
  return static_cast<std::int64_t>(range_of(form, thread).least);
}

/// Cuts until there is an answer everywhere; returns the number of parts.
template <typename T>
std::size_t settle(const ThreadBox& box, const std::function<Answer<T>(const ThreadBox&)>& ask,
                   const std::function<void(const ThreadBox&, const T&)>& visit) {
  std::vector<ThreadBox> open{box};
  std::size_t parts = 0;
  while (!open.empty()) {
    const ThreadBox each = open.back();
    open.pop_back();
    const Answer<T> answer = ask(each);
    if (answer.value) {
      visit(each, *answer.value);
      ++parts;
      continue;
    }
    const std::array<ThreadBox, 2> halves = divide(each, answer.cut);
    EXPECT_EQ(halves[0].threads() + halves[1].threads(), each.threads());
    EXPECT_NE(halves[0].threads(), 0u);
    EXPECT_NE(halves[1].threads(), 0u);
    open.insert(open.end(), halves.begin(), halves.end());
  }
  return parts;
}

struct Case {
  ThreadBox box;
  ThreadForm form;
};

Case random_case(std::mt19937& random) {
  Case made;
  const auto pick = [&](int least, int greatest) {
    return std::uniform_int_distribution<int>(least, greatest)(random);
  };
  for (std::size_t i = 0; i < first_bit_dimension + 2; ++i) {
    const bool is_bit = i >= first_bit_dimension;
    made.box.first[i] = is_bit ? 0 : static_cast<std::uint32_t>(pick(0, 5));
    made.box.last[i] = made.box.first[i] + static_cast<std::uint32_t>(pick(0, is_bit ? 1 : 3));
    made.form.coefficients[i] = pick(0, 2) == 0 ? 0 : pick(-40, 40);
  }
  made.form.constant = pick(-300, 300);
  return made;
}

TEST(ThreadBox, ComparisonsMatchEveryThread) {
  std::mt19937 random(1);
  for (int round = 0; round < 300; ++round) {
    const Case made = random_case(random);
    const std::int64_t bound = std::uniform_int_distribution<int>(-300, 300)(random);
    std::uint64_t seen = 0;
    settle<bool>(
        made.box, [&](const ThreadBox& box) { return is_less(made.form, bound, box); },
        [&](const ThreadBox& box, bool less) {
          for_each_thread(box, [&](const ThreadBox& thread) {
            ASSERT_EQ(value_at(made.form, thread) < bound, less);
            ++seen;
          });
        });
    ASSERT_EQ(seen, made.box.threads());
  }
}

TEST(ThreadBox, QuotientsAndRemaindersMatchEveryThread) {
  std::mt19937 random(2);
  for (int round = 0; round < 300; ++round) {
    const Case made = random_case(random);
    const std::int64_t divisor = std::uniform_int_distribution<int>(1, 70)(random);
    settle<Division>(
        made.box, [&](const ThreadBox& box) { return divide(made.form, divisor, box); },
        [&](const ThreadBox& box, const Division& parts) {
          for_each_thread(box, [&](const ThreadBox& thread) {
            const std::int64_t remainder = value_at(parts.remainder, thread);
            ASSERT_GE(remainder, 0);
            ASSERT_LT(remainder, divisor);
            ASSERT_EQ(value_at(parts.quotient, thread) * divisor + remainder, value_at(made.form, thread));
          });
        });
  }
}

TEST(ThreadBox, GridWithABoundaryIsCutIntoFewParts) {
  // 256 * ctaid.x + tid.x < 255900 with 1000 blocks of 256.
  ThreadBox grid;
  grid.last[0] = 255;
  grid.last[3] = 999;
  ThreadForm index = thread_index(ThreadDimension::tid_x);
  index.coefficients[3] = 256;
  std::uint64_t inside = 0;
  const std::size_t parts = settle<bool>(
      grid, [&](const ThreadBox& box) { return is_less(index, 255900, box); },
      [&](const ThreadBox& box, bool less) { inside += less ? box.threads() : 0; });
  EXPECT_EQ(inside, 255900u);
  EXPECT_LE(parts, 3u);
}

TEST(ThreadBox, OverflowHasNoForm) {
  ThreadForm large = number(INT64_MAX);
  EXPECT_FALSE(add(large, number(1)));
  EXPECT_FALSE(multiply(large, 2));
  EXPECT_FALSE(subtract(number(INT64_MIN), number(1)));
  EXPECT_EQ(add(large, number(-1))->constant, INT64_MAX - 1);
}

}  // namespace
}  // namespace lynxpp::ptx
