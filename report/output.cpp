#include "report/output.h"

#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <ctime>

namespace lynxpp::report {
namespace {

/// Keeps SIGPIPE from the calling thread and takes back the one its writes raised.
class SigpipeGuard {
 public:
  SigpipeGuard() {
    sigset_t pending;
    sigpending(&pending);
    was_pending_ = sigismember(&pending, SIGPIPE) == 1;
    sigemptyset(&sigpipe_);
    sigaddset(&sigpipe_, SIGPIPE);
    blocked_ = pthread_sigmask(SIG_BLOCK, &sigpipe_, &previous_) == 0;
  }
  ~SigpipeGuard() {
    if (!blocked_) return;
    if (!was_pending_) {
      const timespec no_wait{};
      while (sigtimedwait(&sigpipe_, nullptr, &no_wait) == -1 && errno == EINTR) {}
    }
    pthread_sigmask(SIG_SETMASK, &previous_, nullptr);
  }
  SigpipeGuard(const SigpipeGuard&) = delete;
  SigpipeGuard& operator=(const SigpipeGuard&) = delete;

 private:
  sigset_t sigpipe_;
  sigset_t previous_;
  bool was_pending_ = false;
  bool blocked_ = false;
};

}  // namespace

int write_fully(int descriptor, std::string_view bytes) {
  const SigpipeGuard guard;
  while (!bytes.empty()) {
    const ssize_t written = ::write(descriptor, bytes.data(), bytes.size());
    if (written < 0) {
      if (errno == EINTR) continue;
      return errno;
    }
    bytes.remove_prefix(static_cast<std::size_t>(written));
  }
  return 0;
}

}  // namespace lynxpp::report
