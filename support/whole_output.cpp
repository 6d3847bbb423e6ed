#include "support/whole_output.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <ctime>

#include "support/write_signals.h"

namespace lynxpp {
namespace {

/// A record lock belongs to the process; a flock would be shared by a forked child and its parent.
class Turn {
 public:
  explicit Turn(int descriptor) : descriptor_(descriptor) {
    constexpr timespec pause{0, 2'000'000};
    constexpr int most_pauses = 500;
    for (int i = 0; i < most_pauses; ++i) {
      if (set(F_WRLCK) == 0 || (errno != EAGAIN && errno != EACCES && errno != EINTR)) return;
      nanosleep(&pause, nullptr);
    }
  }
  ~Turn() { set(F_UNLCK); }
  Turn(const Turn&) = delete;
  Turn& operator=(const Turn&) = delete;

 private:
  int set(short kind) const {
    struct flock lock {};
    lock.l_type = kind;
    lock.l_whence = SEEK_SET;
    return fcntl(descriptor_, F_SETLK, &lock);
  }

  int descriptor_;
};

}  // namespace

int write_whole(int descriptor, std::string_view text) {
  const Turn turn(descriptor);
  const WriteSignalsBlocked blocked;
  while (!text.empty()) {
    const ssize_t written = write(descriptor, text.data(), text.size());
    if (written >= 0) {
      text.remove_prefix(static_cast<std::size_t>(written));
    } else if (errno != EINTR) {
      return errno;
    }
  }
  return 0;
}

}  // namespace lynxpp
