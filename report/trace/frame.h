// Frames of a trace file (trace_file.h), as written and read.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace lynxpp::report {

inline constexpr std::string_view frame_magic = "lxtr";
inline constexpr std::size_t frame_kind_bytes = 4;
inline constexpr char frame_open[] = "open";
inline constexpr char frame_rows[] = "rows";
inline constexpr char frame_done[] = "done";

/// Precedes the payload.
struct FrameHeader {
  char magic[4];
  char kind[frame_kind_bytes];
  std::uint32_t stream;
  std::uint32_t bytes;  ///< of the payload
};
static_assert(sizeof(FrameHeader) == 16);

/// Longer frames are invalid: a block is a ring of 4 MiB, compressed.
inline constexpr std::uint32_t most_frame_bytes = 1u << 26;

}  // namespace lynxpp::report
