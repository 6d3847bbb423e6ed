// Tensor copies against the reference of tensor_fixture.h: every rank, type, swizzle, fill and mode.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>
#include <random>

#include "tensor_fixture.h"

namespace lynxpp::device::cpu::test {
namespace {

using ::testing::HasSubstr;

/// Tensors of every rank, with boxes that fill the span of a swizzle of 128 bytes of 2-byte elements.
TensorMap ranked(std::uint32_t rank, TensorMemory& memory) {
  TensorMap map = tensor_of(TensorElement::f16, {100, 9, 5, 4, 3}, {64, 4, 3, 2, 2}, memory.bytes.data());
  map.rank = rank;
  return map;
}

TEST(TensorCopies, LoadEveryRankInsideAndAcrossEveryEdge) {
  TensorMemory memory;
  for (std::uint32_t rank = 1; rank <= 5; ++rank) {
    const TensorMap map = ranked(rank, memory);
    for (const At& at :
         {At{}, At{8, 2, 1, 1, 1}, At{-8, -1, -1, -1, -1}, At{88, 7, 4, 3, 2}, At{0, 9, 0, 0, 0},
          At{104, 0, 0, 0, 0}, At{-64, 0, 0, 0, 0}, At{0, -2147483647 - 1, 0, 0, 0}}) {
      SCOPED_TRACE(testing::Message() << rank << "d, " << testing::PrintToString(at));
      expect_load(tile_load(rank), map, tile_of(map, at), at);
    }
  }
}

TEST(TensorCopies, LoadEverySwizzleFromEveryOffsetOfItsPattern) {
  TensorMemory memory;
  const auto with = [](TensorMap map, TensorSwizzle swizzle, SwizzleAtom atom = SwizzleAtom::bytes_16) {
    map.swizzle = swizzle;
    map.atom = atom;
    return map;
  };
  for (const std::uint16_t inner : {8, 16, 32, 64}) {
    TensorMap map = tensor_of(TensorElement::u16, {100, 40}, {inner, 24}, memory.bytes.data());
    std::vector<TensorMap> maps = {map, with(map, TensorSwizzle::bytes_128),
                                   with(map, TensorSwizzle::bytes_128, SwizzleAtom::bytes_32),
                                   with(map, TensorSwizzle::bytes_128, SwizzleAtom::bytes_32_flip_8),
                                   with(map, TensorSwizzle::bytes_128, SwizzleAtom::bytes_64)};
    if (inner <= 32) maps.push_back(with(map, TensorSwizzle::bytes_64));
    if (inner <= 16) maps.push_back(with(map, TensorSwizzle::bytes_32));
    for (const TensorMap& each : maps) {
      for (const std::uint32_t begin : {0u, 128u, 896u}) {
        SCOPED_TRACE(testing::Message() << inner << " elements, swizzle " << static_cast<int>(each.swizzle)
                                        << ", atom " << static_cast<int>(each.atom) << ", at " << begin);
        const At at = {56, 20};
        expect_load(tile_load(2), each, tile_of(each, at), at, begin);
      }
    }
  }
}

TEST(TensorCopies, LoadEveryTypeWithBothFills) {
  TensorMemory memory;
  for (int type = 0; type <= static_cast<int>(TensorElement::bf16); ++type) {
    const auto element = static_cast<TensorElement>(type);
    const auto inner = static_cast<std::uint16_t>(64 / bytes_of(element));
    TensorMap map = tensor_of(element, {inner + 3u, 6}, {inner, 4}, memory.bytes.data());
    for (const TensorFill fill : {TensorFill::zero, TensorFill::oob_nan}) {
      if (fill == TensorFill::oob_nan && !is_float(element)) continue;
      SCOPED_TRACE(testing::Message() << "type " << type << ", fill " << static_cast<int>(fill));
      map.fill = fill;
      const At at = {static_cast<std::int32_t>(16 / bytes_of(element)), 4};
      expect_load(tile_load(2), map, tile_of(map, at), at);
    }
  }
}

TEST(TensorCopies, RoundTf32ToNearestEven) {
  // Each input with its result, as measured on a GPU: ties to even, subnormals kept, one NaN.
  constexpr std::uint32_t cases[][2] = {
      {0x3f801001, 0x3f802000}, {0x3f803000, 0x3f804000}, {0x3f805000, 0x3f804000}, {0x80000001, 0x80000000},
      {0x00000001, 0x00000000}, {0x007fffff, 0x00800000}, {0x7f800001, 0x7fffe000}, {0xff800001, 0x7fffe000},
      {0x7f800000, 0x7f800000}, {0xff800000, 0xff800000}, {0xbf801000, 0xbf800000}, {0x3fffffff, 0x40000000}};
  alignas(16) std::array<std::uint32_t, 12> in{};
  for (std::size_t i = 0; i < in.size(); ++i) in[i] = cases[i][0];
  for (const TensorElement element : {TensorElement::tf32, TensorElement::tf32_ftz}) {
    const TensorMap map = tensor_of(element, {12}, {12}, in.data());
    const auto module = load(tile_load(1));
    ASSERT_NE(module, nullptr);
    Box box;
    ASSERT_EQ(run_tensor(*module, MapParameter(map), {&box, 48, 0, {}, {}}), "");
    for (std::size_t i = 0; i < in.size(); ++i) {
      std::uint32_t found = 0;
      std::memcpy(&found, &box.bytes[4 * i], 4);
      EXPECT_EQ(found, cases[i][1]) << std::hex << cases[i][0];
    }
  }
}

TEST(TensorCopies, ElementStridesSkipElementsOfOuterDimensions) {
  TensorMemory memory;
  TensorMap map = tensor_of(TensorElement::u32, {40, 30, 7}, {8, 7, 4}, memory.bytes.data());
  map.steps = {5, 3, 2, 0, 0};  // that of dimension 0 has no effect
  for (const At& at : {At{}, At{36, 25, 4}, At{-4, -4, -1}})
    expect_load(tile_load(3), map, tile_of(map, at), at);
}

TEST(TensorCopies, RandomBoxesAreLoadedAndStored) {
  std::mt19937 random(20);
  const auto below = [&random](std::uint32_t limit) { return random() % limit; };
  for (int i = 0; i < 60; ++i) {
    TensorMemory memory;
    const std::uint32_t rank = 1 + below(5);
    const auto element = static_cast<TensorElement>(below(11));
    const std::uint32_t size = bytes_of(element);
    TensorMap map =
        tensor_of(element, {1 + below(60), 1 + below(8), 1 + below(5), 1 + below(4), 1 + below(3)},
                  {1, 1, 1, 1, 1}, memory.bytes.data() + 16 * below(4));
    map.rank = rank;
    map.swizzle = static_cast<TensorSwizzle>(below(4));
    const std::uint32_t span =
        map.swizzle == TensorSwizzle::none ? 128 : 16u << static_cast<int>(map.swizzle);
    map.box[0] = static_cast<std::uint16_t>((1 + below(span / 16)) * 16 / size);
    At at{};
    for (std::uint32_t d = 1; d < rank; ++d) {
      map.box[d] = static_cast<std::uint16_t>(1 + below(4));
      map.steps[d] = static_cast<std::uint8_t>(1 + below(3));
    }
    for (std::uint32_t d = 0; d < rank; ++d)
      at[d] = static_cast<std::int32_t>(below(static_cast<std::uint32_t>(map.sizes[d]) + 6)) - 3;
    const auto grain = static_cast<std::int32_t>(16 / size);
    at[0] = (at[0] + 3) / grain * grain - grain;
    SCOPED_TRACE(testing::Message() << "seed " << i);
    expect_load(tile_load(rank), map, tile_of(map, at), at);
    for (std::int32_t& each : at) each = std::max(each, 0);
    expect_store(
        store_of(".async.bulk.tensor." + std::to_string(rank) + "d.global.shared::cta.bulk_group", rank), map,
        tile_of(map, at), at, memory);
  }
}

TEST(TensorCopies, RowsAreGatheredAndScattered) {
  TensorMemory memory;
  TensorMap map = tensor_of(TensorElement::f32, {40, 20}, {32, 1}, memory.bytes.data());
  map.swizzle = TensorSwizzle::bytes_128;
  const auto rows_at = [&map](const At& at) {
    std::vector<BoxElement> elements;
    for (std::uint32_t row = 0; row < 4; ++row) {
      for (BoxElement each : tile_of(map, {at[0], at[row + 1]})) {
        each.shared += row * 128;
        elements.push_back(each);
      }
    }
    return elements;
  };
  const At gathered = {12, 17, -1, 3, 20};
  expect_load(load_of("2d.tile::gather4.shared::cta.global.mbarrier::complete_tx::bytes", 5), map,
              rows_at(gathered), gathered);
  const At scattered = {12, 17, 0, 25, 9};
  expect_store(store_of(".async.bulk.tensor.2d.global.shared::cta.tile::scatter4.bulk_group", 5), map,
               rows_at(scattered), scattered, memory);
}

TEST(TensorCopies, InterleavedTensorsHaveSlicesOfChannels) {
  // W, H, slices of 8 channels of 2 bytes, N. A box has one slice; a step of W skips pixels.
  TensorMemory memory;
  TensorMap map = tensor_of(TensorElement::f16, {10, 6, 3, 2}, {7, 4, 2, 2}, memory.bytes.data());
  map.interleave = TensorInterleave::bytes_16;
  map.strides = {160, 960, 2880, 0};
  map.steps = {2, 1, 1, 1, 0};
  std::vector<BoxElement> elements;
  const At at = {5, 4, 1, 0};
  std::uint32_t place = 0;
  for (std::uint32_t n = 0; n < 2; ++n) {
    for (std::uint32_t h = 4; h < 8; ++h) {
      for (std::uint32_t w = 5; w < 12; w += 2) {
        for (std::uint32_t channel = 0; channel < 8; ++channel, place += 2) {
          const std::uint64_t address = map.address + w * 16 + h * 160 + 960 + n * 2880 + channel * 2;
          elements.push_back({place, h < 6 && w < 10 ? std::optional(address) : std::nullopt});
        }
      }
    }
  }
  expect_load(tile_load(4), map, elements, at);
  map.interleave = TensorInterleave::bytes_32;
  EXPECT_STREQ(problem_of(map), "an interleave of 32 bytes needs a swizzle of 32 bytes");
}

// ---------------------------------------------------------------- im2col

struct Filter {
  At at;
  std::array<std::uint16_t, 3> offsets;
};

TensorMap image_of(std::uint32_t rank, TensorMemory& memory) {
  TensorMap map = tensor_of(TensorElement::f16, {40, 9, 7, 5, 3}, {32}, memory.bytes.data());
  map.rank = rank;
  map.access = TensorAccess::im2col;
  map.box = {32, 0, 0, 0, 0};
  map.steps.fill(1);
  map.strides = {80, 720, 5040, 25200};
  map.pixels = 96;
  return map;
}

std::string im2col_load(std::uint32_t rank) {
  std::string offsets = ", {%o0";
  for (std::uint32_t i = 1; i + 2 < rank; ++i) offsets += ", %o" + std::to_string(i);
  return load_of(std::to_string(rank) + "d.im2col.shared::cluster.global.mbarrier::complete_tx::bytes", rank,
                 offsets + "}");
}

TEST(TensorCopies, ColumnsOfImagesOfEveryRank) {
  TensorMemory memory;
  for (std::uint32_t rank = 3; rank <= 5; ++rank) {
    TensorMap map = image_of(rank, memory);
    map.lower = {-1, -1, -1};
    map.upper = {-1, -1, -1};  // padding 1, filters of 3 pixels
    for (const Filter& each : {Filter{{0, -1, -1, -1, 0}, {0, 0, 0}}, Filter{{16, 3, 2, 1, 1}, {2, 1, 2}},
                               Filter{{8, 7, 5, 3, 2}, {1, 2, 0}}}) {
      Filter filter = each;
      filter.at[rank - 1] = each.at[4];
      for (std::uint32_t i = rank; i < 5; ++i) filter.at[i] = 0;
      SCOPED_TRACE(testing::Message() << rank << "d, " << testing::PrintToString(filter.at));
      expect_load(im2col_load(rank), map, column_of(map, filter.at, filter.offsets), filter.at, 0,
                  filter.offsets);
    }
  }
}

TEST(TensorCopies, ColumnsWithStridesAndASwizzle) {
  TensorMemory memory;
  TensorMap map = image_of(4, memory);
  map.lower = {-1, -2, 0};
  map.upper = {-2, 0, 0};
  map.steps = {1, 2, 3, 1, 0};
  map.swizzle = TensorSwizzle::bytes_64;
  const At at = {-4, 1, 1, 1, 0};
  const std::array<std::uint16_t, 3> offsets = {1, 2, 0};
  expect_load(im2col_load(4), map, column_of(map, at, offsets), at, 0, offsets);
}

TEST(TensorCopies, ColumnsAreStored) {
  TensorMemory memory;
  TensorMap map = image_of(4, memory);
  map.pixels = 70;
  const At at = {16, 2, 1, 3, 0};
  expect_store(store_of(".async.bulk.tensor.4d.global.shared::cta.im2col_no_offs.bulk_group", 4), map,
               column_of(map, at, {}), at, memory);
}

// ---------------------------------------------------------------- reductions

/// Reduces a box of `in` into a tensor of `out`; returns the tensor.
template <typename T>
std::array<T, 16> reduced(const std::string& op, TensorElement element, const std::array<T, 16>& out,
                          const std::array<T, 16>& in) {
  struct alignas(64) {
    std::array<T, 16> values;
  } tensor{out};
  const TensorMap map = tensor_of(element, {16}, {16}, tensor.values.data());
  const auto module =
      load(store_of(".reduce.async.bulk.tensor.1d.global.shared::cta." + op + ".tile.bulk_group", 1));
  Box box{};
  std::memcpy(box.bytes.data(), in.data(), sizeof in);
  if (module != nullptr) {
    EXPECT_EQ(run_tensor(*module, MapParameter(map), {&box, 0, 0, {}, {}}), "");
  }
  return tensor.values;
}

template <typename T, typename Combine>
void expect_reduction(const std::string& op, TensorElement element, const Combine& combine) {
  SCOPED_TRACE(testing::Message() << op << " of type " << static_cast<int>(element));
  std::array<T, 16> out{};
  std::array<T, 16> in{};
  std::array<T, 16> expected{};
  for (int i = 0; i < 16; ++i) {
    out[i] = static_cast<T>(3 * i - 20);
    in[i] = static_cast<T>(25 - 2 * i);
    expected[i] = combine(out[i], in[i]);
  }
  EXPECT_EQ(reduced(op, element, out, in), expected);
}

TEST(TensorCopies, ReduceElementsOfEveryType) {
  using enum TensorElement;
  const auto add = [](auto a, auto b) { return static_cast<decltype(a)>(a + b); };
  const auto least = [](auto a, auto b) { return std::min(a, b); };
  const auto most = [](auto a, auto b) { return std::max(a, b); };
  expect_reduction<std::uint32_t>("add", u32, add);
  expect_reduction<std::int32_t>("add", s32, add);
  expect_reduction<std::uint64_t>("add", u64, add);
  expect_reduction<float>("add", f32, add);
  expect_reduction<float>("add", f32_ftz, add);
  expect_reduction<std::uint32_t>("min", u32, least);
  expect_reduction<std::int32_t>("min", s32, least);
  expect_reduction<std::uint64_t>("min", u64, least);
  expect_reduction<std::int64_t>("min", s64, least);
  expect_reduction<std::uint32_t>("max", u32, most);
  expect_reduction<std::int32_t>("max", s32, most);
  expect_reduction<std::uint64_t>("max", u64, most);
  expect_reduction<std::int64_t>("max", s64, most);
  expect_reduction<std::uint32_t>("inc", u32, [](auto a, auto b) { return a >= b ? 0 : a + 1; });
  expect_reduction<std::uint32_t>("dec", u32, [](auto a, auto b) { return a == 0 || a > b ? b : a - 1; });
  expect_reduction<std::uint32_t>("and", u32, [](auto a, auto b) { return a & b; });
  expect_reduction<std::uint64_t>("or", u64, [](auto a, auto b) { return a | b; });
  expect_reduction<std::int32_t>("xor", s32, [](auto a, auto b) { return a ^ b; });
}

TEST(TensorCopies, ReduceHalves) {
  const auto all = [](std::uint16_t bits) {
    std::array<std::uint16_t, 16> made{};
    made.fill(bits);
    return made;
  };
  EXPECT_EQ(reduced("add", TensorElement::f16, all(0x3c00), all(0x4000)), all(0x4200)) << "1 + 2";
  EXPECT_EQ(reduced("add", TensorElement::bf16, all(0x3f80), all(0x4000)), all(0x4040));
  EXPECT_EQ(reduced("min", TensorElement::f16, all(0x3c00), all(0xc000)), all(0xc000));
  EXPECT_EQ(reduced("max", TensorElement::bf16, all(0x3f80), all(0xc000)), all(0x3f80));
}

TEST(TensorCopies, OnlyFlushingTypesFlushSubnormalSums) {
  std::array<float, 16> least{};
  least.fill(1e-40f);
  EXPECT_EQ(reduced("add", TensorElement::f32, least, least)[0], 1e-40f + 1e-40f);
  EXPECT_EQ(reduced("add", TensorElement::f32_ftz, least, least)[0], 0.0f);
}

TEST(TensorCopies, ReductionsSkipElementsOutsideTheTensor) {
  struct alignas(64) {
    std::array<std::uint32_t, 16> values{};
  } tensor;
  const TensorMap map = tensor_of(TensorElement::u32, {6}, {8}, tensor.values.data());
  const auto module = load(store_of(".reduce.async.bulk.tensor.1d.global.shared::cta.bulk_group.add", 1));
  ASSERT_NE(module, nullptr);
  Box box;
  box.bytes.fill(1);
  ASSERT_EQ(run_tensor(*module, MapParameter(map), {&box, 0, 0, {4}, {}}), "");
  EXPECT_EQ(tensor.values[4], 0x01010101u);
  EXPECT_EQ(tensor.values[5], 0x01010101u);
  EXPECT_EQ(tensor.values[3], 0u);
  EXPECT_EQ(tensor.values[6], 0u);
}

TEST(TensorCopies, PrefetchesHaveNoEffect) {
  TensorMemory memory;
  const TensorMap map = ranked(3, memory);
  for (const char* form : {"3d.L2.global.tile [%map, {%c0, %c1, %c2}]",
                           "2d.L2.global.tile::gather4 [%map, {%c0, %c1, %c2, %c3, %c4}]",
                           "3d.L2.global.im2col [%map, {%c0, %c1, %c2}], {%o0}",
                           "3d.L2.global.L2::cache_hint [%map, {%c0, %c1, %c2}], %memory"}) {
    const auto module = load(tensor_kernel("  cp.async.bulk.prefetch.tensor." + std::string(form) + ";\n"));
    ASSERT_NE(module, nullptr) << form;
    Box box;
    box.bytes.fill(untouched);
    EXPECT_EQ(run_tensor(*module, MapParameter(map), {&box, 0, 0, {}, {}}), "") << form;
  }
}

// ---------------------------------------------------------------- faults

TEST(TensorCopies, UnusableMapsAndOperandsAreNamed) {
  TensorMemory memory;
  const TensorMap good = ranked(2, memory);
  const auto load_with = [&](auto change, TensorArguments arguments = {}) {
    TensorMap map = good;
    change(map);
    return fault_of(tile_load(2), MapParameter(map), arguments);
  };
  EXPECT_THAT(
      load_with([](TensorMap& map) { map.rank = 3; }),
      HasSubstr("invalid tensor map or operands: a tensor copy from or to the tensor of the map at 0x"));
  EXPECT_THAT(load_with([](TensorMap& map) { map.rank = 3; }), HasSubstr("by thread (0, 0, 0)"));
  EXPECT_THAT(load_with([](TensorMap& map) { map.rank = 3; }),
              HasSubstr("the map's rank is not the instruction's"));
  EXPECT_THAT(load_with([](TensorMap& map) { map.access = TensorAccess::im2col; }),
              HasSubstr("interleaved and im2col tensors have at least 3 dimensions"));
  EXPECT_THAT(load_with([](TensorMap& map) { map.address += 8; }), HasSubstr("not a multiple of 16"));
  EXPECT_THAT(load_with([](TensorMap&) {}, {.begin = 64}),
              HasSubstr("its shared address is not a multiple of 128"));
  EXPECT_THAT(load_with([](TensorMap&) {}, {.begin = 32768 - 128}),
              HasSubstr("illegal address: a tensor copy from or to 0x"));
  EXPECT_THAT(load_with([](TensorMap& map) { map.address = 16; }),
              HasSubstr("illegal address: a tensor copy from or to 0x10"));
  MapParameter foreign(good);
  foreign.bytes[40] ^= std::byte{1};
  EXPECT_THAT(fault_of(tile_load(2), foreign, {}), HasSubstr("incomplete or overwritten tensor map"));
  foreign.bytes.fill(std::byte{3});
  EXPECT_THAT(fault_of(tile_load(2), foreign, {}), HasSubstr("these bytes are not a tensor map"));
  foreign.bytes.fill(std::byte{0});
  EXPECT_THAT(fault_of(tile_load(2), foreign, {}), HasSubstr("the map's rank is not the instruction's"));
  EXPECT_THAT(fault_of(store_of(".async.bulk.tensor.2d.global.shared::cta.bulk_group", 2), MapParameter(good),
                       {.at = {0, -1}}),
              HasSubstr("a copy from shared memory has a negative coordinate"));
  EXPECT_THAT(fault_of(tensor_kernel("  cvt.u64.u32 %long, %box;\n  cvta.shared.u64 %long, %long;\n"
                                     "  @%first cp.async.bulk.tensor.1d.shared::cta.global.mbarrier::"
                                     "complete_tx::bytes [%box], [%long, {%c0}], [%bar];\n"),
                       MapParameter(good), {}),
              HasSubstr("address of the wrong space"));
}

TEST(TensorCopies, Im2colOperandsAreChecked) {
  TensorMemory memory;
  TensorMap map = image_of(4, memory);
  map.upper = {-2, -2, 0};
  const auto fault = [&](TensorArguments arguments) {
    return fault_of(im2col_load(4), MapParameter(map), arguments);
  };
  EXPECT_THAT(fault({.at = {0, 7, 0, 0}}), HasSubstr("outside its pixel box"));
  EXPECT_THAT(fault({.at = {0, 0, 0, 0}, .offsets = {0, 256, 0}}),
              HasSubstr("an im2col offset is out of range"));
  EXPECT_THAT(fault_of(tile_load(4), MapParameter(map), {}),
              HasSubstr("not made by cuTensorMapEncodeIm2col"));
  const TensorMap tiled = ranked(4, memory);
  EXPECT_THAT(fault_of(im2col_load(4), MapParameter(tiled), {}),
              HasSubstr("needs a map made by cuTensorMapEncodeIm2col"));
}

TEST(TensorCopies, UndefinedFormsAreRejected) {
  const auto rejection = [](const std::string& copy) {
    const auto module = load(tensor_kernel("  " + copy + ";\n"));
    if (module == nullptr) return std::string("no module");
    Box box{};
    return run_tensor(*module, MapParameter(TensorMap{}), {&box, 0, 0, {}, {}});
  };
  const std::string start = "cp.async.bulk.tensor.";
  const std::string wait = ".mbarrier::complete_tx::bytes";
  EXPECT_THAT(
      rejection(start + "2d.im2col.shared::cta.global" + wait + " [%box], [%map, {%c0, %c1}], [%bar], {%o0}"),
      HasSubstr("unknown form"));
  EXPECT_THAT(rejection(start + "2d.shared::cta.global" + wait + " [%box], [%map, {%c0, %c1, %c2}], [%bar]"),
              HasSubstr("malformed operands"));
  EXPECT_THAT(rejection(start + "2d.shared::cta.global.bulk_group [%box], [%map, {%c0, %c1}]"),
              HasSubstr("unknown form"));
  EXPECT_THAT(
      rejection(
          "cp.reduce.async.bulk.tensor.2d.global.shared::cta.mul.bulk_group [%map, {%c0, %c1}], [%box]"),
      HasSubstr("unknown modifier '.mul'"));
  EXPECT_THAT(rejection("tensormap.replace.tile.colour.global.b1024.b32 [%map], 3"), HasSubstr("colour"));
  EXPECT_THAT(rejection("tensormap.replace.tile.box_dim.global.b1024.b32 [%map], 5, 3"),
              HasSubstr("the ordinal is not a constant below 5"));
}

TEST(TensorCopies, ChecksFindBytesPastAnArrayAndUnusableMaps) {
  TensorMemory memory;
  const TensorMap map = tensor_of(TensorElement::u8, {1024}, {256}, memory.bytes.data());
  LaunchChecks checks{.selection = {.memory = true}};
  const std::string small = R"(.visible .entry test(.param .align 64 .b8 map[128]) {
  .shared .align 128 .b8 area[128];
  .shared .align 128 .b8 other[128];
  .shared .align 8 .b64 barrier;
  .reg .b64 %map;
  .reg .b32 %box, %bar;
  mov.b64 %map, map;
  cvta.param.u64 %map, %map;
  mov.u32 %box, area;
  mov.u32 %bar, barrier;
  mbarrier.init.shared.b64 [%bar], 1;
  st.shared.u32 [other], 0;
  cp.async.bulk.tensor.1d.shared::cta.global.mbarrier::complete_tx::bytes [%box], [%map, {0}], [%bar];
  ret;
})";
  const auto module = load(small);
  ASSERT_NE(module, nullptr);
  const LaunchShape shape{{1, 1, 1}, {1, 1, 1}};
  const MapParameter good(map);
  EXPECT_EQ(text_of(module->launch("test", shape, Arguments(good).bytes(), nullptr, nullptr, &checks)), "");
  ASSERT_EQ(checks.findings.size(), 1u);
  EXPECT_EQ(checks.findings[0].kind, FindingKind::out_of_bounds);
  EXPECT_THAT(checks.findings[0].detail, HasSubstr("the end of shared array 'area' of 128 bytes"));
  EXPECT_EQ(checks.findings[0].place.line, 16u);
  checks.findings.clear();
  TensorMap bad = map;
  bad.box[0] = 8;
  // The launch goes on without the copy, and fails at its end as it would without checks.
  EXPECT_THAT(
      text_of(module->launch("test", shape, Arguments(MapParameter(bad)).bytes(), nullptr, nullptr, &checks)),
      HasSubstr("invalid tensor map or operands"));
  ASSERT_EQ(checks.findings.size(), 1u);
  EXPECT_EQ(checks.findings[0].kind, FindingKind::invalid_tensor);
  EXPECT_THAT(checks.findings[0].place.action,
              HasSubstr("a tensor copy from or to the tensor of the map at 0x"));
  EXPECT_EQ(checks.findings[0].detail, "the bytes of box dimension 0 are not a multiple of 16");
}

}  // namespace
}  // namespace lynxpp::device::cpu::test
