// Scopes of the calling thread that change the meaning of API calls.
#pragma once

namespace lynxpp::device::cpu {

/// Makes the null stream mean the calling thread's own stream while it lives (the _ptsz and _ptds entry
/// points).
class PerThreadDefaultStream {
 public:
  PerThreadDefaultStream();
  ~PerThreadDefaultStream();
  PerThreadDefaultStream(const PerThreadDefaultStream&) = delete;
  PerThreadDefaultStream& operator=(const PerThreadDefaultStream&) = delete;
  static bool active();

 private:
  bool before_;
};

/// Marks the calling thread as running a function of the program that must not call the API, while it lives.
class CallbackScope {
 public:
  CallbackScope();
  ~CallbackScope();
  CallbackScope(const CallbackScope&) = delete;
  CallbackScope& operator=(const CallbackScope&) = delete;
  static bool active();
};

/// Marks the calling thread as inside a driver API function while it lives. An interceptor of the driver API
/// sees waits and copies itself, so the observers (runtime.h) are not called.
class DriverCall {
 public:
  DriverCall();
  ~DriverCall();
  DriverCall(const DriverCall&) = delete;
  DriverCall& operator=(const DriverCall&) = delete;
  static bool active();

 private:
  bool before_;
};

/// Called by API functions after the program has waited for the device.
void program_has_waited();

/// From now on no API call returns to the program: a signal is about to end the process, and the program must
/// not continue with results of abandoned kernels.
void hold_program();
/// Called when an API call is about to return.
void wait_if_held();

}  // namespace lynxpp::device::cpu
