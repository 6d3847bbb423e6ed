// Files that cannot be written do not end the program.
#pragma once

#include <cerrno>
#include <csignal>
#include <ctime>

namespace lynxpp {

/// Keeps the signals of writes that cannot be made from the calling thread, and takes back those that its own
/// have raised: they would end the program.
class WriteSignalsBlocked {
 public:
  WriteSignalsBlocked() {
    sigset_t pending;
    sigpending(&pending);
    sigemptyset(&blocked_);
    sigemptyset(&ours_);
    for (const int signal : {SIGPIPE, SIGXFSZ}) {
      sigaddset(&blocked_, signal);
      if (sigismember(&pending, signal) != 1) sigaddset(&ours_, signal);
    }
    is_blocked_ = pthread_sigmask(SIG_BLOCK, &blocked_, &previous_) == 0;
  }
  ~WriteSignalsBlocked() {
    if (!is_blocked_) return;
    const int error = errno;  // of the write, or what the program has there
    const timespec no_wait{};
    while (sigtimedwait(&ours_, nullptr, &no_wait) == -1 && errno == EINTR) {}
    pthread_sigmask(SIG_SETMASK, &previous_, nullptr);
    errno = error;
  }
  WriteSignalsBlocked(const WriteSignalsBlocked&) = delete;
  WriteSignalsBlocked& operator=(const WriteSignalsBlocked&) = delete;

 private:
  sigset_t blocked_;
  sigset_t ours_;  ///< that are not pending for another reason
  sigset_t previous_;
  bool is_blocked_ = false;
};

}  // namespace lynxpp
