// Processes whose system calls are filtered (seccomp): a call that the program itself never makes may end it.
// Header only: the preload library links nothing of support. No function allocates.
#pragma once

#include <fcntl.h>
#include <unistd.h>

#include <cstddef>
#include <cstring>

namespace lynxpp {

/// True if a filter may end the process of this /proc/PROCESS/status, or if the file cannot be read. Which
/// calls a filter permits cannot be found out.
inline bool may_filter_system_calls(const char* status_path) {
  constexpr char field[] = "\nSeccomp:\t";
  char text[8192];  // a page at most, and names of groups
  const int file = ::open(status_path, O_RDONLY | O_CLOEXEC);
  if (file < 0) return true;
  std::size_t length = 0;
  ssize_t count = 0;
  while (length < sizeof text - 1 && (count = ::read(file, text + length, sizeof text - 1 - length)) > 0)
    length += static_cast<std::size_t>(count);
  ::close(file);
  text[length] = '\0';
  const char* const found = std::strstr(text, field);
  // Kernels without seccomp have no such line; neither has a text that was cut off.
  if (found == nullptr) return length == 0 || length == sizeof text - 1;
  return found[sizeof field - 1] != '0';
}

}  // namespace lynxpp
