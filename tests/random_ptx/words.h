// Conversions between registers and C++ numbers.
#pragma once

#include <bit>
#include <cstdint>
#include <string>
#include <type_traits>

#include "machine.h"

namespace lynxpp::random_ptx {

template <typename T>
T from(Word word) {
  if constexpr (std::is_same_v<T, float>)
    return std::bit_cast<float>(static_cast<std::uint32_t>(word));
  else if constexpr (std::is_same_v<T, double>)
    return std::bit_cast<double>(word);
  else
    return static_cast<T>(word);
}

/// NaNs of single precision have one bit pattern.
template <typename T>
Word to(T value) {
  if constexpr (std::is_same_v<T, float>)
    return value != value ? 0x7fffffffu : std::bit_cast<std::uint32_t>(value);
  else if constexpr (std::is_same_v<T, double>)
    return std::bit_cast<Word>(value);
  else if constexpr (std::is_same_v<T, bool>)
    return value ? 1 : 0;
  else
    return static_cast<std::make_unsigned_t<T>>(value);
}

template <typename T>
inline constexpr unsigned bits_of = sizeof(T) * 8;

/// "u32", "s64", "f32"
template <typename T>
std::string type_name() {
  const char kind = std::is_floating_point_v<T> ? 'f' : std::is_signed_v<T> ? 's' : 'u';
  return kind + std::to_string(bits_of<T>);
}

/// The register type that holds a T.
template <typename T>
constexpr char register_type() {
  if constexpr (std::is_same_v<T, float>) return 'f';
  if constexpr (std::is_same_v<T, double>) return 'g';
  return sizeof(T) == 2 ? 'h' : sizeof(T) == 4 ? 'r' : 'd';
}

}  // namespace lynxpp::random_ptx
