// Prevents failed writes from ending the program.
#pragma once

#include <cerrno>
#include <csignal>
#include <ctime>

namespace lynxpp {

/// Blocks the signals of failed writes in the calling thread, and discards those raised while blocked, which
/// would end the program.
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
    const int error = errno;  // errno of the write, or the program's
    const timespec no_wait{};
    while (sigtimedwait(&ours_, nullptr, &no_wait) == -1 && errno == EINTR) {}
    pthread_sigmask(SIG_SETMASK, &previous_, nullptr);
    errno = error;
  }
  WriteSignalsBlocked(const WriteSignalsBlocked&) = delete;
  WriteSignalsBlocked& operator=(const WriteSignalsBlocked&) = delete;

 private:
  sigset_t blocked_;
  sigset_t ours_;  ///< those that were not already pending
  sigset_t previous_;
  bool is_blocked_ = false;
};

}  // namespace lynxpp
