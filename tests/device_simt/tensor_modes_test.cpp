// Starts of boxes, elements of 4 and 6 bits, and the modes im2col::w and im2col::w::128; forms that are
// refused.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "tensor_fixture.h"

namespace lynxpp::device::cpu::test::tensor_modes {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

// ---------------------------------------------------------------- starts

const std::string tile_store = store_of(".async.bulk.tensor.2d.global.shared::cta.tile.bulk_group", 2);
const std::string tile_sum =
    store_of(".reduce.async.bulk.tensor.2d.global.shared::cta.add.tile.bulk_group", 2);
const std::string gather = load_of("2d.tile::gather4.shared::cta.global.mbarrier::complete_tx::bytes", 5);
const std::string scatter = store_of(".async.bulk.tensor.2d.global.shared::cta.tile::scatter4.bulk_group", 5);

std::string tile_prefetch() {
  return tensor_kernel("  @%first cp.async.bulk.prefetch.tensor.2d.L2.global.tile [%map, {%c0, %c1}];\n");
}

/// A tensor of 512 × 8 elements with a box of 128 bytes in one row.
TensorMap rows_of(TensorElement element, TensorMemory& memory) {
  const ElementUnit unit = unit_of(element);
  const auto inner =
      static_cast<std::uint16_t>(is_padded(element) ? 128 : 128 / unit.global_bytes * unit.elements);
  TensorMap map = tensor_of(element, {512, 8}, {inner, 1}, memory.bytes.data());
  map.strides[0] = 512 / unit.elements * unit.global_bytes;
  return map;
}

std::string start_fault(const std::string& kernel, const TensorMap& map, std::int32_t x) {
  return fault_of(kernel, MapParameter(map), {.at = {x}});
}

TEST(TensorStarts, MustBeMultiplesOf16Bytes) {
  TensorMemory memory;
  struct Case {
    TensorElement element;
    std::int32_t x;
    const char* text;
  };
  const Case cases[] = {
      {TensorElement::u8, 17,
       "coordinate 0 is 17, but a box of elements of 1 byte begins at a multiple of 16 bytes; the nearest "
       "coordinates are 16 and 32"},
      {TensorElement::f16, 60,
       "elements of 2 bytes begins at a multiple of 16 bytes; the nearest coordinates are 56 and 64"},
      {TensorElement::f32, 3,
       "elements of 4 bytes begins at a multiple of 16 bytes; the nearest coordinates are 0 and 4"},
      {TensorElement::f64, 1,
       "elements of 8 bytes begins at a multiple of 16 bytes; the nearest coordinates are 0 and 2"},
      {TensorElement::b4x16, 40,
       "elements of 4 bits begins at a multiple of 16 bytes; the nearest coordinates are 32 and 64"},
  };
  for (const Case& each : cases) {
    const TensorMap map = rows_of(each.element, memory);
    for (const std::string& kernel : {tile_load(2), tile_store, gather, scatter, tile_prefetch()}) {
      const std::string text = start_fault(kernel, map, each.x);
      EXPECT_THAT(text, AllOf(HasSubstr("invalid tensor map or operands: "), HasSubstr(each.text),
                              HasSubstr("by thread (0, 0, 0)")));
    }
  }
  const TensorMap floats = rows_of(TensorElement::f32, memory);
  EXPECT_THAT(start_fault(tile_sum, floats, 3), HasSubstr("coordinate 0 is 3"));
  EXPECT_THAT(start_fault(tile_load(2), floats, -3), HasSubstr("the nearest coordinates are -4 and 0"));
  EXPECT_THAT(start_fault(tile_load(2), floats, std::numeric_limits<std::int32_t>::max()),
              HasSubstr("; the nearest coordinate is 2147483644"));
  EXPECT_THAT(start_fault(tile_prefetch(), floats, -3), HasSubstr("coordinate 0 is -3"));
  EXPECT_EQ(start_fault(tile_prefetch(), floats, -4), "");
}

TEST(TensorStarts, MayBeAnywhereInOtherModesAndDimensions) {
  TensorMemory memory;
  TensorMap map = tensor_of(TensorElement::f16, {40, 9, 5}, {32}, memory.bytes.data());
  map.access = TensorAccess::im2col;
  map.pixels = 4;
  map.steps.fill(1);
  const std::string kernel =
      load_of("3d.im2col.shared::cluster.global.mbarrier::complete_tx::bytes", 3, ", {%o0}");
  const At odd = {3, 1, 1};
  expect_load(kernel, map, column_of(map, odd, {}), odd);
  map = tensor_of(TensorElement::f16, {40, 9, 5}, {32, 3, 3}, memory.bytes.data());
  const At outer = {8, 3, 1};
  expect_load(tile_load(3), map, tile_of(map, outer), outer);
}

TEST(TensorStarts, AreFoundByChecks) {
  TensorMemory memory;
  const TensorMap map = rows_of(TensorElement::f16, memory);
  LaunchChecks checks{.selection = {.memory = true}};
  EXPECT_THAT(fault_of(tile_store, MapParameter(map), {.at = {4}}, &checks), HasSubstr("coordinate 0 is 4"));
  ASSERT_EQ(checks.findings.size(), 1u);
  EXPECT_EQ(checks.findings[0].kind, FindingKind::invalid_tensor);
  EXPECT_EQ(
      checks.findings[0].detail,
      "coordinate 0 is 4, but a box of elements of 2 bytes begins at a multiple of 16 bytes; the nearest "
      "coordinates are 0 and 8");
  EXPECT_THAT(checks.findings[0].place.opcode, HasSubstr("cp.async.bulk.tensor.2d.global"));
  checks.findings.clear();
  EXPECT_EQ(fault_of(tile_store, MapParameter(map), {.at = {8}}, &checks), "");
  EXPECT_TRUE(checks.findings.empty());
}

// ---------------------------------------------------------------- elements of 4 and 6 bits

/// The bytes of a packed tensor, as elements of one byte.
TensorMap bytes_like(const TensorMap& map) {
  TensorMap bytes = map;
  bytes.element = TensorElement::u8;
  bytes.sizes[0] /= 2;
  bytes.box[0] /= 2;
  return bytes;
}

TEST(NarrowElements, PackedOnesAreCopiedAsTheyAre) {
  TensorMemory memory;
  TensorMap map = tensor_of(TensorElement::b4x16, {150, 9}, {128, 4}, memory.bytes.data());
  map.strides[0] = 80;
  for (const TensorSwizzle swizzle :
       {TensorSwizzle::none, TensorSwizzle::bytes_64, TensorSwizzle::bytes_128}) {
    map.swizzle = swizzle;
    const TensorMap bytes = bytes_like(map);
    for (const At& at : {At{0, 2}, At{64, 7}, At{-32, -1}, At{160, 0}}) {
      const At byte_at = {at[0] / 2, at[1]};
      expect_load(tile_load(2), map, tile_of(bytes, byte_at), at, 0, {}, &bytes);
    }
    expect_store(tile_store, map, tile_of(bytes, {32, 7}), {64, 7}, memory, &bytes);
  }
}

/// The bytes of a padded box, as elements of one byte in rows of 128 bytes.
std::vector<BoxElement> padded_tile(const TensorMap& map, const At& at) {
  const std::uint32_t bytes = map.element == TensorElement::b4x16_p64 ? 8 : 12;  // of 16 elements
  std::vector<BoxElement> elements;
  for (std::uint32_t row = 0; row < map.box[1]; ++row) {
    const std::int64_t y = at[1] + std::int64_t{row};
    const bool is_inside = at[0] >= 0 && at[0] < static_cast<std::int64_t>(map.sizes[0]) && y >= 0 &&
                           y < static_cast<std::int64_t>(map.sizes[1]);
    for (std::uint32_t unit = 0; unit < 8; ++unit) {
      for (std::uint32_t i = 0; i < bytes; ++i) {
        const std::uint64_t address = map.address + static_cast<std::uint64_t>(y) * map.strides[0] +
                                      static_cast<std::uint64_t>(at[0]) / 16 * bytes + unit * bytes + i;
        elements.push_back({row * 128 + unit * 16 + i, is_inside ? std::optional(address) : std::nullopt});
      }
    }
  }
  return elements;
}

TensorMap padded_tensor(TensorElement element, TensorMemory& memory) {
  TensorMap map = tensor_of(element, {384, 9}, {128, 5}, memory.bytes.data());
  map.strides[0] = 320;
  return map;
}

/// Bytes in shared memory as `loaded` expects them.
TensorMap padded_layout(const TensorMap& map) {
  TensorMap bytes = map;
  bytes.element = TensorElement::u8;
  return bytes;
}

TEST(NarrowElements, PaddedOnesAreLoadedInUnitsOf16Bytes) {
  TensorMemory memory;
  for (const TensorElement element : {TensorElement::b4x16_p64, TensorElement::b6x16_p32}) {
    TensorMap map = padded_tensor(element, memory);
    for (const TensorSwizzle swizzle : {TensorSwizzle::none, TensorSwizzle::bytes_128}) {
      map.swizzle = swizzle;
      for (const SwizzleAtom atom : {SwizzleAtom::bytes_16, SwizzleAtom::bytes_32}) {
        if (swizzle == TensorSwizzle::none && atom != SwizzleAtom::bytes_16) continue;
        map.atom = atom;
        const TensorMap layout = padded_layout(map);
        for (const At& at : {At{128, 2}, At{256, 6}, At{0, -2}, At{384, 0}, At{-128, 0}}) {
          SCOPED_TRACE(testing::PrintToString(at));
          expect_load(tile_load(2), map, padded_tile(map, at), at, 0, {}, &layout);
        }
      }
    }
  }
}

TEST(NarrowElements, StoresPackTheLow6BitsOfBytes) {
  TensorMemory memory;
  const TensorMap map = padded_tensor(TensorElement::b6x16_p32, memory);
  const auto module = load(tile_store);
  ASSERT_NE(module, nullptr);
  Box box;
  for (std::size_t i = 0; i < box_bytes; ++i) box.bytes[i] = static_cast<std::uint8_t>(37 * i + i / 128);
  std::vector<std::uint8_t> expected(memory.bytes.begin(), memory.bytes.end());
  const At at = {256, 6};
  for (std::size_t row = 0; row < 3; ++row) {  // two of the five rows are outside the tensor
    for (std::size_t i = 0; i < 128; ++i) {
      for (std::size_t bit = 0; bit < 6; ++bit) {
        const std::size_t to = 6 * (256 + i) + bit;
        std::uint8_t& byte = expected[(6 + row) * 320 + to / 8];
        byte &= static_cast<std::uint8_t>(~(1u << to % 8));
        byte |= static_cast<std::uint8_t>((box.bytes[row * 128 + i] >> bit & 1u) << to % 8);
      }
    }
  }
  ASSERT_EQ(run_tensor(*module, MapParameter(map), {&box, 0, 0, at, {}}), "");
  EXPECT_TRUE(std::equal(expected.begin(), expected.end(), memory.bytes.begin()));
}

TEST(NarrowElements, PaddingStaysUninitialized) {
  TensorMemory memory;
  const TensorMap map = padded_tensor(TensorElement::b4x16_p64, memory);
  const std::string kernel = R"(.visible .entry test(.param .align 64 .b8 map[128], .param .u64 to) {
  .shared .align 128 .b8 area[640];
  .shared .align 8 .b64 barrier;
  .reg .b64 %map;
  .reg .b64 %to;
  .reg .b32 %v;
  .reg .pred %p;
  mov.b64 %map, map;
  cvta.param.u64 %map, %map;
  mbarrier.init.shared.b64 [barrier], 1;
  mbarrier.arrive.expect_tx.shared.b64 _, [barrier], 320;
  cp.async.bulk.tensor.2d.shared::cta.global.mbarrier::complete_tx::bytes [area], [%map, {0, 0}], [barrier];
again:
  mbarrier.try_wait.parity.shared.b64 %p, [barrier], 0;
  @!%p bra again;
  ld.shared.u32 %v, [area+4];
  ld.shared.u32 %v, [area+8];
  ld.param.u64 %to, [to];
  st.global.u32 [%to], %v;
  ret;
})";
  const auto module = load(kernel);
  ASSERT_NE(module, nullptr);
  LaunchChecks checks{.selection = {.init = true}};
  std::uint32_t stored = 0;
  EXPECT_EQ(text_of(module->launch("test", {{1, 1, 1}, {1, 1, 1}},
                                   Arguments(MapParameter(map), &stored).bytes(), nullptr, nullptr, &checks)),
            "");
  ASSERT_EQ(checks.findings.size(), 1u);
  EXPECT_EQ(checks.findings[0].kind, FindingKind::uninitialized_read);
  EXPECT_THAT(checks.findings[0].place.action, HasSubstr("+ 8"));
}

TEST(NarrowElements, RestrictionsOfTheIsaAreNamed) {
  TensorMemory memory;
  const auto problem = [&](TensorElement element, auto change) {
    TensorMap map = padded_tensor(element, memory);
    change(map);
    const char* const text = problem_of(map);
    return std::string(text == nullptr ? "" : text);
  };
  constexpr auto four = TensorElement::b4x16_p64;
  constexpr auto six = TensorElement::b6x16_p32;
  EXPECT_EQ(problem(four, [](TensorMap&) {}), "");
  EXPECT_THAT(problem(four, [](TensorMap& map) { map.address += 16; }), HasSubstr("multiple of 32"));
  EXPECT_THAT(problem(six, [](TensorMap& map) { map.strides[0] = 336; }), HasSubstr("multiple of 32"));
  EXPECT_THAT(problem(six, [](TensorMap& map) { map.sizes[0] = 320; }), HasSubstr("not a multiple of 128"));
  EXPECT_THAT(problem(four, [](TensorMap& map) { map.box[0] = 64; }), HasSubstr("is not 128"));
  EXPECT_THAT(problem(four, [](TensorMap& map) { map.swizzle = TensorSwizzle::bytes_64; }),
              HasSubstr("needs a swizzle of 128 bytes or none"));
  EXPECT_THAT(problem(four, [](TensorMap& map) { map.fill = TensorFill::oob_nan; }),
              HasSubstr("cannot be filled with NaN"));
  const auto with_atom = [](SwizzleAtom atom) {
    return [atom](TensorMap& map) {
      map.swizzle = TensorSwizzle::bytes_128;
      map.atom = atom;
    };
  };
  EXPECT_THAT(problem(six, with_atom(SwizzleAtom::bytes_32_flip_8)), HasSubstr("this swizzle atom"));
  EXPECT_THAT(problem(four, with_atom(SwizzleAtom::bytes_64)), HasSubstr("this swizzle atom"));
  EXPECT_EQ(problem(six, with_atom(SwizzleAtom::bytes_64)), "");
  EXPECT_THAT(problem(TensorElement::b4x16, [](TensorMap& map) { map.sizes[0] = 333; }), HasSubstr("is odd"));
  EXPECT_THAT(problem(TensorElement::b4x16, [](TensorMap& map) { map.box[0] = 48; }),
              HasSubstr("not a multiple of 16"));
  EXPECT_THAT(problem(TensorElement::b4x16,
                      [](TensorMap& map) {
                        map.rank = 3;
                        map.sizes[2] = map.box[2] = map.steps[2] = 1;
                        map.interleave = TensorInterleave::bytes_16;
                      }),
              HasSubstr("interleaved tensors of elements of 4 or 6 bits are not supported"));

  TensorMap map = padded_tensor(four, memory);
  EXPECT_THAT(
      start_fault(tile_load(2), map, 64),
      HasSubstr("elements of 4 bits begins at a multiple of 128 elements; the nearest coordinates are "
                "0 and 128"));
  EXPECT_THAT(start_fault(tile_store, map, 0),
              HasSubstr("elements of 4 bits with padding can only be loaded"));
  EXPECT_THAT(start_fault(tile_sum, padded_tensor(six, memory), 0),
              HasSubstr("this reduction is not defined"));
  map = padded_tensor(six, memory);
  with_atom(SwizzleAtom::bytes_64)(map);
  EXPECT_THAT(start_fault(tile_load(2), map, 0), HasSubstr("only stores of elements of 6 bits"));
}

// ---------------------------------------------------------------- im2col::w

struct Walk {
  std::uint32_t pixels = 0;
  std::uint16_t halo = 0;
  std::uint16_t shift = 0;
};

std::vector<BoxElement> wide_column_of(const TensorMap& map, const At& at, const Walk& walk) {
  const std::int64_t last = static_cast<std::int64_t>(map.sizes[1]) - 1 + map.upper[0];
  const std::uint32_t images = map.rank - 1;
  std::vector<BoxElement> elements;
  std::uint32_t row = 0;
  std::int64_t w = at[1];
  for (std::int64_t image = at[images]; row < walk.pixels + walk.halo; ++image, w = map.lower[0]) {
    for (; w <= last && row < walk.pixels + walk.halo; w += map.steps[1], ++row) {
      std::array<std::int64_t, 5> place{};
      for (std::uint32_t i = 2; i < images; ++i) place[i] = at[i];
      place[1] = w + walk.shift;
      place[images] = image;
      for (std::uint32_t channel = 0; channel < map.box[0]; ++channel) {
        place[0] = at[0] + std::int64_t{channel};
        elements.push_back({row * pitch_of(map) + channel * bytes_of(map.element), element_at(map, place)});
      }
    }
  }
  return elements;
}

TensorMap wide_image(std::uint32_t rank, TensorMemory& memory) {
  TensorMap map = tensor_of(TensorElement::f16, {40, 9, 7, 5, 4}, {32}, memory.bytes.data());
  map.rank = rank;
  map.access = TensorAccess::im2col_w;
  map.box = {32, 0, 0, 0, 0};
  map.steps.fill(1);
  map.strides = {80, 720, 5040, 25200};
  map.swizzle = TensorSwizzle::bytes_64;
  map.pixels = 20;
  return map;
}

std::string wide_load(std::uint32_t rank, const std::string& mode = "im2col::w") {
  return load_of(std::to_string(rank) + "d." + mode + ".shared::cluster.global.mbarrier::complete_tx::bytes",
                 rank, ", {%o0, %o1}");
}

TEST(WideColumns, WalkAlongWThenToTheNextImage) {
  TensorMemory memory;
  for (std::uint32_t rank = 3; rank <= 5; ++rank) {
    for (const std::uint8_t step : {1, 2, 3}) {
      TensorMap map = wide_image(rank, memory);
      map.lower[0] = -1;
      map.upper[0] = -1;
      map.steps[1] = step;
      for (const std::int32_t first : {-1, 3, -4}) {  // the last one is left of the pixel box
        for (const std::uint16_t shift : {0, 2}) {
          At at = {0, first, 2, 1, 3};
          at[rank - 1] = 1;
          SCOPED_TRACE(testing::Message()
                       << rank << "d, step " << int{step} << ", " << first << " + " << shift);
          expect_load(wide_load(rank), map, wide_column_of(map, at, {map.pixels, 0, shift}), at, 0,
                      {0, shift});
        }
      }
    }
  }
}

TEST(WideColumns, HaveRowsOutsideTheTensor) {
  TensorMemory memory;
  TensorMap map = wide_image(4, memory);
  map.fill = TensorFill::oob_nan;
  for (const std::int32_t h : {-1, 7}) {
    const At at = {0, 0, h, 2};
    expect_load(wide_load(4), map, wide_column_of(map, at, {map.pixels, 0, 0}), at);
  }
}

TEST(WideColumns, Of128HaveThatManyPixels) {
  TensorMemory memory;
  TensorMap map = wide_image(4, memory);
  map.access = TensorAccess::im2col_w128;
  map.pixels = 0;  // ignored
  map.swizzle = TensorSwizzle::bytes_128;
  map.atom = SwizzleAtom::bytes_32;
  const At at = {8, 2, 3, 0};
  expect_load(wide_load(4, "im2col::w::128"), map, wide_column_of(map, at, {128, 0, 1}), at, 0, {0, 1});
}

TEST(WideColumns, HaloInTheRowOfTheLastPixelFollowsIt) {
  TensorMemory memory;
  TensorMap map = wide_image(4, memory);
  map.pixels = 14;  // 9 in the first image, 5 in the next
  const At at = {0, 0, 2, 1};
  expect_load(wide_load(4), map, wide_column_of(map, at, {14, 4, 0}), at, 0, {4, 0});
  const auto fault = [&](const std::string& mode, At from, std::array<std::uint16_t, 3> offsets) {
    return fault_of(wide_load(4, mode), MapParameter(map), {.at = from, .offsets = offsets});
  };
  EXPECT_THAT(fault("im2col::w", at, {5, 0, 0}),
              HasSubstr("a halo that crosses the pixel box is not supported"));
  EXPECT_THAT(fault("im2col::w", at, {512, 0, 0}), HasSubstr("wHalo is out of range"));
  EXPECT_THAT(fault("im2col::w", at, {0, 32, 0}), HasSubstr("wOffset is out of range"));
  EXPECT_THAT(fault("im2col::w", {0, 9, 0, 0}, {}), HasSubstr("outside its pixel box"));
  EXPECT_THAT(fault("im2col::w::128", at, {}), HasSubstr("cuTensorMapEncodeIm2colWide in mode W128"));
  map.access = TensorAccess::im2col_w128;
  EXPECT_THAT(fault("im2col::w::128", at, {1, 0, 0}), HasSubstr("a halo in im2col::w::128 is not supported"));
  EXPECT_THAT(fault("im2col::w::128", at, {32, 0, 0}), HasSubstr("wHalo is out of range"));
  EXPECT_THAT(fault("im2col::w", at, {}), HasSubstr("cuTensorMapEncodeIm2colWide in mode W"));
  EXPECT_THAT(fault_of(tile_load(4), MapParameter(map), {}),
              HasSubstr("not made by cuTensorMapEncodeIm2col"));
}

TEST(WideColumns, NeedTheirSwizzles) {
  TensorMemory memory;
  const auto problem = [&](auto change) {
    TensorMap map = wide_image(4, memory);
    change(map);
    const char* const text = problem_of(map);
    return std::string(text == nullptr ? "" : text);
  };
  EXPECT_EQ(problem([](TensorMap&) {}), "");
  const char* const swizzles = "need a swizzle of 64 or 128 bytes with atoms of 16 or 32 bytes";
  EXPECT_THAT(problem([](TensorMap& map) { map.swizzle = TensorSwizzle::none; }), HasSubstr(swizzles));
  EXPECT_THAT(problem([](TensorMap& map) {
                map.swizzle = TensorSwizzle::bytes_128;
                map.atom = SwizzleAtom::bytes_64;
              }),
              HasSubstr(swizzles));
  EXPECT_EQ(problem([](TensorMap& map) { map.lower[0] = -30000; }), "");
  EXPECT_THAT(problem([](TensorMap& map) { map.interleave = TensorInterleave::bytes_16; }),
              HasSubstr("cannot be interleaved"));
  EXPECT_THAT(problem([](TensorMap& map) { map.upper[0] = -9; }), HasSubstr("its pixel box is empty"));
}

// ---------------------------------------------------------------- forms that are refused

TEST(TensorForms, RefusedOnesAreNamedWithTheirLine) {
  const auto refusal = [](const std::string& copy) {
    return fault_of(tensor_kernel("  " + copy + ";\n"), MapParameter(TensorMap{}), {});
  };
  const std::string load = "cp.async.bulk.tensor.3d.";
  const std::string spaces = ".shared::cluster.global";
  const std::string wait = ".mbarrier::complete_tx::bytes";
  const std::string operands = " [%box], [%map, {%c0, %c1, %c2}], [%bar]";
  struct Form {
    std::string code;
    const char* why;
  };
  const Form forms[] = {
      {load + "tile" + spaces + wait + ".cta_group::2" + operands, "'.cta_group::2': copies that signal"},
      {load + "im2col::w" + spaces + wait + operands + ", {%o0}", "malformed operands"},
      {load + "im2col::h" + spaces + wait + operands, "'.im2col::h'"},
      {load + "im2col_no_offs" + spaces + wait + operands, "unknown form"},
      {load + "tile::scatter4" + spaces + wait + operands, "unknown form"},
      {load + "tile::gather4" + spaces + wait + operands, "unknown form"},
      {"cp.async.bulk.tensor.2d.im2col::w" + spaces + wait +
           " [%box], [%map, {%c0, %c1}], [%bar], {%o0, %o1}",
       "unknown form"},
      {load + "im2col::w.global.shared::cta.bulk_group [%map, {%c0, %c1, %c2}], [%box], {%o0, %o1}",
       "unknown form"},
      {load + "im2col.global.shared::cta.bulk_group [%map, {%c0, %c1, %c2}], [%box], {%o0}", "unknown form"},
      {load + "tile" + spaces + ".bulk_group" + operands, "unknown form"},
      {load + "tile.shared::cta.global" + wait + ".multicast::cluster" + operands + ", 3", "unknown form"},
      {load + "tile" + spaces + wait + ".colour" + operands, "'.colour'"},
      {"cp.async.bulk.tensor.6d.tile" + spaces + wait + operands, "'.6d'"},
      {"cp.reduce.async.bulk.tensor.2d.global.shared::cta.add.tile::scatter4.bulk_group [%map, {%c0, %c1, "
       "%c2, "
       "%c3, %c4}], [%box]",
       "unknown form"},
      {"cp.async.bulk.prefetch.tensor.3d.L2.global.im2col_no_offs [%map, {%c0, %c1, %c2}]", "unknown form"},
  };
  for (const Form& each : forms)
    EXPECT_THAT(refusal(each.code), AllOf(HasSubstr(each.why), HasSubstr("cp."), HasSubstr("test.ptx:")))
        << each.code;
}

}  // namespace
}  // namespace lynxpp::device::cpu::test::tensor_modes
