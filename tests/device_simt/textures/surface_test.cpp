// One test per form of suld, sust and sured; txq, suq and istypep; rejected forms and faults.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cstring>

#include "device/cpu/simt/textures/objects.h"
#include "tests/device_simt/kernel_fixture.h"
#include "tests/device_simt/textures/object_fixture.h"

namespace lynxpp::device::cpu::test {
namespace {

using testing::HasSubstr;

struct SurfaceGeometry {
  std::string name;
  unsigned dimensions;
  bool is_layered;
  ImageShape shape;
  ImageSize size;
  unsigned operands() const {
    const unsigned used = dimensions + (is_layered ? 1 : 0);
    return used == 3 ? 4 : used;
  }
};

const std::vector<SurfaceGeometry>& surface_geometries() {
  static const std::vector<SurfaceGeometry> all = {{"1d", 1, false, ImageShape::line, {8, 1, 1, 1}},
                                                   {"2d", 2, false, ImageShape::plane, {8, 4, 1, 1}},
                                                   {"3d", 3, false, ImageShape::volume, {8, 4, 3, 1}},
                                                   {"a1d", 1, true, ImageShape::line, {8, 1, 3, 1}},
                                                   {"a2d", 2, true, ImageShape::plane, {8, 4, 3, 1}}};
  return all;
}

struct AccessCase {
  SurfaceGeometry geometry;
  unsigned values;
  unsigned bytes;  ///< of one element
};

std::vector<AccessCase> access_cases() {
  std::vector<AccessCase> cases;
  for (const SurfaceGeometry& geometry : surface_geometries()) {
    for (const unsigned bytes : {1u, 2u, 4u, 8u}) {
      for (const unsigned values : {1u, 2u, 4u}) {
        if (values * bytes <= 16) cases.push_back({geometry, values, bytes});
      }
    }
  }
  return cases;
}

TexelFormat format_of_access(const AccessCase& each) {
  const unsigned size = each.values * each.bytes;
  if (size == 1) return {Component::u8, 1};
  if (size == 2) return {Component::u16, 1};
  return {Component::u32, size / 4};
}

std::string type_of_access(const AccessCase& each) {
  return (each.values == 1 ? "" : "v" + std::to_string(each.values) + ".") + "b" +
         std::to_string(each.bytes * 8);
}

/// The coordinates that each lane accesses, some outside the surface on every side; x is in bytes.
struct SurfacePlaces {
  std::vector<WarpValues> sources;
  std::array<std::array<std::int64_t, 3>, 32> at = {};  ///< x in elements, y, slice
};

SurfacePlaces make_places(const AccessCase& each, bool all_inside) {
  const SurfaceGeometry& geometry = each.geometry;
  SurfacePlaces places;
  places.sources.assign(geometry.operands(), WarpValues{});
  const std::int64_t sizes[3] = {geometry.size.width, geometry.size.height, geometry.size.slices};
  for (unsigned lane = 0; lane < 32; ++lane) {
    std::int64_t at[3] = {lane % 8, lane / 8 % 4 % sizes[1], lane / 4 % sizes[2]};
    if (!all_inside && lane % 5 == 0) at[lane % geometry.dimensions] = lane % 2 == 0 ? -2 : 20;
    if (!all_inside && geometry.is_layered && lane % 7 == 0) at[2] = 9;
    unsigned next = 0;
    if (geometry.is_layered) places.sources[next++][lane] = static_cast<std::uint32_t>(at[2]);
    for (unsigned i = 0; i < geometry.dimensions; ++i) {
      const std::int64_t coordinate = i == 0 ? at[0] * each.bytes * each.values : at[i];
      places.sources[next++][lane] = static_cast<std::uint32_t>(coordinate);
    }
    std::copy_n(at, 3, places.at[lane].begin());
  }
  return places;
}

/// Clamps to the element that `.clamp` accesses; returns false if `.zero` accesses none.
bool clamp_place(const SurfaceGeometry& geometry, std::array<std::int64_t, 3>& at) {
  const std::int64_t sizes[3] = {geometry.size.width, geometry.size.height, geometry.size.slices};
  bool is_inside = true;
  for (unsigned i = 0; i < 3; ++i) {
    const std::int64_t clamped = std::clamp<std::int64_t>(at[i], 0, sizes[i] - 1);
    is_inside &= clamped == at[i];
    at[i] = clamped;
  }
  return is_inside;
}

class SurfaceAccess : public testing::TestWithParam<AccessCase> {};

TEST_P(SurfaceAccess, Loads) {
  const AccessCase& each = GetParam();
  TestImage image(format_of_access(each), each.geometry.shape, each.geometry.size);
  image.image.is_layered = each.geometry.is_layered;
  const TestObject object({image.image, {}, true});
  for (const std::string outside : {"trap", "clamp", "zero"}) {
    const SurfacePlaces places = make_places(each, outside == "trap");
    const ObjectInstruction instruction{"suld.b." + each.geometry.name + "." + type_of_access(each) + "." +
                                            outside + " " + registers("%d", 0, each.values) + ", [%h, " +
                                            registers("%s", 0, each.geometry.operands()) + "]",
                                        each.values, std::max(each.bytes * 8, 16u), each.geometry.operands()};
    const auto out = run_on_object(instruction, object.handle(), places.sources);
    for (unsigned lane = 0; lane < 32; ++lane) {
      auto at = places.at[lane];
      const bool reads = clamp_place(each.geometry, at) || outside == "clamp";
      for (unsigned i = 0; i < each.values; ++i) {
        std::uint64_t expected = 0;
        if (reads) std::memcpy(&expected, image.at(0, at[2], at[1], at[0]) + i * each.bytes, each.bytes);
        EXPECT_EQ(out[i][lane], expected) << instruction.text << " lane " << lane;
      }
    }
  }
}

TEST_P(SurfaceAccess, Stores) {
  const AccessCase& each = GetParam();
  for (const std::string outside : {"trap", "clamp", "zero"}) {
    TestImage image(format_of_access(each), each.geometry.shape, each.geometry.size);
    TestImage expected(format_of_access(each), each.geometry.shape, each.geometry.size);
    image.image.is_layered = each.geometry.is_layered;
    const TestObject object({image.image, {}, true});
    const SurfacePlaces places = make_places(each, outside == "trap");
    std::vector<WarpValues> sources = places.sources;
    const unsigned first = each.geometry.operands();
    for (unsigned i = 0; i < each.values; ++i) {
      WarpValues values;
      for (unsigned lane = 0; lane < 32; ++lane) values[lane] = (lane * 37 + i + 1) * 0x0101'0101'0101'0101u;
      sources.push_back(values);
    }
    const ObjectInstruction instruction{"sust.b." + each.geometry.name + "." + type_of_access(each) + "." +
                                            outside + " [%h, " + registers("%x", 0, first) + "], " +
                                            registers("%s", first, each.values),
                                        0, 32, first + each.values, 64};
    // Coordinates have 32 bits, values up to 64.
    std::string narrowed;
    for (unsigned i = 0; i < first; ++i) {
      const std::string number = std::to_string(i);
      narrowed += ".reg .b32 %x" + number + "; cvt.u32.u64 %x" + number + ", %s" + number + "; ";
    }
    ObjectInstruction whole = instruction;
    whole.text = narrowed + instruction.text;
    run_on_object(whole, object.handle(), sources);
    for (unsigned lane = 0; lane < 32; ++lane) {
      auto at = places.at[lane];
      if (!clamp_place(each.geometry, at) && outside != "clamp") continue;
      for (unsigned i = 0; i < each.values; ++i)
        std::memcpy(expected.at(0, at[2], at[1], at[0]) + i * each.bytes, &sources[first + i][lane],
                    each.bytes);
    }
    const ImageLevel& level = image.image.levels[0];
    EXPECT_EQ(std::memcmp(image.at(0, 0, 0, 0), expected.at(0, 0, 0, 0), level.slice_bytes * level.slices), 0)
        << instruction.text;
  }
}

INSTANTIATE_TEST_SUITE_P(All, SurfaceAccess, testing::ValuesIn(access_cases()), [](const auto& each) {
  return "g" + each.param.geometry.name + "_" + std::to_string(each.param.values) + "_of_" +
         std::to_string(each.param.bytes) + "_bytes";
});

TEST(SurfaceForms, FormattedStoresConvertAndClamp) {
  struct Case {
    TexelFormat format;
    std::uint32_t value;
    std::uint32_t expected;
  };
  const auto bits = [](float value) { return std::bit_cast<std::uint32_t>(value); };
  const Case cases[] = {{{Component::u8, 2}, 300, 255},
                        {{Component::u8, 1}, 200, 200},
                        {{Component::s8, 4}, static_cast<std::uint32_t>(-200), 0x80},
                        {{Component::u16, 4}, 70000, 65535},
                        {{Component::s16, 1}, 40000, 32767},
                        {{Component::u32, 2}, 0xdeadbeef, 0xdeadbeef},
                        {{Component::s32, 4}, 0x80000000, 0x80000000},
                        {{Component::f16, 2}, bits(1.5f), 0x3e00},
                        {{Component::f32, 4}, bits(-0.1f), bits(-0.1f)}};
  for (const Case& each : cases) {
    TestImage image(each.format, ImageShape::plane, {8, 4, 1, 1});
    const TestObject object({image.image, {}, true});
    std::vector<WarpValues> sources(6);
    for (unsigned lane = 0; lane < 32; ++lane) {
      sources[0][lane] = lane % 8;
      sources[1][lane] = lane / 8;
      for (unsigned i = 2; i < 6; ++i) sources[i][lane] = each.value;
    }
    run_on_object({"sust.p.2d.v4.b32.trap [%h, {%s0, %s1}], {%s2, %s3, %s4, %s5}", 0, 32, 6}, object.handle(),
                  sources);
    for (unsigned lane = 0; lane < 32; ++lane) {
      for (unsigned channel = 0; channel < each.format.channels; ++channel)
        EXPECT_EQ(image.raw(0, 0, lane / 8, lane % 8, channel), each.expected);
    }
  }
}

TEST(SurfaceForms, Reductions) {
  struct Case {
    std::string form;
    Component component;
    unsigned channels;
    std::uint64_t expected;  ///< from 10 and -3, in lane order
    unsigned bits;
  };
  const std::uint64_t minus_three = static_cast<std::uint64_t>(-3);
  const Case cases[] = {
      {"b.add.1d.u32", Component::u32, 1, static_cast<std::uint32_t>(10 - 3 * 32), 32},
      {"b.add.1d.s32", Component::s32, 1, static_cast<std::uint32_t>(10 - 3 * 32), 32},
      {"b.add.1d.u64", Component::u32, 2, static_cast<std::uint64_t>(10 - 3 * 32), 64},
      {"b.min.1d.u32", Component::u32, 1, 10, 32},
      {"b.min.1d.s32", Component::s32, 1, static_cast<std::uint32_t>(-3), 32},
      {"b.max.1d.u32", Component::u32, 1, static_cast<std::uint32_t>(-3), 32},
      {"b.max.1d.s32", Component::s32, 1, 10, 32},
      {"b.min.1d.u64", Component::u32, 2, 10, 64},
      {"b.min.1d.s64", Component::s32, 2, minus_three, 64},
      {"b.max.1d.u64", Component::u32, 2, minus_three, 64},
      {"b.max.1d.s64", Component::s32, 2, 10, 64},
      {"b.and.1d.b32", Component::u32, 1, 10 & static_cast<std::uint32_t>(-3), 32},
      {"b.or.1d.b32", Component::u32, 1, 10 | static_cast<std::uint32_t>(-3), 32},
      {"p.add.1d.b32", Component::u32, 1, static_cast<std::uint32_t>(10 - 3 * 32), 32},
      {"p.min.1d.b32", Component::s32, 1, static_cast<std::uint32_t>(-3), 32},
      {"p.min.1d.b32", Component::u32, 1, 10, 32},
      {"p.min.1d.b64", Component::s32, 2, minus_three, 64},
      {"p.max.1d.b64", Component::u32, 2, minus_three, 64},
  };
  for (const Case& each : cases) {
    TestImage image({each.component, each.channels}, ImageShape::line, {4, 1, 1, 1});
    const std::uint64_t ten = 10;
    std::memcpy(image.at(0, 0, 0, 2), &ten, each.bits / 8);
    const TestObject object({image.image, {}, true});
    std::vector<WarpValues> sources(2);
    sources[0].fill(each.form[0] == 'b' ? 2 * each.bits / 8 : 2);
    sources[1].fill(minus_three);
    const std::string bits = std::to_string(each.bits);
    run_on_object({".reg .b32 %x; .reg .b" + bits + " %v; cvt.u32.u64 %x, %s0; " +
                       (each.bits == 64 ? "mov.b64 %v, %s1; " : "cvt.u32.u64 %v, %s1; ") + "sured." +
                       each.form + ".trap [%h, {%x}], %v",
                   0, 32, 2, 64},
                  object.handle(), sources);
    std::uint64_t got = 0;
    std::memcpy(&got, image.at(0, 0, 0, 2), each.bits / 8);
    EXPECT_EQ(got, each.expected) << each.form;
  }
}

// ---------------------------------------------------------------- queries

TEST(ObjectQueries, DescribeTheObject) {
  TestImage image({Component::s16, 2}, ImageShape::plane, {8, 4, 3, 2});
  image.image.is_layered = true;
  Sampler sampler;
  sampler.is_normalized = true;
  const TestObject texture({image.image, sampler, false});
  const TestObject surface({image.image, {}, true});
  const std::pair<const char*, std::uint64_t> answers[] = {{"txq.width.b32", 8},
                                                           {"txq.height.b32", 4},
                                                           {"txq.depth.b32", 0},
                                                           {"txq.array_size.b32", 3},
                                                           {"txq.num_mipmap_levels.b32", 2},
                                                           {"txq.normalized_coords.b32", 1},
                                                           {"txq.channel_data_type.b32", 0x10d8},
                                                           {"txq.channel_order.b32", 0x10b2},
                                                           {"suq.width.b32", 8},
                                                           {"suq.height.b32", 4},
                                                           {"suq.array_size.b32", 3},
                                                           {"suq.channel_data_type.b32", 0x10d8},
                                                           {"suq.memory_layout.b32", 0}};
  for (const auto& [query, answer] : answers) {
    const std::string text = query;
    const auto out = run_on_object({text + " %d0, [%h]", 1, 32, 0},
                                   text[0] == 't' ? texture.handle() : surface.handle(), {});
    EXPECT_EQ(out[0][31], answer) << query;
  }
  WarpValues levels;
  for (unsigned lane = 0; lane < 32; ++lane) levels[lane] = lane % 2;
  const auto widths =
      run_on_object({"txq.level.width.b32 %d0, [%h], %s0", 1, 32, 1}, texture.handle(), {levels});
  EXPECT_EQ(widths[0][0], 8u);
  EXPECT_EQ(widths[0][1], 4u);
  const std::pair<const char*, std::uint64_t> types[] = {
      {"istypep.texref %p, %h", 1}, {"istypep.surfref %p, %h", 0}, {"istypep.samplerref %p, %h", 0}};
  for (const auto& [text, answer] : types)
    EXPECT_EQ(run_on_object({text, 0, 32, 0, 32, true}, texture.handle(), {})[0][0], answer) << text;
  EXPECT_EQ(run_on_object({"istypep.surfref %p, %h", 0, 32, 0, 32, true}, surface.handle(), {})[0][0], 1u);
  EXPECT_EQ(run_on_object({"istypep.texref %p, %h", 0, 32, 0, 32, true}, 0, {})[0][0], 0u);
}

// ---------------------------------------------------------------- rejected forms and faults

TEST(ObjectRefusals, NameTheReason) {
  const std::pair<const char*, const char*> refused[] = {
      {"tex.2dms.v4.f32.s32 {%d0, %d1, %d2, %d3}, [%h, {%s0, %s1, %s2, %s3}]", "'.2dms'"},
      {"tex.a2dms.v4.f32.s32 {%d0, %d1, %d2, %d3}, [%h, {%s0, %s1, %s2, %s3}]", "'.a2dms'"},
      {"tex.2d.v4.f32.f32 {%d0, %d1, %d2, %d3}, [%h, {%s0, %s1}], %s2", "depth comparisons"},
      {"tex.cube.v4.f32.f32 {%d0, %d1, %d2, %d3}, [%h, {%s0, %s1, %s2, %s3}], %s0", "depth comparisons"},
      {"tld4.r.2d.v4.f32.f32 {%d0, %d1, %d2, %d3}, [%h, {%s0, %s1}], {%s2, %s3}, %s0", "depth comparisons"},
      {"tex.2d.v4.f32.f32 {%d0, %d1, %d2, %d3}, [%h, %h, {%s0, %s1}]", ".texmode_independent"},
      {"txq.filter_mode.b32 %d0, [%h]", "'.filter_mode'"},
      {"tex.2d.v4.f64.f32 {%d0, %d1, %d2, %d3}, [%h, {%s0, %s1}]", "'.f64'"},
      {"suld.b.cube.b32.trap {%d0}, [%h, {%s0, %s1, %s2, %s3}]", "'.cube'"},
      {"suld.b.1d.v4.b64.trap {%d0, %d1, %d2, %d3}, [%h, {%s0}]", "more than 128 bits"},
      {"sured.b.and.1d.u32.trap [%h, {%s0}], %s1", "the operation does not exist for '.u32'"},
      {"tld4.r.3d.v4.f32.f32 {%d0, %d1, %d2, %d3}, [%h, {%s0, %s1, %s2, %s3}]", "'.3d'"},
  };
  for (const auto& [text, reason] : refused) {
    std::string error;
    run_on_object({text, 4, 32, 4}, 1, std::vector<WarpValues>(4), &error);
    EXPECT_THAT(error, HasSubstr("is not supported by the cpu device")) << text;
    EXPECT_THAT(error, HasSubstr(reason)) << text;
  }
}

TEST(ObjectFaults, NameTheError) {
  TestImage image({Component::u32, 1}, ImageShape::plane, {8, 4, 1, 1});
  const TestObject texture({image.image, {}, false});
  const TestObject surface({image.image, {}, true});
  const auto error_of = [](const char* text, std::uint64_t handle, std::uint64_t x) {
    std::string error;
    std::vector<WarpValues> sources(2);
    sources[0].fill(x);
    run_on_object({text, 4, 32, 2}, handle, sources, &error);
    return error;
  };
  const char* const fetch = "tex.2d.v4.u32.s32 {%d0, %d1, %d2, %d3}, [%h, {%s0, %s1}]";
  const char* const load = "suld.b.2d.b32.trap {%d0}, [%h, {%s0, %s1}]";
  EXPECT_THAT(error_of(fetch, 0, 0), HasSubstr("illegal address: a texture read at 0x0 by thread (0, 0, 0)"));
  EXPECT_THAT(error_of(fetch, 0, 0), HasSubstr("the value is not the handle of a texture object"));
  EXPECT_THAT(error_of(fetch, surface.handle(), 0), HasSubstr("not the handle of a texture object"));
  EXPECT_THAT(error_of(load, texture.handle(), 0), HasSubstr("not the handle of a surface object"));
  EXPECT_THAT(error_of(load, surface.handle(), 32), HasSubstr("the coordinates are outside the surface"));
  EXPECT_THAT(error_of(load, surface.handle(), 2), HasSubstr("misaligned address: a surface load"));
  EXPECT_EQ(error_of(load, surface.handle(), 28), "");
}

TEST(ImageObjects, HandlesAreNotReusedSoon) {
  TestImage image({Component::u32, 1}, ImageShape::line, {4, 1, 1, 1});
  ImageObjects objects;
  const std::uint64_t first = objects.add({image.image, {}, false});
  EXPECT_NE(objects.find(first), nullptr);
  EXPECT_TRUE(objects.remove(first));
  EXPECT_FALSE(objects.remove(first));
  for (int i = 0; i < 3000; ++i) {
    const std::uint64_t next = objects.add({image.image, {}, false});
    EXPECT_NE(next, first);
    EXPECT_EQ(objects.find(first), nullptr);
    EXPECT_TRUE(objects.remove(next));
  }
  EXPECT_EQ(objects.find(0), nullptr);
  EXPECT_EQ(objects.find(~std::uint64_t{0}), nullptr);
}

}  // namespace
}  // namespace lynxpp::device::cpu::test
