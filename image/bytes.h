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

/// The field of type T at `offset`; nullopt when it is not wholly inside.
template <typename T>
std::optional<T> load(Bytes bytes, std::uint64_t offset) {
  if (offset > bytes.size() || bytes.size() - offset < sizeof(T)) return std::nullopt;
  T value;
  std::memcpy(&value, bytes.data() + offset, sizeof(T));
  return value;
}

/// The `size` bytes at `offset`; nullopt when they are not wholly inside.
inline std::optional<Bytes> slice(Bytes bytes, std::uint64_t offset, std::uint64_t size) {
  if (offset > bytes.size() || bytes.size() - offset < size) return std::nullopt;
  return bytes.subspan(offset, size);
}

/// Whether PTX text may hold this byte.
inline bool is_text_byte(std::byte byte) {
  const auto c = static_cast<unsigned char>(byte);
  return (c >= ' ' && c != 0x7f) || (c >= '\t' && c <= '\r');
}

}  // namespace lynxpp::image
