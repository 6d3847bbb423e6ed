// The content of a file from which the driver has loaded a module.
#pragma once

#include <cstdio>
#include <memory>
#include <new>

namespace lynxpp::preload {

/// The bytes of a file, followed by the zeros that PTX text needs.
class FileContent {
 public:
  explicit FileContent(const char* path) {
    constexpr long most_bytes = 2l << 30;
    std::FILE* const file = path != nullptr ? std::fopen(path, "rbe") : nullptr;
    if (file == nullptr) return;
    long size = 0;
    if (std::fseek(file, 0, SEEK_END) == 0 && (size = std::ftell(file)) > 0 && size < most_bytes &&
        std::fseek(file, 0, SEEK_SET) == 0) {
      bytes_.reset(new (std::nothrow) char[static_cast<std::size_t>(size) + zeros]());
      if (bytes_ != nullptr &&
          std::fread(bytes_.get(), 1, static_cast<std::size_t>(size), file) != static_cast<std::size_t>(size))
        bytes_.reset();
      if (bytes_ != nullptr) size_ = static_cast<std::size_t>(size);
    }
    std::fclose(file);
  }

  /// Returns null if the file can no longer be read or is empty.
  const void* image() const { return bytes_.get(); }
  /// Returns the size without the zeros.
  std::size_t size() const { return size_; }

 private:
  static constexpr std::size_t zeros = 64;
  std::unique_ptr<char[]> bytes_;
  std::size_t size_ = 0;
};

}  // namespace lynxpp::preload
