#include "interposer/results/probe_buffer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

namespace lynxpp::interposer {
namespace {

engine::SpecificationPtr compile(const std::string& source) {
  Result<engine::SpecificationPtr> specification = cod::compile(source, "test.cod");
  EXPECT_TRUE(specification.ok()) << (specification ? "" : render(specification.error().diagnostics, source));
  return specification ? *specification : nullptr;
}

device::Launch launch_of(std::uint32_t blocks, std::uint32_t threads) {
  device::Launch launch;
  launch.grid[0] = blocks;
  launch.block[0] = threads;
  return launch;
}

TEST(ProbeBuffer, PartialWarpsCountAsWarps) {
  cod::LaunchView view;
  view.sms = 4;
  const cod::LaunchExtents extents = extents_of(launch_of(3, 33), view);
  EXPECT_EQ(extents.blocks, 3u);
  EXPECT_EQ(extents.threads, 99u);
  EXPECT_EQ(extents.warps, 6u);
  EXPECT_EQ(extents.sms, 4u);
}

TEST(ProbeBuffer, ArraysOfAllSpecificationsAreDisjoint) {
  const auto first = compile(
      "global unsigned long a[THREADS];\nglobal unsigned int b;\nON_KERNEL_EXIT: { a[globalThreadId()] = 1; "
      "b = 2; }\n");
  const auto second = compile("global unsigned long a[BLOCKS];\nON_KERNEL_EXIT: { a[blockId()] = 1; }\n");
  ASSERT_TRUE(first && second);
  cod::LaunchView view;
  const Result<ProbeLayout> layout = lay_out({first, second}, extents_of(launch_of(2, 64), view));
  ASSERT_TRUE(layout.ok());
  std::vector<std::byte> buffer(layout->bytes);
  const auto arrays = layout->arrays_of(0, buffer);
  ASSERT_EQ(arrays.size(), 2u);
  EXPECT_EQ(arrays[0].size(), 128u * 8);
  EXPECT_EQ(arrays[1].size(), 4u);
  const auto others = layout->arrays_of(1, buffer);
  ASSERT_EQ(others.size(), 1u);
  EXPECT_EQ(others[0].size(), 16u);
  // Filling one array does not affect the others or the counts of dropped accesses.
  std::memset(arrays[0].data(), 0xff, arrays[0].size());
  EXPECT_EQ(arrays[1][0], std::byte{0});
  EXPECT_EQ(others[0][0], std::byte{0});
  EXPECT_THAT(layout->dropped(0, buffer), testing::Each(0u));
  EXPECT_THAT(layout->dropped(1, buffer), testing::Each(0u));
}

TEST(ProbeBuffer, WritesInitialValues) {
  const auto specification = compile(
      "global unsigned int none[4], few[8] = {1, 2}, all[BLOCKS] = 7;\nON_KERNEL_EXIT: { none[0] = few[1] + "
      "all[0]; }\n");
  ASSERT_TRUE(specification);
  const Result<ProbeLayout> layout = lay_out({specification}, extents_of(launch_of(3, 64), {}));
  ASSERT_TRUE(layout.ok());
  std::vector<std::byte> buffer(layout->bytes);
  std::size_t bytes = 0;
  for (const device::BufferWrite& each : layout->writes()) {
    std::ranges::copy(each.bytes, buffer.begin() + static_cast<std::ptrdiff_t>(each.offset));
    bytes += each.bytes.size();
  }
  EXPECT_EQ(bytes, 2u * 4 + 3 * 4) << "zeros are there already";
  const auto numbers = [&](std::size_t array) {
    const std::span<std::byte> of = layout->arrays_of(0, buffer)[array];
    std::vector<std::uint32_t> values(of.size() / 4);
    std::memcpy(values.data(), of.data(), of.size());
    return values;
  };
  EXPECT_THAT(numbers(0), testing::Each(0u));
  EXPECT_THAT(numbers(1), testing::ElementsAre(1, 2, 0, 0, 0, 0, 0, 0));
  EXPECT_THAT(numbers(2), testing::ElementsAre(7, 7, 7));
}

TEST(ProbeBuffer, RejectsArraysThatAreTooLarge) {
  const auto specification =
      compile("global unsigned long a[THREADS][THREADS];\nON_KERNEL_EXIT: { a[0][0] = 1; }\n");
  ASSERT_TRUE(specification);
  const Result<ProbeLayout> layout =
      lay_out({specification}, extents_of(launch_of(65535, 1024), cod::LaunchView{}));
  ASSERT_FALSE(layout.ok());
  EXPECT_EQ(layout.error().diagnostics[0].message,
            "specification 'test': array 'a' is too large for this launch");
}

}  // namespace
}  // namespace lynxpp::interposer
