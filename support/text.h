// Small text helpers shared by several folders.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "support/result.h"

namespace lynxpp {

/// Reads or writes an entire file; false on failure. Reading sets errno (EISDIR for a folder) and leaves
/// `contents` empty.
bool read_file(const std::string& path, std::string& contents);
bool write_file(const std::string& path, std::string_view contents);

/// Reads a regular file of at most `most_bytes`, a few MiB, without blocking: rejects pipes, devices, files
/// that another process prevents from being opened and, without `follows_links`, symbolic links. Fails with
/// the reason, without the path.
Result<std::string> read_regular_file(const std::string& path, std::size_t most_bytes,
                                      bool follows_links = true);

/// Returns a message for use right after read_file failed: the path and the reason.
std::string cannot_read(const std::string& path);

/// Splits at every separator; empty fields are kept.
std::vector<std::string> split(std::string_view text, char separator);
std::string_view trim(std::string_view text);

/// Returns the C++ name of a mangled symbol, or the symbol itself if it is not mangled. Uses little of the
/// calling thread's stack.
std::string demangle(const std::string& symbol);

}  // namespace lynxpp
