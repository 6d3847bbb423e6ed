// Program images as the CUDA driver accepts them ▶ the PTX modules inside.
//
// Accepted: a fatbinary wrapper (magic 0x466243b1) in memory, a fatbinary container (magic 0xBA55ED50,
// possibly several in a row), PTX text ending in a zero byte, and an ELF cubin (which holds no PTX).
// Compressed entries: zstd (flag 0x8000), LZ4 (flag 0x2000). All offsets and sizes are checked against the
// bytes that are there.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "support/result.h"

namespace lynxpp::image {

enum class EntryKind { ptx, cubin, other };

struct Entry {
  EntryKind kind = EntryKind::other;
  std::size_t container = 0;  ///< which of the image's containers it stands in
  std::uint32_t sm = 0;       ///< compute capability × 10 it was made for (75, 90, …); 0: it stands alone
  std::uint64_t flags = 0;
  std::span<const std::byte> payload;  ///< as stored (perhaps compressed), pointing into the image
  std::uint64_t uncompressed_size = 0;
};

/// The bytes of the image that starts at `address`, as the driver would find them: follows a wrapper,
/// measures PTX text and ELF by their own headers. The result points at the program's memory. Precondition:
/// `address` is what the program gave the driver. A wrapper that nvcc's device link step wrote (version 2)
/// also names containers beside the linked one: prelinked_containers().
Result<std::span<const std::byte>> image_bytes(const void* address);

/// Whether `address` is a fatbinary wrapper, whose bytes the program must keep alive as long as the module.
bool is_wrapper(const void* address);

/// The relocatable containers a version 2 wrapper names (`nvcc -rdc=true`), where the PTX of such a program
/// is; else empty.
std::vector<std::span<const std::byte>> prelinked_containers(const void* address);

/// The entries of every container in `bytes`; for plain PTX text or a cubin a single entry.
Result<std::vector<Entry>> list_entries(std::span<const std::byte> bytes);

/// What the entry holds, decompressed.
Result<std::string> content(const Entry& entry);

/// The PTX text of an entry of kind ptx, decompressed, without padding.
Result<std::string> ptx_text(const Entry& entry);

/// The PTX modules the driver could JIT for a device of compute capability `sm` (0: any): for each container
/// the entry with the highest sm that is not above it. Empty when the image holds none. Whether the driver
/// does JIT them, or takes machine code that stands beside them: image/device_code.h.
Result<std::vector<std::string>> ptx_modules(std::span<const std::byte> bytes, int sm);

/// Where these come from, and behind each the other PTX of its container that was made for no more, the
/// highest first: what one may fall back to.
Result<std::vector<std::vector<Entry>>> ptx_versions(std::span<const std::byte> bytes, int sm);

}  // namespace lynxpp::image
