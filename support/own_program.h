// The file of this process's program.
#pragma once

#include <limits.h>
#include <stdlib.h>
#include <sys/auxv.h>
#include <unistd.h>

namespace lynxpp {

/// Writes the absolute path of the program's file into `path`; "" if it is unknown. Without /proc, as in a
/// bare chroot, uses the path by which the program was started.
inline void find_own_program(char (&path)[PATH_MAX]) {
  const ssize_t length = ::readlink("/proc/self/exe", path, sizeof path - 1);
  path[length > 0 ? length : 0] = '\0';
  const auto* const started = reinterpret_cast<const char*>(::getauxval(AT_EXECFN));
  if (length <= 0 && (started == nullptr || ::realpath(started, path) == nullptr)) path[0] = '\0';
}

}  // namespace lynxpp
