#include "support/tensor_boxes.h"

#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace lynxpp {
namespace {

using Map = std::array<std::uint64_t, 16>;
constexpr int f16 = 6, f32 = 7, u4_packed = 13, u4_padded = 14, u6_padded = 15;
constexpr int swizzle_128 = 3;

TensorBox box_of(std::uint64_t bytes) { return {bytes, 2, false, true}; }

TEST(TensorBox, TilesHaveTheElementsThatTheirStepsSelect) {
  const std::array<std::uint32_t, 3> sizes{64, 5, 3}, ones{1, 1, 1}, steps{2, 2, 3};
  EXPECT_EQ(tiled_box({f16, 3, ones.data(), 0, 0}, sizes.data()),
            (TensorBox{64 * 2 * 5 * 3, 3, false, true}));
  EXPECT_EQ(tiled_box({f32, 1, ones.data(), 0, 0}, sizes.data()), (TensorBox{64 * 4, 1, false, true}));
  // There are no steps along dimension 0.
  EXPECT_EQ(tiled_box({f16, 3, steps.data(), 0, 0}, sizes.data()),
            (TensorBox{64 * 2 * 3 * 1, 3, false, true}));
}

TEST(TensorBox, ColumnsHaveTheirPixelsAndChannels) {
  const std::array<std::uint32_t, 4> steps{1, 2, 2, 1};
  EXPECT_EQ(im2col_box({f16, 4, steps.data(), 0, 0}, 16, 100), (TensorBox{3200, 4, true, true}));
}

TEST(TensorBox, SmallElementsCountWithoutPadding) {
  const std::array<std::uint32_t, 2> sizes{128, 4}, steps{1, 1};
  EXPECT_EQ(tiled_box({u4_packed, 2, steps.data(), 0, 0}, sizes.data()), (TensorBox{256, 2, false, true}));
  EXPECT_EQ(tiled_box({u4_padded, 2, steps.data(), 0, 0}, sizes.data()), (TensorBox{256, 2, false, false}));
  EXPECT_EQ(tiled_box({u6_padded, 2, steps.data(), 0, 0}, sizes.data()), (TensorBox{384, 2, false, false}));
}

TEST(TensorBox, HasGapsIfItsRowsAreShorterThanTheSwizzle) {
  const std::array<std::uint32_t, 2> narrow{32, 4}, full{64, 4}, steps{1, 1};
  EXPECT_EQ(tiled_box({f16, 2, steps.data(), 0, swizzle_128}, narrow.data()),
            (TensorBox{256, 2, false, false}));
  EXPECT_EQ(tiled_box({f16, 2, steps.data(), 0, swizzle_128}, full.data()), (TensorBox{512, 2, false, true}));
}

TEST(TensorBox, IsUnknownForWhatIsNotKnown) {
  const std::array<std::uint32_t, 2> sizes{64, 4}, steps{1, 1};
  EXPECT_EQ(tiled_box({16, 2, steps.data(), 0, 0}, sizes.data()).bytes, 0u);
  EXPECT_EQ(tiled_box({-1, 2, steps.data(), 0, 0}, sizes.data()).bytes, 0u);
  EXPECT_EQ(tiled_box({f16, 2, steps.data(), 0, 7}, sizes.data()).bytes, 0u);
  EXPECT_EQ(tiled_box({f16, 2, steps.data(), 1, 0}, sizes.data()).bytes, 0u);
}

TEST(TensorBoxes, FindEqualMaps) {
  TensorBoxes boxes;
  Map map{1, 2, 3};
  EXPECT_EQ(boxes.find(map.data()), std::nullopt);
  boxes.add(map.data(), box_of(64));
  const Map copy = map;
  EXPECT_EQ(boxes.find(copy.data()), box_of(64));
  map[15] = 1;
  EXPECT_EQ(boxes.find(map.data()), std::nullopt);
}

TEST(TensorBoxes, FindMapsInWhichCutlassHasClearedABit) {
  TensorBoxes boxes;
  Map map{};
  map[1] = std::uint64_t{3} << 21;
  boxes.add(map.data(), box_of(64));
  map[1] = std::uint64_t{1} << 22;
  EXPECT_EQ(boxes.find(map.data()), box_of(64));
}

TEST(TensorBoxes, DoNotChooseBetweenBoxesOfEqualMaps) {
  TensorBoxes boxes;
  const Map map{1};
  boxes.add(map.data(), box_of(64));
  boxes.add(map.data(), box_of(64));
  EXPECT_EQ(boxes.find(map.data()), box_of(64));
  boxes.add(map.data(), box_of(128));
  EXPECT_EQ(boxes.find(map.data())->bytes, 0u);
  boxes.add(map.data(), box_of(64));
  EXPECT_EQ(boxes.find(map.data())->bytes, 0u);
}

TEST(TensorBoxes, ForgetTheOldestMapsButNotThoseInUse) {
  TensorBoxes boxes;
  const Map used{1, 1}, unused{1, 2};
  boxes.add(used.data(), box_of(64));
  boxes.add(unused.data(), box_of(64));
  for (std::uint64_t i = 0; i < 4 * TensorBoxes::most; ++i) {
    boxes.add(Map{2, i * (std::uint64_t{1} << 22)}.data(), box_of(32));
    if (i % 100 == 0) {
      EXPECT_TRUE(boxes.find(used.data()));
    }
  }
  EXPECT_EQ(boxes.find(used.data()), box_of(64));
  EXPECT_EQ(boxes.find(unused.data()), std::nullopt);
}

}  // namespace
}  // namespace lynxpp
