// Images of textures and surfaces: elements, levels and samplers. All images are in host memory, stored row
// by row without gaps.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace lynxpp::device::cpu {

/// The type of one channel of an element.
enum class Component : std::uint8_t { u8, u16, u32, s8, s16, s32, f16, f32 };

struct TexelFormat {
  Component component = Component::u8;
  unsigned channels = 1;  ///< 1, 2 or 4

  unsigned component_bytes() const;
  unsigned bytes() const { return component_bytes() * channels; }
  bool is_float() const { return component == Component::f16 || component == Component::f32; }
  bool is_signed() const;
  bool operator==(const TexelFormat&) const = default;
};

/// The bits of red, green, blue and alpha, 32 bits each: an integer or a single-precision float.
using TexelBits = std::array<std::uint32_t, 4>;

/// The conversion of elements to the values that a fetch returns.
struct TexelReading {
  bool normalizes = false;  ///< 8 and 16-bit integers become fractions of their largest value
  bool is_srgb = false;     ///< 8-bit red, green and blue are sRGB; only with `normalizes`

  /// True if the values are single-precision floats rather than integers.
  bool yields_floats(const TexelFormat& format) const;
};

/// Converts an element. Channels that the format lacks are 0, alpha is 1.
TexelBits decode_texel(const std::byte* texel, const TexelFormat& format, const TexelReading& reading);

/// Stores a formatted element: integers are clamped to the channel's range, floats rounded to nearest.
/// Channels from `given` on keep their value.
void encode_texel(std::byte* texel, const TexelFormat& format, const TexelBits& bits, unsigned given);

struct ImageLevel {
  std::uint64_t address = 0;
  std::uint32_t width = 1;  ///< in elements, like the other extents
  std::uint32_t height = 1;
  std::uint32_t slices = 1;  ///< depth of a volume, or layers; a cube has six
  std::uint64_t row_bytes = 0;
  std::uint64_t slice_bytes = 0;
};

enum class ImageShape : std::uint8_t {
  linear,  ///< linear memory of the program: integer coordinates, nothing outside
  line,
  plane,
  volume,
};

struct Image {
  TexelFormat format;
  ImageShape shape = ImageShape::plane;
  bool is_layered = false;
  bool is_cube = false;
  std::vector<ImageLevel> levels;  ///< at least one

  std::uint32_t slices_of_layer() const { return is_cube ? 6 : 1; }
  std::uint32_t layers() const { return levels[0].slices / slices_of_layer(); }
};

enum class AddressMode : std::uint8_t { wrap, clamp, mirror, border };

struct Sampler {
  std::array<AddressMode, 3> modes = {AddressMode::clamp, AddressMode::clamp, AddressMode::clamp};
  bool is_linear = false;      ///< interpolates between elements
  bool is_normalized = false;  ///< coordinates range from 0 to 1
  TexelReading reading;
  TexelBits border = {};
  bool levels_are_linear = false;
  float level_bias = 0;
  float least_level = 0;
  float greatest_level = 0;
  bool is_seamless = false;  ///< linear filters cross the edges of a cube
};

/// The texture or surface that a handle represents.
struct ImageObject {
  Image image;
  Sampler sampler;  ///< textures only
  bool is_surface = false;
};

}  // namespace lynxpp::device::cpu
