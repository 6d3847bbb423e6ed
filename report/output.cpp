#include "report/output.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

namespace lynxpp::report {
int append_line(const Descriptor& output, std::string_view line) {
  const auto [written, error] = write_output(output, line);
  if (error == 0 || written == 0) return error;
  const int descriptor = output.number();
  const off_t end = ::lseek(descriptor, 0, SEEK_CUR);
  struct stat file {};
  // False if another process has appended meanwhile.
  const bool is_last =
      end >= 0 && ::fstat(descriptor, &file) == 0 && S_ISREG(file.st_mode) && file.st_size == end;
  if (is_last) static_cast<void>(::ftruncate(descriptor, end - static_cast<off_t>(written)) == 0);
  return error;
}

}  // namespace lynxpp::report
