// Large zeroed memory that is committed page by page, where it is touched.
#pragma once

#include <cstddef>
#include <optional>
#include <span>

namespace lynxpp {

class MappedMemory {
 public:
  /// nullopt: the process may not have that much address space.
  static std::optional<MappedMemory> of(std::size_t bytes);

  MappedMemory(MappedMemory&& other) noexcept;
  MappedMemory& operator=(MappedMemory&&) = delete;
  ~MappedMemory();

  std::span<std::byte> bytes() const { return bytes_; }

 private:
  explicit MappedMemory(std::span<std::byte> bytes) : bytes_(bytes) {}

  std::span<std::byte> bytes_;
};

}  // namespace lynxpp
