#include "report/output.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "support/write_signals.h"

namespace lynxpp::report {
namespace {

/// How many bytes could be written, and errno of what could not.
std::pair<std::size_t, int> write_what_fits(int descriptor, std::string_view bytes) {
  const WriteSignalsBlocked blocked;
  std::size_t done = 0;
  while (done < bytes.size()) {
    const ssize_t written = ::write(descriptor, bytes.data() + done, bytes.size() - done);
    if (written >= 0) {
      done += static_cast<std::size_t>(written);
    } else if (errno != EINTR) {
      return {done, errno};
    }
  }
  return {done, 0};
}

}  // namespace

int append_line(int descriptor, std::string_view line) {
  const auto [written, error] = write_what_fits(descriptor, line);
  if (error == 0 || written == 0) return error;
  const off_t end = ::lseek(descriptor, 0, SEEK_CUR);
  struct stat file {};
  // Not when another process has appended meanwhile.
  const bool is_last =
      end >= 0 && ::fstat(descriptor, &file) == 0 && S_ISREG(file.st_mode) && file.st_size == end;
  if (is_last) static_cast<void>(::ftruncate(descriptor, end - static_cast<off_t>(written)) == 0);
  return error;
}

}  // namespace lynxpp::report
