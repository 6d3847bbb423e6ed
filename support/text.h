// Small text helpers that several folders need.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "support/result.h"

namespace lynxpp {

/// Reads or writes a whole file; false when that failed. Reading leaves the reason in errno (a folder:
/// EISDIR) and nothing in `contents`.
bool read_file(const std::string& path, std::string& contents);
bool write_file(const std::string& path, std::string_view contents);

/// Reads a regular file of at most `most_bytes`, some MiB, and waits for nothing: a pipe, a device and a file
/// that another process keeps from being opened are refused. Without `follows_links` so is a symbolic link.
/// Failure: the reason, without the path.
Result<std::string> read_regular_file(const std::string& path, std::size_t most_bytes,
                                      bool follows_links = true);

/// What to say right after read_file failed: the path and the reason.
std::string cannot_read(const std::string& path);

/// Splits at every separator; empty fields are kept.
std::vector<std::string> split(std::string_view text, char separator);
std::string_view trim(std::string_view text);

/// The C++ name of a mangled symbol, or the symbol itself when it is not mangled. Needs little of the calling
/// thread's stack.
std::string demangle(const std::string& symbol);

}  // namespace lynxpp
