// Files on disk that contain program images ▶ the images: ELF programs, objects and shared libraries, static
// archives of them, fatbinary files, cubins, PTX text.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "support/result.h"

namespace lynxpp::image {

/// One image of a file.
struct FileImage {
  /// "libcurand.so[.nv_fatbin #3]", "libx.a(member.o)[__nv_relfatbin #0]", or the path itself
  std::string origin;
  /// for list_entries() and ptx_modules(); points into ProgramFile::contents
  std::span<const std::byte> bytes;
};

/// Movable, not copyable: the images point into the contents.
struct ProgramFile {
  ProgramFile() = default;
  ProgramFile(ProgramFile&&) = default;
  ProgramFile& operator=(ProgramFile&&) = default;
  ProgramFile(const ProgramFile&) = delete;
  ProgramFile& operator=(const ProgramFile&) = delete;

  std::vector<std::byte> contents;
  std::vector<FileImage> images;  ///< in file order; empty if an ELF file or archive contains no device code
};

/// Fails if the file cannot be read, is damaged, or is of a kind that cannot contain device code.
Result<ProgramFile> containers_in_file(const std::string& path);

}  // namespace lynxpp::image
