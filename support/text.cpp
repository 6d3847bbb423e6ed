#include "support/text.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
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

Result<std::string> read_regular_file(const std::string& path, std::size_t most_bytes, bool follows_links) {
  struct Descriptor {
    ~Descriptor() {
      if (number >= 0) ::close(number);
    }
    const int number;
  };
  const auto because_of = [](int error) { return failure(std::strerror(error)); };
  const int links = follows_links ? 0 : O_NOFOLLOW;
  const Descriptor file{::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC | links)};
  if (file.number < 0) return because_of(errno);
  struct stat status {};
  if (::fstat(file.number, &status) != 0) return because_of(errno);
  if (S_ISDIR(status.st_mode)) return failure("it is a folder");
  if (!S_ISREG(status.st_mode)) return failure("it is not a regular file");
  std::string contents;
  std::array<char, 1 << 16> part;
  while (contents.size() <= most_bytes) {
    const ssize_t bytes = ::read(file.number, part.data(), part.size());
    if (bytes < 0 && errno == EINTR) continue;
    if (bytes < 0) return because_of(errno);
    if (bytes == 0) return contents;
    contents.append(part.data(), static_cast<std::size_t>(bytes));
  }
  return failure("it is larger than " + std::to_string(most_bytes >> 20) + " MiB");
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

}  // namespace lynxpp
