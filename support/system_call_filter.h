// Processes with filtered system calls (seccomp): a call that the program itself never makes may end them.
// Header only: the preload library links almost nothing of support. No function allocates.
#pragma once

#include <fcntl.h>
#include <unistd.h>

#include <cstddef>
#include <cstdlib>
#include <cstring>

namespace lynxpp {

/// Returns the number of filters in a /proc/PROCESS/status; -1 if the file cannot be read or lacks the
/// number.
inline long system_call_filters(const char* status_path) {
  constexpr char field[] = "\nSeccomp_filters:\t";
  char text[8192];  // at most a page, plus group names
  const int file = ::open(status_path, O_RDONLY | O_CLOEXEC);
  if (file < 0) return -1;
  std::size_t length = 0;
  ssize_t count = 0;
  while (length < sizeof text - 1 && (count = ::read(file, text + length, sizeof text - 1 - length)) > 0)
    length += static_cast<std::size_t>(count);
  ::close(file);
  text[length] = '\0';
  if (const char* const found = std::strstr(text, field))
    return std::strtol(found + sizeof field - 1, nullptr, 10);
  // Kernels without seccomp have no such line; those before 5.9 have only the mode.
  constexpr char mode[] = "\nSeccomp:\t";
  const char* const found = std::strstr(text, mode);
  if (found == nullptr) return length == 0 || length == sizeof text - 1 ? -1 : 0;
  return found[sizeof mode - 1] == '0' ? 0 : -1;
}

/// True if a filter of the process of this /proc/PROCESS/status may end it for opening a socket. The calls
/// that a filter permits cannot be queried. Filters that the container's first process also has are the
/// container's: those allow sockets, as Docker's do.
inline bool may_filter_system_calls(const char* status_path) {
  const long own = system_call_filters(status_path);
  return own != 0 && (own < 0 || own > system_call_filters("/proc/1/status"));
}

}  // namespace lynxpp
