// What textures and surfaces are made of: elements, levels, and how a texture is sampled. All images are host
// memory, row by row, without gaps between rows.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace lynxpp::device::cpu {

/// One channel of an element.
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

/// 32 bits for each of red, green, blue and alpha: an integer, or a number of single precision.
using TexelBits = std::array<std::uint32_t, 4>;

/// How elements become what a fetch returns.
struct TexelReading {
  bool normalizes = false;  ///< integers of 8 and 16 bits become fractions of the largest one
  bool is_srgb = false;     ///< red, green and blue of 8 bits are sRGB; only with `normalizes`

  /// Whether what is read are numbers of single precision, and not integers.
  bool gives_floats(const TexelFormat& format) const;
};

/// Channels that the format does not have are 0, alpha is 1.
TexelBits decode_texel(const std::byte* texel, const TexelFormat& format, const TexelReading& reading);

/// A formatted store: integers are clamped to what the channel holds, numbers rounded to the nearest.
/// Channels beyond `given` keep what they were.
void encode_texel(std::byte* texel, const TexelFormat& format, const TexelBits& bits, unsigned given);

struct ImageLevel {
  std::uint64_t address = 0;
  std::uint32_t width = 1;  ///< in elements, as the others
  std::uint32_t height = 1;
  std::uint32_t slices = 1;  ///< of a volume, or layers, each cube six
  std::uint64_t row_bytes = 0;
  std::uint64_t slice_bytes = 0;
};

enum class ImageShape : std::uint8_t {
  linear,  ///< memory of the program's: integer coordinates, nothing outside
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
  bool is_linear = false;      ///< between elements
  bool is_normalized = false;  ///< coordinates from 0 to 1
  TexelReading reading;
  TexelBits border = {};
  bool levels_are_linear = false;
  float level_bias = 0;
  float least_level = 0;
  float greatest_level = 0;
  bool is_seamless = false;  ///< linear filters go across the edges of a cube
};

/// What a handle stands for.
struct ImageObject {
  Image image;
  Sampler sampler;  ///< of a texture
  bool is_surface = false;
};

}  // namespace lynxpp::device::cpu
