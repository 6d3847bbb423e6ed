#include "support/mapped_memory.h"

#include <sys/mman.h>

#include <utility>

namespace lynxpp {

std::optional<MappedMemory> MappedMemory::of(std::size_t bytes) {
  if (bytes == 0) return MappedMemory(std::span<std::byte>());
  void* const mapped =
      mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (mapped == MAP_FAILED) return std::nullopt;
  return MappedMemory(std::span(static_cast<std::byte*>(mapped), bytes));
}

MappedMemory::MappedMemory(MappedMemory&& other) noexcept : bytes_(std::exchange(other.bytes_, {})) {}

MappedMemory::~MappedMemory() {
  if (!bytes_.empty()) munmap(bytes_.data(), bytes_.size());
}

}  // namespace lynxpp
