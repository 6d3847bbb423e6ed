// Bounds-checked reading of little-endian fields, shared by the files of this folder.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>

namespace lynxpp::image {

using Bytes = std::span<const std::byte>;

inline constexpr std::uint32_t wrapper_magic = 0x466243b1;
inline constexpr std::uint32_t container_magic = 0xBA55ED50;
inline constexpr std::uint32_t elf_magic = 0x464C457F;
inline constexpr std::size_t container_header_size = 16;

/// Returns the field of type T at `offset`; nullopt if it is not entirely inside.
template <typename T>
std::optional<T> load(Bytes bytes, std::uint64_t offset) {
  if (offset > bytes.size() || bytes.size() - offset < sizeof(T)) return std::nullopt;
  T value;
  std::memcpy(&value, bytes.data() + offset, sizeof(T));
  return value;
}

/// Returns the `size` bytes at `offset`; nullopt if they are not entirely inside.
inline std::optional<Bytes> slice(Bytes bytes, std::uint64_t offset, std::uint64_t size) {
  if (offset > bytes.size() || bytes.size() - offset < size) return std::nullopt;
  return bytes.subspan(offset, size);
}

/// True if PTX text may contain this byte.
inline bool is_text_byte(std::byte byte) {
  const auto c = static_cast<unsigned char>(byte);
  return (c >= ' ' && c != 0x7f) || (c >= '\t' && c <= '\r');
}

}  // namespace lynxpp::image
