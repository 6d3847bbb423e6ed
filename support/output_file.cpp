#include "support/output_file.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <cerrno>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <system_error>
#include <utility>

#include "support/write_signals.h"

namespace lynxpp {
namespace {

/// True for devices that accept any text without side effects: null, zero, full, and terminals.
bool takes_text(dev_t device) {
  constexpr unsigned memory = 1, null = 3, zero = 5, full = 7;
  constexpr unsigned console_or_serial = 4, terminal_of_process = 5;
  constexpr unsigned first_pseudo_terminal = 136, last_pseudo_terminal = 143;
  const unsigned kind = major(device);
  if (kind == memory) return minor(device) == null || minor(device) == zero || minor(device) == full;
  return kind == console_or_serial || kind == terminal_of_process ||
         (kind >= first_pseudo_terminal && kind <= last_pseudo_terminal);
}

/// Returns the reason for not writing to it; null if it is writable.
const char* problem_of(const struct stat& status) {
  if (S_ISREG(status.st_mode) || S_ISFIFO(status.st_mode)) return nullptr;
  if (S_ISDIR(status.st_mode)) return "it is a folder";
  if (S_ISSOCK(status.st_mode)) return "it is a socket";
  return S_ISCHR(status.st_mode) && takes_text(status.st_rdev) ? nullptr : "it is a device";
}

Failure cannot_write(const std::string& path, const char* reason) {
  return failure("cannot write " + path + ": " + reason);
}

void rest() {
  constexpr timespec a_moment{0, 10'000'000};
  ::nanosleep(&a_moment, nullptr);
}

}  // namespace

Result<Descriptor> open_output(const std::string& path, int flags) {
  struct stat status {};
  // Check before opening: a tape would rewind, a watchdog would start.
  if (::stat(path.c_str(), &status) == 0) {
    if (const char* const problem = problem_of(status)) return cannot_write(path, problem);
  }
  constexpr int safely = O_WRONLY | O_CREAT | O_CLOEXEC | O_NOCTTY | O_NONBLOCK;
  constexpr int most_rests = 100;
  Descriptor file;
  for (int i = 0; i < most_rests; ++i) {
    file = Descriptor(::open(path.c_str(), safely | flags, 0666));
    if (file || errno != ENXIO) break;
    rest();  // the pipe has no reader yet
  }
  if (!file) return cannot_write(path, errno == ENXIO ? "no process reads the pipe" : std::strerror(errno));
  if (::fstat(file.number(), &status) != 0) return cannot_write(path, std::strerror(errno));
  if (const char* const problem = problem_of(status)) return cannot_write(path, problem);
  return file;
}

Written write_output(const Descriptor& file, std::string_view text, std::chrono::milliseconds patience) {
  const WriteSignalsBlocked blocked;
  Written written;
  while (written.bytes < text.size()) {
    const ssize_t count = ::write(file.number(), text.data() + written.bytes, text.size() - written.bytes);
    if (count >= 0) {
      written.bytes += static_cast<std::size_t>(count);
    } else if (errno == EAGAIN) {
      pollfd waits{file.number(), POLLOUT, 0};
      if (::poll(&waits, 1, static_cast<int>(patience.count())) == 0) return {written.bytes, ETIMEDOUT};
    } else if (errno != EINTR) {
      return {written.bytes, errno};
    }
  }
  return written;
}

KeptOutput::KeptOutput(Descriptor file, const std::string& path) : file_(std::move(file)) {
  std::error_code error;
  path_ = std::filesystem::absolute(path, error).string();
  if (error) path_ = path;
  struct stat status {};
  if (!file_ || ::fstat(file_.number(), &status) != 0) return;
  device_ = status.st_dev;
  inode_ = status.st_ino;
}

KeptOutput::KeptOutput(KeptOutput&& other) noexcept = default;
KeptOutput& KeptOutput::operator=(KeptOutput&& other) noexcept = default;

KeptOutput::~KeptOutput() {
  if (file_ && !is_ours()) file_.release();
}

bool KeptOutput::is_ours() const {
  struct stat status {};
  return ::fstat(file_.number(), &status) == 0 && status.st_dev == device_ && status.st_ino == inode_;
}

const Descriptor& KeptOutput::descriptor() {
  if (!is_ours()) {
    file_.release();
    if (Result<Descriptor> again = open_output(path_, O_APPEND)) *this = KeptOutput(std::move(*again), path_);
  }
  return file_;
}

Status append_to_output(const std::string& path, std::string_view text) {
  const Result<Descriptor> file = open_output(path, O_APPEND);
  if (!file) return file.error();
  const Written written = write_output(*file, text);
  return written.error == 0 ? success() : cannot_write(path, std::strerror(written.error));
}

Status begin_output(const std::string& path) {
  struct stat status {};
  if (::stat(path.c_str(), &status) == 0 && S_ISFIFO(status.st_mode)) return success();
  const Result<Descriptor> file = open_output(path, O_TRUNC);
  if (!file) return file.error();
  return success();
}

}  // namespace lynxpp
