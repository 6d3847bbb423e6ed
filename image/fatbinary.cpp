#include "image/fatbinary.h"

#include <lz4.h>
#include <zstd.h>

#include <algorithm>
#include <limits>
#include <memory>

#include "image/bytes.h"
#include "image/targets.h"

namespace lynxpp::image {
namespace {

// Flags of an entry, as written by nvcc 13.
constexpr std::uint64_t flag_lz4 = 0x2000;
constexpr std::uint64_t flag_zstd = 0x8000;

// An entry that claims more than this plus the greatest ratio to its stored bytes is damaged or crafted to
// exhaust memory. PTX and machine code shrink to a tenth; tables of zeros in them may shrink far more.
constexpr std::uint64_t always_plausible = std::uint64_t{1} << 20;
constexpr std::uint64_t greatest_ratio = 1024;

// Initial output size; it grows as the stream yields bytes, so that a forged size alone allocates little.
constexpr std::uint64_t first_step = std::uint64_t{1} << 20;

constexpr std::uint16_t kind_ptx = 1;
constexpr std::uint16_t kind_elf = 2;
constexpr std::size_t entry_header_size = 64;

/// Appends the entries of one container's payload.
Status read_entries(Bytes payload, std::size_t container, std::vector<Entry>& entries) {
  std::uint64_t offset = 0;
  while (offset < payload.size()) {
    const auto rest = payload.subspan(offset);
    if (rest.size() < entry_header_size) return failure("a fatbinary entry is truncated in its header");
    const auto kind = *load<std::uint16_t>(rest, 0);
    const auto header_size = *load<std::uint32_t>(rest, 4);
    const auto payload_size = *load<std::uint64_t>(rest, 8);
    const auto compressed_size = *load<std::uint32_t>(rest, 16);
    if (header_size < entry_header_size) return failure("a fatbinary entry has an invalid header size");
    const auto stored = slice(rest, header_size, payload_size);
    if (!stored) return failure("a fatbinary entry extends past its container");

    Entry entry;
    entry.container = container;
    entry.kind = kind == kind_ptx ? EntryKind::ptx : kind == kind_elf ? EntryKind::cubin : EntryKind::other;
    entry.sm = *load<std::uint32_t>(rest, 28);
    entry.flags = *load<std::uint64_t>(rest, 40);
    entry.payload = *stored;
    entry.uncompressed_size = payload_size;
    if ((entry.flags & (flag_zstd | flag_lz4)) != 0) {
      if (compressed_size > payload_size)
        return failure("a compressed fatbinary entry extends past its payload");
      entry.payload = stored->first(compressed_size);  // the rest is padding
      entry.uncompressed_size = *load<std::uint64_t>(rest, 56);
    }
    entries.push_back(entry);
    offset += header_size + payload_size;
  }
  return success();
}

Result<std::vector<Entry>> read_containers(Bytes bytes) {
  std::vector<Entry> entries;
  std::uint64_t offset = 0;
  for (std::size_t container = 0; offset < bytes.size();) {
    const Bytes rest = bytes.subspan(offset);
    // Containers are aligned to 8 bytes; zeros separate them and pad the end of a section.
    const Bytes padding = rest.first(std::min<std::size_t>(rest.size(), 4));
    if (std::all_of(padding.begin(), padding.end(), [](std::byte each) { return each == std::byte{0}; })) {
      offset += padding.size();
      continue;
    }
    const auto magic = load<std::uint32_t>(rest, 0);
    const auto header_size = load<std::uint16_t>(rest, 6);
    const auto payload_size = load<std::uint64_t>(rest, 8);
    if (!payload_size || *magic != container_magic) return failure("the bytes are not a fatbinary container");
    if (*header_size < container_header_size)
      return failure("the fatbinary container has an invalid header size");
    const auto payload = slice(rest, *header_size, *payload_size);
    if (!payload) return failure("the fatbinary container is truncated");
    if (auto status = read_entries(*payload, container, entries); !status) return status.error();
    offset += *header_size + *payload_size;
    ++container;
  }
  return entries;
}

Entry whole(Bytes bytes, EntryKind kind) {
  Entry entry;
  entry.kind = kind;
  entry.payload = bytes;
  entry.uncompressed_size = bytes.size();
  return entry;
}

Result<std::string> decompress_zstd(Bytes payload, std::uint64_t expected) {
  const std::unique_ptr<ZSTD_DStream, decltype(&ZSTD_freeDStream)> stream(ZSTD_createDStream(),
                                                                          &ZSTD_freeDStream);
  if (!stream) return failure("out of memory while decompressing a fatbinary entry");
  std::string text(std::min(expected, first_step), '\0');
  ZSTD_inBuffer input{payload.data(), payload.size(), 0};
  ZSTD_outBuffer output{text.data(), text.size(), 0};
  for (;;) {
    const std::size_t before = input.pos + output.pos;
    const std::size_t status = ZSTD_decompressStream(stream.get(), &output, &input);
    if (ZSTD_isError(status)) {
      return failure(std::string("a fatbinary entry is not valid zstd: ") + ZSTD_getErrorName(status));
    }
    if (status == 0) break;
    if (output.pos == output.size) {
      if (text.size() >= expected) return failure("a zstd fatbinary entry is larger than its header says");
      text.resize(std::min<std::uint64_t>(expected, std::uint64_t{text.size()} * 2));
      output = {text.data(), text.size(), output.pos};
    } else if (input.pos + output.pos == before) {
      return failure("a zstd fatbinary entry is truncated");
    }
  }
  if (output.pos != expected) return failure("a zstd fatbinary entry is smaller than its header says");
  text.resize(output.pos);
  return text;
}

/// LZ4 blocks cannot be continued in another buffer: each step decompresses a longer prefix from the
/// beginning.
Result<std::string> decompress_lz4(Bytes payload, std::uint64_t expected) {
  // One byte of an LZ4 block yields at most 255 bytes.
  constexpr std::uint64_t most_of_a_byte = 255;
  if (payload.size() > LZ4_MAX_INPUT_SIZE || expected > std::numeric_limits<int>::max() ||
      expected > payload.size() * most_of_a_byte) {
    return failure("an LZ4 fatbinary entry has an invalid size");
  }
  const auto* const packed = reinterpret_cast<const char*>(payload.data());
  const auto packed_size = static_cast<int>(payload.size());
  std::string text;
  for (std::uint64_t step = first_step; step < expected; step *= 2) {
    text.resize(step);
    const auto wanted = static_cast<int>(step);
    const int size = LZ4_decompress_safe_partial(packed, text.data(), packed_size, wanted, wanted);
    if (size != wanted) return failure("a fatbinary entry is not valid LZ4");
  }
  text.resize(expected);
  const int size = LZ4_decompress_safe(packed, text.data(), packed_size, static_cast<int>(expected));
  if (size < 0 || static_cast<std::uint64_t>(size) != expected) {
    return failure("a fatbinary entry is not valid LZ4");
  }
  return text;
}

}  // namespace

Result<std::vector<Entry>> list_entries(Bytes bytes) {
  const auto magic = load<std::uint32_t>(bytes, 0);
  if (magic && *magic == container_magic) return read_containers(bytes);
  if (magic && *magic == elf_magic) return std::vector<Entry>{whole(bytes, EntryKind::cubin)};
  const auto text_end = std::find(bytes.begin(), bytes.end(), std::byte{0});
  const Bytes text(bytes.begin(), text_end);
  if (text.empty() || !std::all_of(text.begin(), text.end(), is_text_byte)) {
    return failure("the program image is neither a fatbinary, a cubin nor PTX text");
  }
  return std::vector<Entry>{whole(text, EntryKind::ptx)};
}

Result<std::string> content(const Entry& entry) {
  if (entry.uncompressed_size > always_plausible + greatest_ratio * entry.payload.size()) {
    return failure("a fatbinary entry of " + std::to_string(entry.payload.size()) +
                   " bytes claims an uncompressed size of " + std::to_string(entry.uncompressed_size));
  }
  if ((entry.flags & flag_zstd) != 0) return decompress_zstd(entry.payload, entry.uncompressed_size);
  if ((entry.flags & flag_lz4) != 0) return decompress_lz4(entry.payload, entry.uncompressed_size);
  return std::string(reinterpret_cast<const char*>(entry.payload.data()), entry.payload.size());
}

Result<std::string> ptx_text(const Entry& entry) {
  if (entry.kind != EntryKind::ptx) return failure("the fatbinary entry contains no PTX");
  Result<std::string> text = content(entry);
  if (text) text->resize(std::min(text->find('\0'), text->size()));
  return text;
}

Result<std::vector<std::string>> ptx_modules(Bytes bytes, int sm) {
  const auto entries = list_entries(bytes);
  if (!entries) return entries.error();
  const auto capability = static_cast<std::uint32_t>(std::max(sm, 0));
  std::vector<std::string> modules;
  for (const std::span<const Entry> container : by_container(*entries)) {
    const Entry* const best = best_ptx(container, capability);
    if (best == nullptr) continue;
    auto text = ptx_text(*best);
    if (!text) return text.error();
    modules.push_back(std::move(*text));
  }
  return modules;
}

Result<std::vector<std::vector<Entry>>> ptx_versions(Bytes bytes, int sm) {
  const auto entries = list_entries(bytes);
  if (!entries) return entries.error();
  const auto capability = static_cast<std::uint32_t>(std::max(sm, 0));
  std::vector<std::vector<Entry>> versions;
  for (const std::span<const Entry> container : by_container(*entries)) {
    const Entry* const best = best_ptx(container, capability);
    if (best == nullptr) continue;
    std::vector<Entry>& of_container = versions.emplace_back(1, *best);
    for (const Entry& each : container) {
      if (each.kind == EntryKind::ptx && each.sm <= best->sm && &each != best) of_container.push_back(each);
    }
    std::stable_sort(of_container.begin() + 1, of_container.end(),
                     [](const Entry& a, const Entry& b) { return a.sm > b.sm; });
  }
  return versions;
}

}  // namespace lynxpp::image
