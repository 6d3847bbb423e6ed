// The fakes and the test programs append their events to one file, one line per event, in order.
#pragma once

#include <fcntl.h>
#include <unistd.h>

#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>

[[gnu::format(printf, 1, 2)]] static inline void log_event(const char* format, ...) {
  // Read once: a program may clear its environment.
  static const char* const path =
      getenv("LYNXPP_TEST_EVENTS") != nullptr ? strdup(getenv("LYNXPP_TEST_EVENTS")) : nullptr;
  if (path == nullptr) return;
  char line[1024];
  va_list arguments;
  va_start(arguments, format);
  int length = vsnprintf(line, sizeof line - 1, format, arguments);
  va_end(arguments);
  line[length++] = '\n';
  const int file = open(path, O_WRONLY | O_CREAT | O_APPEND, 0644);
  if (file < 0 || write(file, line, static_cast<size_t>(length)) != length) abort();
  close(file);
}
