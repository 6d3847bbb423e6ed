// One test per form of tex and tld4, generated from tables, compared with an independent sampler that uses
// integers and coordinates that are never reduced.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <functional>
#include <optional>

#include "tests/device_simt/textures/object_fixture.h"

namespace lynxpp::device::cpu::test {
namespace {

std::uint32_t bits_of_float(float value) { return std::bit_cast<std::uint32_t>(value); }

// ---------------------------------------------------------------- reference sampler

/// Converts to units of 1/256 of an element, rounding half up.
std::int64_t in_steps(double place) { return static_cast<std::int64_t>(std::floor(place * 256 + 0.5)); }

std::optional<std::int64_t> element_inside(AddressMode mode, std::int64_t at, std::int64_t size) {
  while (at < 0 || at >= size) {
    if (mode == AddressMode::border) return std::nullopt;
    if (mode == AddressMode::clamp) return at < 0 ? 0 : size - 1;
    if (mode == AddressMode::wrap) at += at < 0 ? size : -size;
    if (mode == AddressMode::mirror) at = at < 0 ? -1 - at : 2 * size - 1 - at;
  }
  return at;
}

struct TexturePlace {
  unsigned level = 0;
  std::int64_t slice = 0;  ///< added to the third coordinate's slice
  std::vector<double> at;  ///< in elements, by dimension
};

/// Returns the expected value from one level.
double expected_number(const TestImage& image, const Sampler& sampler, const TexturePlace& place,
                       unsigned channel) {
  const ImageLevel& level = image.image.levels[place.level];
  const std::int64_t sizes[3] = {level.width, level.height, level.slices};
  const auto read = [&](const std::int64_t* element) -> double {
    std::int64_t at[3] = {0, 0, 0};
    for (std::size_t i = 0; i < place.at.size(); ++i) {
      AddressMode mode = sampler.modes[i];
      if (!sampler.is_normalized && mode != AddressMode::border) mode = AddressMode::clamp;
      const auto found = element_inside(mode, element[i], sizes[i]);
      if (!found) return std::bit_cast<float>(sampler.border[channel]);
      at[i] = *found;
    }
    return std::bit_cast<float>(image.raw(place.level, place.slice + at[2], at[1], at[0], channel));
  };
  std::int64_t element[3] = {0, 0, 0};
  if (!sampler.is_linear) {
    for (std::size_t i = 0; i < place.at.size(); ++i)
      element[i] = static_cast<std::int64_t>(std::floor(place.at[i]));
    return read(element);
  }
  double sum = 0;
  for (unsigned corner = 0; corner < 1u << place.at.size(); ++corner) {
    double weight = 1;
    for (std::size_t i = 0; i < place.at.size(); ++i) {
      const std::int64_t steps = in_steps(place.at[i] - 0.5);
      const std::int64_t first = steps >> 8;
      const std::int64_t second = corner >> i & 1;
      element[i] = first + second;
      weight *= static_cast<double>(second != 0 ? steps - first * 256 : 256 - (steps - first * 256)) / 256;
    }
    sum += weight * read(element);
  }
  return sum;
}

// ---------------------------------------------------------------- texture_geometries

struct GeometryCase {
  std::string name;
  unsigned dimensions;
  bool is_layered;
  bool is_cube;
  ImageShape shape;
  ImageSize size;
  unsigned operands() const {
    const unsigned used = (is_layered ? 1 : 0) + (is_cube ? 3 : dimensions);
    return used == 3 ? 4 : used;
  }
};

const std::vector<GeometryCase>& texture_geometries() {
  static const std::vector<GeometryCase> all = {
      {"1d", 1, false, false, ImageShape::line, {16, 1, 1, 4}},
      {"2d", 2, false, false, ImageShape::plane, {16, 8, 1, 4}},
      {"3d", 3, false, false, ImageShape::volume, {16, 8, 4, 4}},
      {"a1d", 1, true, false, ImageShape::line, {16, 1, 3, 4}},
      {"a2d", 2, true, false, ImageShape::plane, {16, 8, 3, 4}},
      {"cube", 2, false, true, ImageShape::plane, {16, 16, 6, 4}},
      {"acube", 2, true, true, ImageShape::plane, {16, 16, 12, 4}},
  };
  return all;
}

/// The guide's table of cube faces, inverted: from a face to a direction; `scale` is the vector's length.
std::array<float, 3> direction_on_cube(unsigned face, float s, float t, float scale) {
  const std::array<std::array<float, 3>, 6> table = {
      {{1, -t, -s}, {-1, -t, s}, {s, 1, t}, {s, -1, -t}, {s, -t, 1}, {-s, -t, -1}}};
  std::array<float, 3> vector = table[face];
  for (float& each : vector) each *= scale;
  return vector;
}

/// Coordinates of a warp: sources for the instruction, and the position of each lane on the first level.
struct Lookups {
  std::vector<WarpValues> sources;
  std::array<std::vector<double>, 32> shares;  ///< normalized positions
  std::array<std::int64_t, 32> slices = {};
};

Lookups make_lookups(const GeometryCase& geometry, bool is_normalized) {
  Lookups made;
  made.sources.assign(geometry.operands(), WarpValues{});
  const std::uint32_t layers = geometry.size.slices / (geometry.is_cube ? 6 : 1);
  const std::uint32_t sizes[3] = {geometry.size.width, geometry.size.height, geometry.size.slices};
  std::uint32_t state = 5;
  for (unsigned lane = 0; lane < 32; ++lane) {
    const auto next = [&state] { return (state = state * 1664525u + 1013904223u) >> 12; };
    unsigned at = 0;
    if (geometry.is_layered) {
      const std::uint32_t layer = lane % (layers + 1);  // one too many, which selects the last layer
      made.sources[at++][lane] = layer;
      made.slices[lane] = std::int64_t{std::min(layer, layers - 1)} * (geometry.is_cube ? 6 : 1);
    }
    if (geometry.is_cube) {
      // From -31/32 to 31/32: inside a face.
      const unsigned face = lane % 6;
      const float s = (static_cast<float>(next() % 63) - 31) / 32;
      const float t = (static_cast<float>(next() % 63) - 31) / 32;
      const auto vector = direction_on_cube(face, s, t, lane % 2 == 0 ? 1.0f : 4.0f);
      for (unsigned i = 0; i < 3; ++i) made.sources[at++][lane] = bits_of_float(vector[i]);
      made.shares[lane] = {(s + 1) / 2.0, (t + 1) / 2.0};
      made.slices[lane] += face;
      continue;
    }
    for (unsigned i = 0; i < geometry.dimensions; ++i) {
      // From -2 to 2 in steps of 1/2048: all sides of the texture, and positions that need rounding.
      const float share = (static_cast<float>(next() % 8192) - 4096) / 2048;
      made.shares[lane].push_back(share);
      made.sources[at++][lane] = bits_of_float(is_normalized ? share : share * static_cast<float>(sizes[i]));
    }
  }
  return made;
}

TexturePlace place_of(const TestImage& image, const Lookups& lookups, unsigned lane, unsigned level) {
  const ImageLevel& at = image.image.levels[level];
  const std::uint32_t sizes[3] = {at.width, at.height, at.slices};
  TexturePlace place{level, lookups.slices[lane], {}};
  for (std::size_t i = 0; i < lookups.shares[lane].size(); ++i)
    place.at.push_back(lookups.shares[lane][i] * sizes[i]);
  return place;
}

/// Creates an image of floats with a given geometry.
struct TextureUnderTest {
  TextureUnderTest(const GeometryCase& geometry, const Sampler& with, unsigned channels = 4)
      : image({Component::f32, channels}, geometry.shape, geometry.size), sampler(with) {
    image.image.is_layered = geometry.is_layered;
    image.image.is_cube = geometry.is_cube;
  }
  TestImage image;
  Sampler sampler;
};

Sampler sampler_of(AddressMode mode, bool is_linear, bool is_normalized) {
  Sampler sampler;
  sampler.modes = {mode, mode, mode};
  sampler.is_linear = is_linear;
  sampler.is_normalized = is_normalized;
  sampler.border = {bits_of_float(100), bits_of_float(200), bits_of_float(-3), bits_of_float(0.5f)};
  sampler.greatest_level = 3;
  return sampler;
}

const char* name_of(AddressMode mode) {
  switch (mode) {
    case AddressMode::wrap: return "wrap";
    case AddressMode::clamp: return "clamp";
    case AddressMode::mirror: return "mirror";
    case AddressMode::border: return "border";
  }
  return "";
}

// ---------------------------------------------------------------- tex from the first level

struct FetchCase {
  GeometryCase geometry;
  AddressMode mode;
  bool is_linear;
  bool is_normalized;
};

std::vector<FetchCase> fetch_cases() {
  std::vector<FetchCase> cases;
  for (const GeometryCase& geometry : texture_geometries()) {
    for (const AddressMode mode :
         {AddressMode::wrap, AddressMode::clamp, AddressMode::mirror, AddressMode::border}) {
      for (const bool is_linear : {false, true}) {
        for (const bool is_normalized : {false, true})
          cases.push_back({geometry, mode, is_linear, is_normalized});
      }
    }
  }
  return cases;
}

class TextureFetch : public testing::TestWithParam<FetchCase> {};

TEST_P(TextureFetch, MatchesTheReferenceSampler) {
  const auto& [geometry, mode, is_linear, is_normalized] = GetParam();
  TextureUnderTest texture(geometry, sampler_of(mode, is_linear, is_normalized));
  const TestObject object({texture.image.image, texture.sampler, false});
  const Lookups lookups = make_lookups(geometry, is_normalized);
  Sampler expected_sampler = texture.sampler;
  expected_sampler.is_normalized |= geometry.is_cube;
  for (const char* const word : {"", ".base"}) {
    const ObjectInstruction instruction{"tex" + std::string(word) + "." + geometry.name + ".v4.f32.f32 " +
                                            registers("%d", 0, 4) + "|%p, [%h, " +
                                            registers("%s", 0, geometry.operands()) + "]",
                                        4,
                                        32,
                                        geometry.operands(),
                                        32,
                                        true};
    const auto out = run_on_object(instruction, object.handle(), lookups.sources);
    for (unsigned lane = 0; lane < 32; ++lane) {
      const TexturePlace place = place_of(texture.image, lookups, lane, 0);
      for (unsigned channel = 0; channel < 4; ++channel) {
        const auto expected =
            static_cast<float>(expected_number(texture.image, expected_sampler, place, channel));
        EXPECT_EQ(std::bit_cast<float>(static_cast<std::uint32_t>(out[channel][lane])), expected)
            << instruction.text << " lane " << lane << " channel " << channel;
      }
      EXPECT_EQ(out[4][lane], 1u);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, TextureFetch, testing::ValuesIn(fetch_cases()), [](const auto& each) {
  const FetchCase& form = each.param;
  return "g" + form.geometry.name + "_" + name_of(form.mode) + (form.is_linear ? "_linear" : "_point") +
         (form.is_normalized ? "_normalized" : "_elements");
});

// ---------------------------------------------------------------- levels

class TextureLevels : public testing::TestWithParam<GeometryCase> {};

/// The value of one level, or an interpolation between two.
double mixed(const TextureUnderTest& texture, const Lookups& lookups, unsigned lane, unsigned channel,
             double level) {
  const auto number = [&](unsigned at) {
    return expected_number(texture.image, texture.sampler, place_of(texture.image, lookups, lane, at),
                           channel);
  };
  if (!texture.sampler.levels_are_linear) return number(static_cast<unsigned>(std::floor(level + 0.5)));
  const std::int64_t steps = in_steps(level);
  const auto first = static_cast<unsigned>(steps >> 8);
  const double weight = static_cast<double>(steps & 255) / 256;
  return weight == 0 ? number(first) : (1 - weight) * number(first) + weight * number(first + 1);
}

void check_levels(const TextureUnderTest& texture, const std::string& text, const Lookups& lookups,
                  const std::vector<WarpValues>& sources, const std::function<double(unsigned)>& level) {
  const TestObject object({texture.image.image, texture.sampler, false});
  const ObjectInstruction instruction{text, 4, 32, static_cast<unsigned>(sources.size())};
  const auto out = run_on_object(instruction, object.handle(), sources);
  for (unsigned lane = 0; lane < 32; ++lane) {
    for (unsigned channel = 0; channel < 4; ++channel) {
      const auto expected = static_cast<float>(mixed(texture, lookups, lane, channel, level(lane)));
      EXPECT_EQ(std::bit_cast<float>(static_cast<std::uint32_t>(out[channel][lane])), expected)
          << text << " lane " << lane << " channel " << channel;
    }
  }
}

TEST_P(TextureLevels, AreSelectedByNumber) {
  const GeometryCase& geometry = GetParam();
  for (const bool mixes : {false, true}) {
    for (const bool is_linear : {false, true}) {
      TextureUnderTest texture(geometry, sampler_of(AddressMode::wrap, is_linear, true));
      texture.sampler.levels_are_linear = mixes;
      texture.sampler.level_bias = 0.25f;
      texture.sampler.least_level = 0.5f;
      texture.sampler.greatest_level = 2.75f;
      Lookups lookups = make_lookups(geometry, true);
      WarpValues levels;
      const auto number = [](unsigned lane) { return static_cast<float>(lane) / 8 - 0.5f; };
      for (unsigned lane = 0; lane < 32; ++lane) levels[lane] = bits_of_float(number(lane));
      std::vector<WarpValues> sources = lookups.sources;
      sources.push_back(levels);
      check_levels(texture,
                   "tex.level." + geometry.name + ".v4.f32.f32 " + registers("%d", 0, 4) + ", [%h, " +
                       registers("%s", 0, geometry.operands()) + "], %s" +
                       std::to_string(geometry.operands()),
                   lookups, sources,
                   [&](unsigned lane) { return std::min(std::max(number(lane) + 0.25, 0.5), 2.75); });
    }
  }
}

/// Horizontal gradients of 2, 4 or 8 elements of the first level: levels 1, 2 and 3.
TEST_P(TextureLevels, AreSelectedByGradients) {
  const GeometryCase& geometry = GetParam();
  TextureUnderTest texture(geometry, sampler_of(AddressMode::mirror, true, true));
  const Lookups lookups = make_lookups(geometry, true);
  const unsigned width = geometry.is_cube || geometry.dimensions == 3 ? 4 : geometry.dimensions;
  std::vector<WarpValues> sources = lookups.sources;
  sources.resize(sources.size() + 2 * width, WarpValues{});
  const auto level = [](unsigned lane) { return 1 + lane % 3; };
  for (unsigned lane = 0; lane < 32; ++lane) {
    const float share = static_cast<float>(1u << level(lane)) / static_cast<float>(geometry.size.width);
    const unsigned first = geometry.operands() + (lane % 2 == 0 ? 0 : width);  // horizontal or vertical
    if (!geometry.is_cube) {
      sources[first][lane] = bits_of_float(share);
      continue;
    }
    // Along s on the face: twice the share of its width, scaled by the vector's length.
    const unsigned offset = geometry.is_layered ? 1 : 0;
    const auto from = [&](unsigned i) {
      return std::bit_cast<float>(static_cast<std::uint32_t>(lookups.sources[offset + i][lane]));
    };
    const float scale = lane % 2 == 0 ? 1.0f : 4.0f;
    const auto there = direction_on_cube(lane % 6, 1, 0, 2 * share * scale);
    const auto here = direction_on_cube(lane % 6, 0, 0, 2 * share * scale);
    for (unsigned i = 0; i < 3; ++i) sources[first + i][lane] = bits_of_float(there[i] - here[i]);
    EXPECT_NE(from(0) * from(0) + from(1) * from(1) + from(2) * from(2), 0);
  }
  check_levels(texture,
               "tex.grad." + geometry.name + ".v4.f32.f32 " + registers("%d", 0, 4) + ", [%h, " +
                   registers("%s", 0, geometry.operands()) + "], " +
                   registers("%s", geometry.operands(), width) + ", " +
                   registers("%s", geometry.operands() + width, width),
               lookups, sources, [&](unsigned lane) { return static_cast<double>(level(lane)); });
}

INSTANTIATE_TEST_SUITE_P(All, TextureLevels, testing::ValuesIn(texture_geometries()),
                         [](const auto& each) { return "g" + each.param.name; });

// ---------------------------------------------------------------- offsets, integer coordinates, gather

TEST(TextureForms, OffsetsAreInElements) {
  for (const GeometryCase& geometry : texture_geometries()) {
    if (geometry.is_cube) continue;
    TextureUnderTest texture(geometry, sampler_of(AddressMode::border, true, false));
    const TestObject object({texture.image.image, texture.sampler, false});
    const Lookups lookups = make_lookups(geometry, false);
    const unsigned width = geometry.dimensions == 3 ? 4 : geometry.dimensions;
    std::vector<WarpValues> sources = lookups.sources;
    for (unsigned i = 0; i < width; ++i) {
      WarpValues offsets;
      for (unsigned lane = 0; lane < 32; ++lane)
        offsets[lane] = static_cast<std::uint32_t>(static_cast<int>((lane + i) % 16) - 8);
      sources.push_back(offsets);
    }
    const ObjectInstruction instruction{"tex." + geometry.name + ".v4.f32.f32 " + registers("%d", 0, 4) +
                                            ", [%h, " + registers("%s", 0, geometry.operands()) + "], " +
                                            registers("%s", geometry.operands(), width),
                                        4, 32, static_cast<unsigned>(sources.size())};
    const auto out = run_on_object(instruction, object.handle(), sources);
    for (unsigned lane = 0; lane < 32; ++lane) {
      TexturePlace place = place_of(texture.image, lookups, lane, 0);
      for (unsigned i = 0; i < geometry.dimensions; ++i) place.at[i] += static_cast<int>((lane + i) % 16) - 8;
      EXPECT_EQ(std::bit_cast<float>(static_cast<std::uint32_t>(out[1][lane])),
                static_cast<float>(expected_number(texture.image, texture.sampler, place, 1)))
          << instruction.text << " lane " << lane;
    }
  }
}

TEST(TextureForms, IntegerCoordinatesAreElementsAndNotFiltered) {
  for (const GeometryCase& geometry : texture_geometries()) {
    if (geometry.is_cube) continue;
    TextureUnderTest texture(geometry, sampler_of(AddressMode::clamp, true, true));
    const TestObject object({texture.image.image, texture.sampler, false});
    std::vector<WarpValues> sources(geometry.operands(), WarpValues{});
    const unsigned first = geometry.is_layered ? 1 : 0;
    const auto at = [](unsigned lane, unsigned i) { return static_cast<int>(lane * 3 + i * 5) % 40 - 12; };
    for (unsigned lane = 0; lane < 32; ++lane) {
      for (unsigned i = 0; i < geometry.dimensions; ++i)
        sources[first + i][lane] = static_cast<std::uint32_t>(at(lane, i));
    }
    const ObjectInstruction instruction{"tex." + geometry.name + ".v4.u32.s32 " + registers("%d", 0, 4) +
                                            ", [%h, " + registers("%s", 0, geometry.operands()) + "]",
                                        4, 32, geometry.operands()};
    const auto out = run_on_object(instruction, object.handle(), sources);
    const std::int64_t sizes[3] = {geometry.size.width, geometry.size.height, geometry.size.slices};
    for (unsigned lane = 0; lane < 32; ++lane) {
      std::int64_t element[3] = {0, 0, 0};
      for (unsigned i = 0; i < geometry.dimensions; ++i)
        element[i] = *element_inside(AddressMode::clamp, at(lane, i), sizes[i]);
      EXPECT_EQ(out[2][lane], texture.image.raw(0, element[2], element[1], element[0], 2))
          << instruction.text;
    }
  }
}

TEST(TextureForms, LinearMemoryIsZeroOutside) {
  TestImage image({Component::f32, 4}, ImageShape::linear, {10, 1, 1, 1});
  const TestObject object({image.image, sampler_of(AddressMode::border, false, false), false});
  WarpValues index;
  for (unsigned lane = 0; lane < 32; ++lane)
    index[lane] = static_cast<std::uint32_t>(static_cast<int>(lane) - 8);
  const auto out = run_on_object({"tex.1d.v4.f32.s32 {%d0, %d1, %d2, %d3}, [%h, {%s0}]", 4, 32, 1},
                                 object.handle(), {index});
  for (unsigned lane = 0; lane < 32; ++lane) {
    const int at = static_cast<int>(lane) - 8;
    for (unsigned channel = 0; channel < 4; ++channel) {
      EXPECT_EQ(out[channel][lane], at >= 0 && at < 10 ? image.raw(0, 0, 0, at, channel) : 0u) << at;
    }
  }
}

TEST(TextureForms, GatherReturnsFourCornersOfOneChannel) {
  for (const GeometryCase& geometry : texture_geometries()) {
    if (geometry.dimensions != 2) continue;
    for (unsigned channel = 0; channel < 4; ++channel) {
      TextureUnderTest texture(geometry, sampler_of(AddressMode::wrap, false, true));
      if (geometry.is_cube) texture.sampler.modes.fill(AddressMode::clamp);
      const TestObject object({texture.image.image, texture.sampler, false});
      const Lookups lookups = make_lookups(geometry, true);
      const ObjectInstruction instruction{"tld4." + std::string(1, "rgba"[channel]) + "." + geometry.name +
                                              ".v4.f32.f32 " + registers("%d", 0, 4) + ", [%h, " +
                                              registers("%s", 0, geometry.operands()) + "]",
                                          4, 32, geometry.operands()};
      const auto out = run_on_object(instruction, object.handle(), lookups.sources);
      for (unsigned lane = 0; lane < 32; ++lane) {
        TexturePlace place = place_of(texture.image, lookups, lane, 0);
        for (double& each : place.at) each = std::floor(static_cast<double>(in_steps(each - 0.5)) / 256);
        const int corners[4][2] = {{0, 1}, {1, 1}, {1, 0}, {0, 0}};
        for (unsigned i = 0; i < 4; ++i) {
          TexturePlace corner = place;
          corner.at[0] += corners[i][0];
          corner.at[1] += corners[i][1];
          EXPECT_EQ(std::bit_cast<float>(static_cast<std::uint32_t>(out[i][lane])),
                    static_cast<float>(expected_number(texture.image, texture.sampler, corner, channel)))
              << instruction.text << " lane " << lane << " corner " << i;
        }
      }
    }
  }
}

/// Along an edge, halfway between two faces: the mean of the two nearest elements of each.
TEST(TextureForms, SeamlessCubesFilterAcrossEdges) {
  const GeometryCase& geometry = texture_geometries()[5];
  TextureUnderTest texture(geometry, sampler_of(AddressMode::wrap, true, true));
  texture.sampler.is_seamless = true;
  const TestObject object({texture.image.image, texture.sampler, false});
  // The edge between +z at s = 1 and +x at s = -1, in the middle of row 5: on both faces t is the same.
  const float t = (2 * 5 + 1) / 16.0f - 1;
  std::vector<WarpValues> sources(4, WarpValues{});
  const auto on_edge = direction_on_cube(4, 1, t, 1);
  for (unsigned i = 0; i < 3; ++i) sources[i].fill(bits_of_float(on_edge[i]));
  const auto out =
      run_on_object({"tex.cube.v4.f32.f32 {%d0, %d1, %d2, %d3}, [%h, {%s0, %s1, %s2, %s3}]", 4, 32, 4},
                    object.handle(), sources);
  const auto number = [&](std::int64_t face, std::int64_t x) {
    return std::bit_cast<float>(texture.image.raw(0, face, 5, x, 3));
  };
  EXPECT_EQ(std::bit_cast<float>(static_cast<std::uint32_t>(out[3][0])), (number(4, 15) + number(0, 0)) / 2);
}

// ---------------------------------------------------------------- conversion of elements

struct ElementCase {
  std::string name;
  TexelFormat format;
  bool normalizes;
  std::function<std::uint32_t(std::uint32_t)> expected;  ///< from a component as it is stored in memory
};

std::vector<ElementCase> element_cases() {
  const auto as_is = [](std::uint32_t raw) { return raw; };
  const auto half = [](std::uint32_t raw) {
    return bits_of_float(
        static_cast<float>(std::ldexp(1024 + raw % 1024, static_cast<int>(raw / 1024) - 25)));
  };
  const auto number = [](auto highest) {
    return [highest](std::uint32_t raw) {
      const double share = static_cast<double>(static_cast<decltype(highest)>(raw)) / highest;
      return bits_of_float(static_cast<float>(share < -1 ? -1 : share));
    };
  };
  return {
      {"u8", {Component::u8, 4}, false, as_is},
      {"s8",
       {Component::s8, 4},
       false,
       [](std::uint32_t raw) { return static_cast<std::uint32_t>(static_cast<std::int8_t>(raw)); }},
      {"u16", {Component::u16, 2}, false, as_is},
      {"s16",
       {Component::s16, 1},
       false,
       [](std::uint32_t raw) { return static_cast<std::uint32_t>(static_cast<std::int16_t>(raw)); }},
      {"u32", {Component::u32, 4}, false, as_is},
      {"s32", {Component::s32, 2}, false, as_is},
      {"s32_not_promoted", {Component::s32, 2}, true, as_is},
      {"f32", {Component::f32, 1}, false, as_is},
      {"f16", {Component::f16, 4}, false, [half](std::uint32_t raw) { return raw == 0 ? 0 : half(raw); }},
      {"u8_fractions", {Component::u8, 4}, true, number(std::uint8_t{255})},
      {"s8_fractions", {Component::s8, 2}, true, number(std::int8_t{127})},
      {"u16_fractions", {Component::u16, 1}, true, number(std::uint16_t{65535})},
      {"s16_fractions", {Component::s16, 4}, true, number(std::int16_t{32767})},
  };
}

class TextureElements : public testing::TestWithParam<ElementCase> {};

TEST_P(TextureElements, AreConvertedByTheirFormat) {
  const ElementCase& each = GetParam();
  TestImage image(each.format, ImageShape::plane, {8, 4, 1, 1});
  Sampler sampler = sampler_of(AddressMode::clamp, false, false);
  sampler.reading.normalizes = each.normalizes;
  const TestObject object({image.image, sampler, false});
  std::vector<WarpValues> sources(2);
  for (unsigned lane = 0; lane < 32; ++lane) {
    sources[0][lane] = lane % 8;
    sources[1][lane] = lane / 8;
  }
  const bool yields_floats = each.format.is_float() || (each.normalizes && each.format.component_bytes() < 4);
  for (const char* const type : {"u32", "s32", "f32"}) {
    const auto out =
        run_on_object({"tex.2d.v4." + std::string(type) + ".s32 {%d0, %d1, %d2, %d3}, [%h, {%s0, %s1}]"},
                      object.handle(), sources);
    for (unsigned lane = 0; lane < 32; ++lane) {
      for (unsigned channel = 0; channel < 4; ++channel) {
        std::uint32_t expected = channel < 3 ? 0 : yields_floats ? bits_of_float(1) : 1;
        if (channel < each.format.channels)
          expected = each.expected(image.raw(0, 0, lane / 8, lane % 8, channel));
        EXPECT_EQ(out[channel][lane], expected) << type << " channel " << channel;
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, TextureElements, testing::ValuesIn(element_cases()),
                         [](const auto& each) { return each.param.name; });

TEST(TextureForms, SrgbBecomesLinearLightExceptAlpha) {
  TestImage image({Component::u8, 4}, ImageShape::line, {3, 1, 1, 1});
  const std::uint8_t bytes[12] = {0, 10, 11, 128, 188, 255, 254, 0, 1, 2, 3, 255};
  std::memcpy(image.at(0, 0, 0, 0), bytes, sizeof bytes);
  Sampler sampler = sampler_of(AddressMode::clamp, false, false);
  sampler.reading = {true, true};
  const TestObject object({image.image, sampler, false});
  WarpValues index{};
  index[1] = 1;
  index[2] = 2;
  const auto out = run_on_object({"tex.1d.v4.f32.s32 {%d0, %d1, %d2, %d3}, [%h, {%s0}]", 4, 32, 1},
                                 object.handle(), {index});
  for (unsigned i = 0; i < 12; ++i) {
    const double share = bytes[i] / 255.0;
    const double light = share <= 0.04045 ? share / 12.92 : std::pow((share + 0.055) / 1.055, 2.4);
    const double expected = i % 4 == 3 ? share : light;
    EXPECT_NEAR(std::bit_cast<float>(static_cast<std::uint32_t>(out[i % 4][i / 4])), expected, 1e-7) << i;
  }
}

TEST(TextureForms, ReturnHalfPrecisionResults) {
  TestImage image({Component::f32, 4}, ImageShape::line, {32, 1, 1, 1});
  const TestObject object({image.image, sampler_of(AddressMode::clamp, false, false), false});
  WarpValues index;
  for (unsigned lane = 0; lane < 32; ++lane) index[lane] = lane;
  const auto single = run_on_object({"tex.1d.v4.f16.s32 {%d0, %d1, %d2, %d3}, [%h, {%s0}]", 4, 16, 1},
                                    object.handle(), {index});
  const auto pairs =
      run_on_object({"tex.1d.v2.f16x2.s32 {%d0, %d1}, [%h, {%s0}]", 2, 32, 1}, object.handle(), {index});
  for (unsigned lane = 0; lane < 32; ++lane) {
    std::uint64_t halves[4];
    for (unsigned channel = 0; channel < 4; ++channel) {
      // Quarters below 64 are exact.
      const std::uint32_t bits = image.raw(0, 0, 0, lane, channel);
      halves[channel] = bits == 0 ? 0 : (bits >> 13) - ((127 - 15) << 10);
      EXPECT_EQ(single[channel][lane], halves[channel]);
    }
    EXPECT_EQ(pairs[0][lane], halves[0] | halves[1] << 16);
    EXPECT_EQ(pairs[1][lane], halves[2] | halves[3] << 16);
  }
}

}  // namespace
}  // namespace lynxpp::device::cpu::test
