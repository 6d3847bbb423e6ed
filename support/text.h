// Small text helpers that several folders need.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace lynxpp {

/// Reads or writes a whole file; false when that failed. Reading leaves the reason in errno (a folder:
/// EISDIR) and nothing in `contents`.
bool read_file(const std::string& path, std::string& contents);
bool write_file(const std::string& path, std::string_view contents);

/// What to say right after read_file failed: the path and the reason.
std::string cannot_read(const std::string& path);

/// Splits at every separator; empty fields are kept.
std::vector<std::string> split(std::string_view text, char separator);
std::string_view trim(std::string_view text);

/// The C++ name of a mangled symbol, or the symbol itself when it is not mangled.
std::string demangle(const std::string& symbol);

}  // namespace lynxpp
