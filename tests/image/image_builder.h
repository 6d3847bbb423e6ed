// Writes fatbinary containers byte by byte, independently of the code under test.
#pragma once

#include <lz4.h>
#include <zstd.h>

#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <vector>

namespace lynxpp::image::test {

enum class Compression { none, lz4, zstd };

class ContainerBuilder {
 public:
  /// The stored size is padded to a multiple of 8 with zeros, as nvcc does.
  ContainerBuilder& add(std::uint16_t kind, std::uint32_t sm, const std::string& content,
                        Compression compression = Compression::none, std::uint64_t extra_flags = 0) {
    std::string stored = content;
    std::uint64_t flags = 0x11 | extra_flags;
    if (compression == Compression::zstd) {
      stored.resize(ZSTD_compressBound(content.size()));
      stored.resize(ZSTD_compress(stored.data(), stored.size(), content.data(), content.size(), 3));
      flags |= 0x8000;
    } else if (compression == Compression::lz4) {
      stored.resize(LZ4_compressBound(static_cast<int>(content.size())));
      stored.resize(LZ4_compress_default(content.data(), stored.data(), static_cast<int>(content.size()),
                                         static_cast<int>(stored.size())));
      flags |= 0x2000;
    }
    const auto compressed_size =
        static_cast<std::uint32_t>(compression == Compression::none ? 0 : stored.size());
    stored.resize((stored.size() + 7) / 8 * 8, '\0');
    std::string header(64, '\0');
    put(header, 0, kind);
    put(header, 2, std::uint16_t{0x101});
    put(header, 4, std::uint32_t{64});
    put(header, 8, std::uint64_t{stored.size()});
    put(header, 16, compressed_size);
    put(header, 28, sm);
    put(header, 40, flags);
    put(header, 56, std::uint64_t{compression == Compression::none ? 0 : content.size()});
    payload_ += header + stored;
    return *this;
  }

  std::string build() const {
    std::string header(16, '\0');
    put(header, 0, std::uint32_t{0xBA55ED50});
    put(header, 4, std::uint16_t{1});
    put(header, 6, std::uint16_t{16});
    put(header, 8, std::uint64_t{payload_.size()});
    return header + payload_;
  }

  template <typename T>
  static void put(std::string& bytes, std::size_t offset, T value) {
    std::memcpy(bytes.data() + offset, &value, sizeof value);
  }

 private:
  std::string payload_;
};

/// Writes a cubin with the given sections, independently of the code under test.
class CubinBuilder {
 public:
  CubinBuilder& add(const std::string& name, const std::string& content, std::uint32_t type = 1,
                    std::uint64_t flags = 0) {
    sections_.push_back({name, content, type, flags});
    return *this;
  }

  std::string build() const {
    std::string names(1, '\0');
    std::string bytes(64, '\0');
    std::string table(64, '\0');
    const auto place = [&](const Section& section) {
      std::string header(64, '\0');
      put(header, 0, static_cast<std::uint32_t>(names.size()));
      names += section.name + '\0';
      const std::string& content = section.name == names_section ? names : section.content;
      put(header, 4, section.type);
      put(header, 8, section.flags);
      put(header, 24, std::uint64_t{bytes.size()});
      put(header, 32, std::uint64_t{content.size()});
      bytes += content;
      table += header;
    };
    for (const Section& section : sections_) place(section);
    place({names_section, {}, 3, 0});
    put(bytes, 0, std::uint32_t{0x464C457F});
    bytes[4] = 2;
    put(bytes, 18, std::uint16_t{190});
    put(bytes, 40, std::uint64_t{bytes.size()});
    put(bytes, 58, std::uint16_t{64});
    put(bytes, 60, static_cast<std::uint16_t>(sections_.size() + 2));
    put(bytes, 62, static_cast<std::uint16_t>(sections_.size() + 1));
    return bytes + table;
  }

 private:
  struct Section {
    std::string name, content;
    std::uint32_t type = 1;
    std::uint64_t flags = 0;
  };
  static constexpr const char* names_section = ".shstrtab";

  template <typename T>
  static void put(std::string& bytes, std::size_t offset, T value) {
    ContainerBuilder::put(bytes, offset, value);
  }

  std::vector<Section> sections_;
};

inline std::span<const std::byte> as_bytes(const std::string& text) {
  return {reinterpret_cast<const std::byte*>(text.data()), text.size()};
}

/// A fatbinary wrapper as in nvcc's host code.
struct Wrapper {
  std::uint32_t magic = 0x466243b1;
  std::uint32_t version = 1;
  const void* data = nullptr;
  const void* file_name_or_fatbinaries = nullptr;
};

}  // namespace lynxpp::image::test
