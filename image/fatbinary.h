// Program images as the CUDA driver accepts them ▶ the PTX modules inside.
//
// Accepts a fatbinary wrapper (magic 0x466243b1) in memory, a fatbinary container (magic 0xBA55ED50, possibly
// several in a row), PTX text ending in a zero byte, and an ELF cubin (which contains no PTX entry).
// Compressed entries: zstd (flag 0x8000), LZ4 (flag 0x2000). All offsets and sizes are checked against the
// available bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "image/entry.h"
#include "support/result.h"

namespace lynxpp::image {

/// Returns the bytes of the image at `address`, as the driver would determine them: follows a wrapper, and
/// measures PTX text and ELF by their own headers. The result points to the program's memory. Precondition:
/// `address` is a pointer that the program passed to the driver. A wrapper from nvcc's device link step
/// (version 2) also refers to containers in addition to the linked one: prelinked_containers().
Result<std::span<const std::byte>> image_bytes(const void* address);

/// True if `address` is a fatbinary wrapper, whose bytes the program must keep alive as long as the module.
bool is_wrapper(const void* address);

/// Returns the relocatable containers that a version 2 wrapper refers to (`nvcc -rdc=true`), which contain
/// the PTX of such a program; empty for any other image.
std::vector<std::span<const std::byte>> prelinked_containers(const void* address);

/// Returns the entries of every container in `bytes`; a single entry for plain PTX text or a cubin.
Result<std::vector<Entry>> list_entries(std::span<const std::byte> bytes);

/// Returns the decompressed contents of the entry.
Result<std::string> content(const Entry& entry);

/// Returns the PTX text of an entry of kind ptx, decompressed, without padding.
Result<std::string> ptx_text(const Entry& entry);

/// Returns the PTX modules the driver could JIT for a device of compute capability `sm` (0: any): for each
/// container the entry with the highest capability up to `sm`. Empty if the image contains none.
/// image/device_code.h determines whether the driver compiles them or loads machine code of the same
/// container.
Result<std::vector<std::string>> ptx_modules(std::span<const std::byte> bytes, int sm);

/// Returns the entries of these modules, each followed by fallbacks: the other PTX of its container for no
/// higher capability, in descending order.
Result<std::vector<std::vector<Entry>>> ptx_versions(std::span<const std::byte> bytes, int sm);

}  // namespace lynxpp::image
