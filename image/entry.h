// One entry of a program image: PTX or machine code for one target.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace lynxpp::image {

enum class EntryKind { ptx, cubin, other };

struct Entry {
  EntryKind kind = EntryKind::other;
  std::size_t container = 0;  ///< index of its container in the image
  std::uint32_t sm = 0;       ///< compute capability × 10 (75, 90, …); 0: not in a fatbinary
  std::uint64_t flags = 0;
  std::span<const std::byte> payload;  ///< as stored (perhaps compressed), pointing into the image
  std::uint64_t uncompressed_size = 0;
};

}  // namespace lynxpp::image
