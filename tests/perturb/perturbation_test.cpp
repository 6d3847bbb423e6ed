#include "ptx/perturb/perturbation.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ptx/perturb/memory_regions.h"

namespace lynxpp::ptx {
namespace {

std::string message_of(const std::string& text) {
  const Result<Perturbation> parsed = parse_perturbation(text);
  return parsed ? "" : parsed.error().diagnostics.front().message;
}

TEST(Perturbation, TextIsReadBack) {
  for (const char* text : {"shared-access:again", "shared-access:harmless", "fp32:again@120",
                           "special-function:harmless@1+20+300", "occupancy:again"}) {
    const Result<Perturbation> parsed = parse_perturbation(text);
    ASSERT_TRUE(parsed.ok()) << text;
    EXPECT_EQ(to_text(*parsed), text);
  }
  EXPECT_EQ(to_text(*parse_perturbation("fp32:again@9+3+9")), "fp32:again@3+9") << "lines are sorted";
}

TEST(Perturbation, RefusesWhatIsNotOne) {
  EXPECT_THAT(message_of("shared:again"), ::testing::HasSubstr("unknown operation"));
  EXPECT_THAT(message_of("shared-access"), ::testing::HasSubstr("the form must be"));
  EXPECT_THAT(message_of("shared-access:twice"), ::testing::HasSubstr("the form must be"));
  EXPECT_THAT(message_of("shared-access@3:again"), ::testing::HasSubstr("'3:again' is not a line number"));
  EXPECT_THAT(message_of("fp32:again@"), ::testing::HasSubstr("'' is not a line number"));
  EXPECT_THAT(message_of("fp32:again@0"), ::testing::HasSubstr("'0' is not a line number"));
  EXPECT_THAT(message_of("fp32:again@3x"), ::testing::HasSubstr("'3x' is not a line number"));
  EXPECT_THAT(message_of("occupancy:harmless"), ::testing::HasSubstr("only the form 'again'"));
  EXPECT_THAT(message_of("copy:harmless"), ::testing::HasSubstr("only the form 'again'"));
}

// The address that an added access computes; see MemoryRegion.
std::uint64_t address_in(const MemoryRegion& region, std::uint64_t address) {
  return region.begin + ((static_cast<std::uint32_t>(address) + region.rotation) & region.mask);
}

TEST(MemoryRegion, KeepsAddedAccessesInTheAllocation) {
  constexpr std::uint64_t begin = 0x7f12fffff000;
  constexpr Scratch scratch{0x7f0000000000, 8 << 20};
  for (const std::uint64_t bytes :
       std::vector<std::uint64_t>{4096, 4100, 12288, 1ull << 20, (1ull << 20) + 4095, 5ull << 30}) {
    const MemoryRegion region = region_of(begin, bytes, scratch);
    for (const std::uint64_t offset :
         std::vector<std::uint64_t>{0, 16, 4080, bytes / 3 / 16 * 16, bytes - 16}) {
      const std::uint64_t address = address_in(region, begin + offset);
      EXPECT_GE(address, begin);
      EXPECT_LE(address + 16, begin + bytes) << bytes << " bytes, offset " << offset;
      EXPECT_EQ(address % 4096, (begin + offset) % 4096) << "the offset in a page is kept";
    }
    if (bytes >= 8192) {
      EXPECT_NE(address_in(region, begin), begin) << "another part of the allocation";
    }
  }
  const MemoryRegion region = region_of(begin, 1 << 20, scratch);
  EXPECT_EQ(word_of(HiddenSlot::Kind::allocation_rotation, region, scratch), region.rotation);
  EXPECT_EQ(word_of(HiddenSlot::Kind::scratch_mask, region, scratch), (8u << 20) - 1);
  EXPECT_EQ(region_of(begin, 4095, scratch).begin, scratch.address);
  EXPECT_EQ(region_of(0, 0, scratch).mask, scratch.bytes - 1);
}

TEST(Maps, HaveABitForEachByteOfTheMemory) {
  constexpr std::uint64_t mebibyte = 1 << 20;
  const auto size = [](std::vector<MemoryRange> memory) { return map_size_for(memory); };
  EXPECT_EQ(size({{0x7f0000000000, 16 * mebibyte}}).bytes, 2 * mebibyte) << "a bit per byte";
  EXPECT_EQ(size({{0, 16 * mebibyte}, {16 * mebibyte, 16 * mebibyte}}).bytes, 4 * mebibyte);
  const MapSize apart = size({{0, 16 * mebibyte}, {72 * mebibyte, 16 * mebibyte}});
  EXPECT_EQ(apart.bytes, 16 * mebibyte) << "modulo 64 MiB they overlap";
  EXPECT_TRUE(apart.is_exact);
  EXPECT_EQ(size({{24 * mebibyte, 16 * mebibyte}, {40 * mebibyte, 16 * mebibyte}}).bytes, 4 * mebibyte)
      << "one of them continues at the begin of the map";
  const MapSize far = size({{0, mebibyte}, {1024 * mebibyte, mebibyte}});
  EXPECT_EQ(far.bytes, most_map_bytes);
  EXPECT_FALSE(far.is_exact) << "equal lower bits";
  EXPECT_FALSE(size({}).is_exact) << "unknown memory";
}

TEST(Scratch, IsAsLargeAsTheLargestAllocation) {
  EXPECT_EQ(scratch_bytes_for(0), 4u << 20);
  EXPECT_EQ(scratch_bytes_for((4u << 20) + 1), 8u << 20);
  EXPECT_EQ(scratch_bytes_for(64u << 20), 64u << 20);
  EXPECT_EQ(scratch_bytes_for(5ull << 30), 256u << 20);
}

}  // namespace
}  // namespace lynxpp::ptx
