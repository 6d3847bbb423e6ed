// Formats device UUIDs.
#pragma once

#include <cstddef>
#include <span>
#include <string>

namespace lynxpp::device {

inline constexpr std::size_t uuid_bytes = 16;

/// Returns "GPU-" and five groups of hexadecimal digits, as nvidia-smi prints it.
inline std::string text_of_uuid(std::span<const std::byte, uuid_bytes> uuid) {
  constexpr char digits[] = "0123456789abcdef";
  std::string text = "GPU";
  for (std::size_t i = 0; i < uuid.size(); ++i) {
    if (i == 0 || (i >= 4 && i <= 10 && i % 2 == 0)) text += '-';
    const auto byte = std::to_integer<unsigned>(uuid[i]);
    text += digits[byte >> 4];
    text += digits[byte & 15];
  }
  return text;
}

}  // namespace lynxpp::device
