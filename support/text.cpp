#include "support/text.h"

#include <cxxabi.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <memory>

namespace lynxpp {

bool read_file(const std::string& path, std::string& contents) {
  contents.clear();
  std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path.c_str(), "rb"), std::fclose);
  if (file == nullptr) return false;
  std::array<char, 1 << 16> part{};
  while (const std::size_t bytes = std::fread(part.data(), 1, part.size(), file.get()))
    contents.append(part.data(), bytes);
  if (std::ferror(file.get()) == 0) return true;
  const int reason = errno;
  contents.clear();
  file.reset();
  errno = reason;
  return false;
}

std::string cannot_read(const std::string& path) {
  const int reason = errno;
  return "cannot read " + path + ": " + std::strerror(reason);
}

bool write_file(const std::string& path, std::string_view contents) {
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  file.write(contents.data(), static_cast<std::streamsize>(contents.size()));
  return static_cast<bool>(file.flush());
}

std::vector<std::string> split(std::string_view text, char separator) {
  std::vector<std::string> fields;
  std::size_t begin = 0;
  for (;;) {
    const std::size_t end = text.find(separator, begin);
    fields.emplace_back(text.substr(begin, end - begin));
    if (end == std::string_view::npos) return fields;
    begin = end + 1;
  }
}

std::string_view trim(std::string_view text) {
  constexpr std::string_view blanks = " \t\r\n";
  const std::size_t begin = text.find_first_not_of(blanks);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(blanks) - begin + 1);
}

std::string demangle(const std::string& symbol) {
  // Without the prefix the demangler reads names of C functions as encoded types: "f" as float.
  if (!symbol.starts_with("_Z")) return symbol;
  int status = 0;
  const std::unique_ptr<char, decltype(&std::free)> name(
      abi::__cxa_demangle(symbol.c_str(), nullptr, nullptr, &status), &std::free);
  return status == 0 && name ? std::string(name.get()) : symbol;
}

}  // namespace lynxpp
