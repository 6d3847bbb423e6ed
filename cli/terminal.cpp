#include "cli/terminal.h"

#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <new>
#include <string>

#include "support/printable.h"

namespace lynxpp::cli {
namespace {

bool write_all(int descriptor, std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = ::write(descriptor, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return false;
    text.remove_prefix(static_cast<std::size_t>(written));
  }
  return true;
}

struct Guarded {
  int descriptor;
  std::string begun;  ///< a character whose remaining bytes come with the next write
};

/// Returns the bytes at the end of `text` that may begin a character or "\r
/// ".
std::size_t unfinished(std::string_view text) {
  if (text.ends_with('\r')) return 1;
  for (std::size_t length = 1; length < 4 && length <= text.size(); ++length) {
    const auto byte = static_cast<unsigned char>(text[text.size() - length]);
    if ((byte & 0xC0u) == 0x80u) continue;  // a continuation byte
    const std::size_t whole = byte >= 0xF0 ? 4 : byte >= 0xE0 ? 3 : byte >= 0xC0 ? 2 : 1;
    return whole > length ? length : 0;
  }
  return 0;
}

ssize_t write_guarded(void* cookie, const char* bytes, std::size_t count) {
  auto& guarded = *static_cast<Guarded*>(cookie);
  std::string text = std::move(guarded.begun).append(bytes, count);
  const std::size_t kept = unfinished(text);
  guarded.begun.assign(text, text.size() - kept);
  text.resize(text.size() - kept);
  return write_all(guarded.descriptor, printable_lines(text)) ? static_cast<ssize_t>(count) : 0;
}

/// Returns the guarded stream; `stream` itself if it is not a terminal.
std::FILE* guard(std::FILE* stream, int descriptor, int buffering) {
  if (::isatty(descriptor) != 1) return stream;
  std::FILE* const made =
      ::fopencookie(new Guarded{descriptor, {}}, "w",
                    {.read = nullptr, .write = write_guarded, .seek = nullptr, .close = nullptr});
  if (made == nullptr) return stream;
  std::setvbuf(made, nullptr, buffering, BUFSIZ);
  return made;
}

}  // namespace

void guard_terminals() {
  stdout = guard(stdout, STDOUT_FILENO, _IOLBF);
  stderr = guard(stderr, STDERR_FILENO, _IONBF);
}

void write_control(int descriptor, std::string_view sequence) {
  std::fflush(descriptor == STDERR_FILENO ? stderr : stdout);
  write_all(descriptor, sequence);
}

}  // namespace lynxpp::cli
