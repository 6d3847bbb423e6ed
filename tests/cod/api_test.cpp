// The tables of filters, extents and names.
#include <gtest/gtest.h>

#include "cod/syntax/api.h"

namespace lynxpp::cod {
namespace {

ptx::OpcodeTraits load_from(ptx::StateSpace space, ptx::DataType type) {
  ptx::OpcodeTraits traits;
  traits.op = ptx::Op::ld;
  traits.kind = ptx::OpcodeClass::memory;
  traits.reads_memory = true;
  traits.space = space;
  traits.type = type;
  traits.is_floating = type == ptx::DataType::f32;
  return traits;
}

TEST(InstructionFilter, EmptyMatchesEverything) {
  EXPECT_TRUE(InstructionFilter{}.matches(ptx::OpcodeTraits{}, false));
}

TEST(InstructionFilter, AddsWithinAKindAndNarrowsBetweenKinds) {
  InstructionFilter filter;
  ASSERT_TRUE(add_filter("MEM_READ", filter));
  ASSERT_TRUE(add_filter("MEM_WRITE", filter));
  ASSERT_TRUE(add_filter("GLOBAL", filter));
  const auto global_load = load_from(ptx::StateSpace::global, ptx::DataType::f32);
  auto global_store = global_load;
  global_store.reads_memory = false;
  global_store.writes_memory = true;
  EXPECT_TRUE(filter.matches(global_load, false));
  EXPECT_TRUE(filter.matches(global_store, false));
  EXPECT_FALSE(filter.matches(load_from(ptx::StateSpace::shared, ptx::DataType::f32), false));
  EXPECT_FALSE(filter.matches(ptx::OpcodeTraits{}, false));
}

TEST(InstructionFilter, DistinguishesIntegersFromFloatingPoint) {
  InstructionFilter filter;
  ASSERT_TRUE(add_filter("INTEGER", filter));
  EXPECT_TRUE(filter.matches(load_from(ptx::StateSpace::global, ptx::DataType::u32), false));
  EXPECT_FALSE(filter.matches(load_from(ptx::StateSpace::global, ptx::DataType::f32), false));
  EXPECT_FALSE(filter.matches(ptx::OpcodeTraits{}, false)) << "a branch has no data type";
  EXPECT_TRUE(filter.matches(ptx::classify("max.s16x2"), false));
  EXPECT_FALSE(filter.matches(ptx::classify("max.f16x2"), false));
}

TEST(InstructionFilter, PredicatedIsAPropertyOfTheInstruction) {
  InstructionFilter filter;
  ASSERT_TRUE(add_filter("PREDICATED", filter));
  EXPECT_TRUE(filter.matches(ptx::OpcodeTraits{}, true));
  EXPECT_FALSE(filter.matches(ptx::OpcodeTraits{}, false));
}

TEST(InstructionFilter, MatchesAtomicsAndTexturesByMeaning) {
  InstructionFilter atomics;
  ASSERT_TRUE(add_filter("ATOMIC", atomics));
  auto red = load_from(ptx::StateSpace::global, ptx::DataType::u32);
  red.kind = ptx::OpcodeClass::atomic;
  EXPECT_TRUE(atomics.matches(red, false));
  InstructionFilter textures;
  ASSERT_TRUE(add_filter("TEXTURE", textures));
  EXPECT_TRUE(textures.matches(load_from(ptx::StateSpace::texture, ptx::DataType::f32), false));
  EXPECT_FALSE(textures.matches(red, false));
}

TEST(Api, HasUniqueNames) {
  std::vector<std::string> names = api_names();
  std::sort(names.begin(), names.end());
  EXPECT_EQ(std::adjacent_find(names.begin(), names.end()), names.end());
}

TEST(Api, SiteValuesAreNamedLikeTheirPlaceholders) {
  EXPECT_EQ(name_of(SiteValue::basic_block_id), "basic_block_id");
  EXPECT_EQ(name_of(SiteValue::predicate_value), "predicate_value");
  EXPECT_EQ(find_api("memoryAddress")->site, SiteValue::memory_address);
}

TEST(Extents, CountTheElementsOfAnArray) {
  const LaunchExtents extents{7, 100, 12, 24, 600, 3};
  EXPECT_EQ(element_count({"a", ScalarType::u64, {}}, extents), 1u);
  EXPECT_EQ(element_count({"a", ScalarType::u64, {{Extent::blocks, 1, "BLOCKS"}, {Extent::constant, 4, "4"}}},
                          extents),
            48u);
  EXPECT_EQ(element_count({"a", ScalarType::u64, {{Extent::lanes, 1, "LANES"}}}, extents), 32u);
  const LaunchExtents huge{1, 1, std::uint64_t{1} << 40, 1, std::uint64_t{1} << 40, 1};
  EXPECT_EQ(element_count({"a", ScalarType::u64, {{Extent::blocks, 1, ""}, {Extent::threads, 1, ""}}}, huge),
            0u);
}

}  // namespace
}  // namespace lynxpp::cod
