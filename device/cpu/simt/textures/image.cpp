#include "device/cpu/simt/textures/image.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "device/cpu/simt/lanes/half.h"

namespace lynxpp::device::cpu {
namespace {

template <typename T>
T load(const std::byte* from, unsigned index) {
  T value;
  std::memcpy(&value, from + index * sizeof(T), sizeof(T));
  return value;
}

template <typename T>
void store(std::byte* to, unsigned index, T value) {
  std::memcpy(to + index * sizeof(T), &value, sizeof(T));
}

std::uint32_t bits_of(float value) { return std::bit_cast<std::uint32_t>(value); }

/// Converts an element to a 32-bit integer or to float bits. The fraction is rounded to single precision
/// once; the two lowest signed integers both become -1.
template <typename T>
std::uint32_t integer(T value, bool normalizes) {
  if (!normalizes) return static_cast<std::uint32_t>(value);
  const double fraction = static_cast<double>(value) / std::numeric_limits<T>::max();
  return bits_of(static_cast<float>(std::max(fraction, -1.0)));
}

/// Returns the float bits of the linear light that an sRGB byte encodes.
std::uint32_t linear_light(std::uint8_t value) {
  static const auto table = [] {
    std::array<std::uint32_t, 256> light{};
    for (unsigned i = 0; i < light.size(); ++i) {
      const double share = i / 255.0;
      light[i] = bits_of(
          static_cast<float>(share <= 0.04045 ? share / 12.92 : std::pow((share + 0.055) / 1.055, 2.4)));
    }
    return light;
  }();
  return table[value];
}

std::uint32_t decode(const std::byte* texel, Component component, unsigned channel,
                     const TexelReading& reading) {
  constexpr unsigned alpha = 3;
  switch (component) {
    case Component::u8: {
      const auto value = load<std::uint8_t>(texel, channel);
      return reading.is_srgb && channel != alpha ? linear_light(value) : integer(value, reading.normalizes);
    }
    case Component::u16: return integer(load<std::uint16_t>(texel, channel), reading.normalizes);
    case Component::u32: return load<std::uint32_t>(texel, channel);
    case Component::s8: return integer(load<std::int8_t>(texel, channel), reading.normalizes);
    case Component::s16: return integer(load<std::int16_t>(texel, channel), reading.normalizes);
    case Component::s32: return load<std::uint32_t>(texel, channel);
    case Component::f16:
      return bits_of(static_cast<float>(half_to_double(load<std::uint16_t>(texel, channel), binary16)));
    case Component::f32: return load<std::uint32_t>(texel, channel);
  }
  return 0;
}

template <typename T>
T clamped(std::uint32_t bits) {
  using Wide = std::conditional_t<std::is_signed_v<T>, std::int32_t, std::uint32_t>;
  const auto value = static_cast<Wide>(bits);
  return static_cast<T>(
      std::clamp<Wide>(value, std::numeric_limits<T>::min(), std::numeric_limits<T>::max()));
}

}  // namespace

unsigned TexelFormat::component_bytes() const {
  switch (component) {
    case Component::u8:
    case Component::s8: return 1;
    case Component::u16:
    case Component::s16:
    case Component::f16: return 2;
    default: return 4;
  }
}

bool TexelFormat::is_signed() const {
  return component == Component::s8 || component == Component::s16 || component == Component::s32;
}

bool TexelReading::yields_floats(const TexelFormat& format) const {
  return format.is_float() || (normalizes && format.component_bytes() < 4);
}

TexelBits decode_texel(const std::byte* texel, const TexelFormat& format, const TexelReading& reading) {
  TexelBits bits = {0, 0, 0, reading.yields_floats(format) ? bits_of(1.0f) : 1u};
  for (unsigned channel = 0; channel < format.channels; ++channel)
    bits[channel] = decode(texel, format.component, channel, reading);
  return bits;
}

void encode_texel(std::byte* texel, const TexelFormat& format, const TexelBits& bits, unsigned given) {
  for (unsigned channel = 0; channel < std::min(format.channels, given); ++channel) {
    const std::uint32_t value = bits[channel];
    switch (format.component) {
      case Component::u8: store(texel, channel, clamped<std::uint8_t>(value)); break;
      case Component::s8: store(texel, channel, clamped<std::int8_t>(value)); break;
      case Component::u16: store(texel, channel, clamped<std::uint16_t>(value)); break;
      case Component::s16: store(texel, channel, clamped<std::int16_t>(value)); break;
      case Component::f16:
        store(texel, channel,
              double_to_half(std::bit_cast<float>(value), binary16, HalfRounding::nearest_even));
        break;
      default: store(texel, channel, value); break;
    }
  }
}

}  // namespace lynxpp::device::cpu
