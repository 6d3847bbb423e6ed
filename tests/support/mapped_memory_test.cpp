#include "support/mapped_memory.h"

#include <gtest/gtest.h>

#include <utility>

namespace lynxpp {
namespace {

TEST(MappedMemory, IsZeroAndCommittedWhereItIsTouched) {
  constexpr std::size_t huge = std::size_t{1} << 40;
  std::optional<MappedMemory> memory = MappedMemory::of(huge);
  ASSERT_TRUE(memory);
  ASSERT_EQ(memory->bytes().size(), huge);
  memory->bytes()[huge - 1] = std::byte{7};
  const MappedMemory moved = std::move(*memory);
  EXPECT_EQ(moved.bytes()[huge - 1], std::byte{7});
  EXPECT_EQ(moved.bytes()[huge / 2], std::byte{0});
  EXPECT_TRUE(memory->bytes().empty());
}

TEST(MappedMemory, RefusesMoreThanTheAddressSpace) {
  EXPECT_FALSE(MappedMemory::of(std::size_t{1} << 62));
  EXPECT_TRUE(MappedMemory::of(0)->bytes().empty());
}

}  // namespace
}  // namespace lynxpp
