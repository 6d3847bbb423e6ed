// Measures a program image in memory. A separate file because it is the only one of this folder that the
// preload library links.
#include "image/bytes.h"
#include "image/fatbinary.h"

namespace lynxpp::image {
namespace {

template <typename T>
T field(const std::byte* base, std::size_t offset) {
  T value;
  std::memcpy(&value, base + offset, sizeof(T));
  return value;
}

/// The argument of __cudaRegisterFatBinary and cuLibraryLoadData. nvcc's device link step writes version 2.
struct Wrapper {
  std::uint32_t magic;
  std::uint32_t version;
  const std::byte* data;
  const void* file_name_or_fatbinaries;
};

Result<Bytes> measure_container(const std::byte* base) {
  const auto header_size = field<std::uint16_t>(base, 6);
  const auto payload_size = field<std::uint64_t>(base, 8);
  if (header_size < container_header_size || payload_size > PTRDIFF_MAX - std::uint64_t{header_size}) {
    return failure("the fatbinary container has an invalid size");
  }
  return Bytes(base, header_size + payload_size);
}

/// An ELF file ends at the end of its last section, segment or header table.
Result<Bytes> measure_elf(const std::byte* base) {
  constexpr std::uint64_t greatest_offset = std::uint64_t{1} << 40;
  constexpr std::uint32_t no_bits = 8;
  if (field<std::uint8_t>(base, 4) != 2) return failure("the cubin is not a 64-bit ELF file");
  const auto segments = field<std::uint64_t>(base, 32);
  const auto sections = field<std::uint64_t>(base, 40);
  const auto segment_size = field<std::uint16_t>(base, 54);
  const auto segment_count = field<std::uint16_t>(base, 56);
  const auto section_size = field<std::uint16_t>(base, 58);
  const auto section_count = field<std::uint16_t>(base, 60);
  if (segments > greatest_offset || sections > greatest_offset || (section_count != 0 && section_size < 64) ||
      (segment_count != 0 && segment_size < 56)) {
    return failure("the cubin has an invalid ELF header");
  }
  std::uint64_t end = 64;
  const auto cover = [&end](std::uint64_t offset, std::uint64_t size) {
    if (offset > greatest_offset || size > greatest_offset) return false;
    if (offset + size > end) end = offset + size;
    return true;
  };
  bool possible = cover(segments, std::uint64_t{segment_size} * segment_count) &&
                  cover(sections, std::uint64_t{section_size} * section_count);
  for (std::uint32_t i = 0; possible && i < section_count; ++i) {
    const std::byte* header = base + sections + std::size_t{i} * section_size;
    if (field<std::uint32_t>(header, 4) == no_bits) continue;
    possible = cover(field<std::uint64_t>(header, 24), field<std::uint64_t>(header, 32));
  }
  for (std::uint32_t i = 0; possible && i < segment_count; ++i) {
    const std::byte* header = base + segments + std::size_t{i} * segment_size;
    possible = cover(field<std::uint64_t>(header, 8), field<std::uint64_t>(header, 32));
  }
  if (!possible) return failure("the cubin has an invalid ELF section");
  return Bytes(base, end);
}

/// Text ends at its zero byte; any other control byte before it means that this is not text.
Result<Bytes> measure_text(const std::byte* base) {
  std::size_t size = 0;
  for (;; ++size) {
    if (base[size] == std::byte{0}) break;
    if (!is_text_byte(base[size])) {
      return failure("the program image is neither a fatbinary, a cubin nor PTX text");
    }
  }
  if (size == 0) return failure("the program image is empty");
  return Bytes(base, size);
}

/// Returns the first four bytes, reading only bytes that the image certainly has: text may be shorter.
std::uint32_t magic_of(const std::byte* base) {
  std::uint32_t magic = 0;
  for (unsigned i = 0; i < 4; ++i) {
    const auto byte = static_cast<std::uint32_t>(base[i]);
    if (byte == 0) break;
    magic |= byte << (8 * i);
  }
  return magic;
}

}  // namespace

Result<Bytes> image_bytes(const void* address) {
  const auto* base = static_cast<const std::byte*>(address);
  if (base == nullptr) return failure("the program image is a null pointer");
  const std::uint32_t magic = magic_of(base);
  if (magic == wrapper_magic) {
    base = field<Wrapper>(base, 0).data;
    if (base == nullptr || magic_of(base) != container_magic) {
      return failure("the fatbinary wrapper does not point at a fatbinary");
    }
    return measure_container(base);
  }
  if (magic == container_magic) return measure_container(base);
  if (magic == elf_magic) return measure_elf(base);
  return measure_text(base);
}

bool is_wrapper(const void* address) {
  return address != nullptr && magic_of(static_cast<const std::byte*>(address)) == wrapper_magic;
}

std::vector<Bytes> prelinked_containers(const void* address) {
  std::vector<Bytes> containers;
  if (!is_wrapper(address)) return containers;
  const auto wrapper = field<Wrapper>(static_cast<const std::byte*>(address), 0);
  if (wrapper.version != 2 || wrapper.file_name_or_fatbinaries == nullptr) return containers;
  const auto* list = static_cast<const std::byte* const*>(wrapper.file_name_or_fatbinaries);
  for (; *list != nullptr; ++list) {
    if (magic_of(*list) != container_magic) break;
    const Result<Bytes> container = measure_container(*list);
    if (!container) break;
    containers.push_back(*container);
  }
  return containers;
}

}  // namespace lynxpp::image
