#include "device/cpu/runtime/textures/formats.h"

#include <array>

namespace lynxpp::device::cpu {

std::optional<TexelFormat> format_of(const cudaChannelFormatDesc& description) {
  const std::array<int, 4> bits = {description.x, description.y, description.z, description.w};
  TexelFormat format;
  format.channels = 0;
  while (format.channels < bits.size() && bits[format.channels] != 0) {
    if (bits[format.channels++] != bits[0]) return std::nullopt;
  }
  for (std::size_t i = format.channels; i < bits.size(); ++i) {
    if (bits[i] != 0) return std::nullopt;
  }
  if (format.channels != 1 && format.channels != 2 && format.channels != 4) return std::nullopt;
  const int width = bits[0];
  if (width != 8 && width != 16 && width != 32) return std::nullopt;
  switch (description.f) {
    case cudaChannelFormatKindUnsigned:
      format.component = width == 8 ? Component::u8 : width == 16 ? Component::u16 : Component::u32;
      return format;
    case cudaChannelFormatKindSigned:
      format.component = width == 8 ? Component::s8 : width == 16 ? Component::s16 : Component::s32;
      return format;
    case cudaChannelFormatKindFloat:
      if (width == 8) return std::nullopt;
      format.component = width == 16 ? Component::f16 : Component::f32;
      return format;
    default: return std::nullopt;
  }
}

cudaChannelFormatDesc description_of(const TexelFormat& format) {
  const int bits = static_cast<int>(format.component_bytes()) * 8;
  cudaChannelFormatDesc description{};
  description.x = bits;
  if (format.channels > 1) description.y = bits;
  if (format.channels > 2) description.z = description.w = bits;
  description.f = format.is_float()    ? cudaChannelFormatKindFloat
                  : format.is_signed() ? cudaChannelFormatKindSigned
                                       : cudaChannelFormatKindUnsigned;
  return description;
}

std::optional<TexelFormat> format_of(cudaResourceViewFormat format) {
  // Three constants per component type, for 1, 2 and 4 channels, in numeric order.
  static constexpr std::array<Component, 8> components = {Component::u8,  Component::s8,  Component::u16,
                                                          Component::s16, Component::u32, Component::s32,
                                                          Component::f16, Component::f32};
  const int index = static_cast<int>(format) - static_cast<int>(cudaResViewFormatUnsignedChar1);
  if (index < 0 || index >= static_cast<int>(components.size() * 3)) return std::nullopt;
  return TexelFormat{components[static_cast<std::size_t>(index / 3)], 1u << (index % 3)};
}

}  // namespace lynxpp::device::cpu
