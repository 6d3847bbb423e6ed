// Specifications that are attached together measure the same as each of them alone.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

#include "support/text.h"
#include "tests/cod/conformance_fixture.h"

namespace lynxpp::cod {
namespace {

struct Named {
  std::string name;
  std::string source;
};

/// The ready-made specifications, and others with resources that could conflict: registers, shared memory,
/// tables, barriers.
const std::vector<Named>& specifications() {
  static const std::vector<Named> all = [] {
    std::vector<Named> found;
    for (const auto& entry :
         std::filesystem::directory_iterator(std::string(LYNXPP_SOURCE_DIR) + "/examples/specs")) {
      if (entry.path().extension() != ".cod") continue;
      Named each{entry.path().stem().string(), {}};
      EXPECT_TRUE(read_file(entry.path().string(), each.source));
      found.push_back(std::move(each));
    }
    std::sort(found.begin(), found.end(), [](const Named& a, const Named& b) { return a.name < b.name; });
    found.push_back(
        {"registers",
         "global unsigned long visits[THREADS]; unsigned long count = 3; double real = 1; float f; char c;\n"
         "ON_BASIC_BLOCK_ENTRY: { ++count; real *= 2; f += 1; ++c; }\n"
         "ON_KERNEL_EXIT: { visits[globalThreadId()] = count + (long)real + (long)f + c; }"});
    found.push_back(
        {"shared_words",
         "shared unsigned int words[WARPS_PER_BLOCK]; global unsigned long sum[BLOCKS];\n"
         "ON_KERNEL_ENTRY: { if (blockThreadId() < 32) words[blockThreadId()] = 0; syncThreads(); }\n"
         "ON_INSTRUCTION: MEM_READ: GLOBAL: { words[blockThreadId() / 32] += 1; }\n"
         "ON_KERNEL_EXIT: { sum[blockId()] = 1 + (words[0] != 0); }"});
    found.push_back(
        {"collections",
         "const int weight[4] = {1, 2, 3, 4};\n"
         "global trace unsigned int t[16]; global histogram h[8]; global map unsigned long m[64] by int;\n"
         "ON_INSTRUCTION: MEM_WRITE: { append(&t, 1); record(&h, blockThreadId()); m[laneId() % 5] += "
         "weight[laneId() % 4]; }\n"
         "ON_REPORT: { emit(\"t\", length(t) + dropped(t)); emit(\"h\", h); emit(\"m\", m); }"});
    return found;
  }();
  return all;
}

/// True if results depend on time, or on where and when blocks run.
bool measures_time(const Named& specification) {
  return specification.name == "kernel_runtime" || specification.name == "block_runtime" ||
         specification.name == "warp_timeline" || specification.name == "reuse_distance";
}

void expect_same(const Measured& together, const Measured& alone, bool is_time, const std::string& what) {
  ASSERT_EQ(together.failure, "") << what;
  EXPECT_EQ(together.dropped, alone.dropped) << what;
  ASSERT_EQ(together.results.size(), alone.results.size()) << what;
  for (const auto& [name, values] : alone.results) {
    ASSERT_TRUE(together.results.contains(name)) << what << ": " << name;
    // Time varies, and SHARED_WORDS includes the shared arrays of all attached specifications; everything
    // else belongs to the program. Rows of memory_trace are in the order in which warps ran.
    const bool is_row = name.starts_with("accesses.") || name.starts_with("lane_addresses.");
    const bool is_room = name == "arrays.words" || name == "arrays.never" || name == "space";
    if (!is_time && !is_row && !is_room) {
      EXPECT_EQ(together.results.at(name), values) << what << ": " << name;
    }
  }
}

const std::vector<std::string> kernels{"straight", "divergent", "early"};

class Together : public testing::TestWithParam<std::string> {
 protected:
  const Shape shape_{{2, 1, 1}, {45, 1, 1}};
  std::vector<Measured> alone() const {
    std::vector<Measured> results;
    for (const Named& each : specifications()) {
      results.push_back(measure(each.source, shape_, GetParam()));
      EXPECT_EQ(results.back().failure, "") << each.name;
    }
    return results;
  }
};

/// Each pair on one of the kernels, because pairs are numerous and each is compiled.
TEST_P(Together, PairsMeasureWhatEachMeasuresAlone) {
  const std::vector<Measured> expected = alone();
  const auto kernel = static_cast<std::size_t>(std::ranges::find(kernels, GetParam()) - kernels.begin());
  const std::vector<Named>& all = specifications();
  for (std::size_t i = 0; i < all.size(); ++i) {
    for (std::size_t k = i + 1; k < all.size(); ++k) {
      if ((i + k) % kernels.size() != kernel) continue;
      // Alternates between both orders: the order must not matter.
      const bool is_swapped = i % 2 != 0;
      const std::size_t first = is_swapped ? k : i;
      const std::size_t second = is_swapped ? i : k;
      const std::string what = all[first].name + " with " + all[second].name;
      const std::vector<Measured> pair =
          measure_together({all[first].source, all[second].source}, shape_, GetParam());
      expect_same(pair[0], expected[first], measures_time(all[first]), what);
      expect_same(pair[1], expected[second], measures_time(all[second]), what);
    }
  }
}

TEST_P(Together, AllMeasureWhatEachMeasuresAlone) {
  const std::vector<Measured> expected = alone();
  std::vector<std::string> sources;
  for (const Named& each : specifications()) sources.push_back(each.source);
  const std::vector<Measured> together = measure_together(sources, shape_, GetParam());
  for (std::size_t i = 0; i < together.size(); ++i)
    expect_same(together[i], expected[i], measures_time(specifications()[i]),
                specifications()[i].name + " with all others");
}

INSTANTIATE_TEST_SUITE_P(Kernels, Together, testing::ValuesIn(kernels));

}  // namespace
}  // namespace lynxpp::cod
