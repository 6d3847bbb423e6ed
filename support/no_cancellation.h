// Header only.
#pragma once

#include <pthread.h>

namespace lynxpp {

/// Delays pthread_cancel() of the calling thread while it lives: inside lynxpp the thread holds locks, and
/// functions that the program calls must not be unwound.
class NoCancellation {
 public:
  NoCancellation() { pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before_); }
  ~NoCancellation() { pthread_setcancelstate(before_, nullptr); }
  NoCancellation(const NoCancellation&) = delete;
  NoCancellation& operator=(const NoCancellation&) = delete;

 private:
  int before_ = PTHREAD_CANCEL_ENABLE;
};

}  // namespace lynxpp
