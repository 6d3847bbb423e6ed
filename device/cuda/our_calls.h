// Calls of the driver that are lynxpp's own leave what the program does as it is.
#pragma once

#include "device/cuda/driver.h"

namespace lynxpp::device::cuda {

/// While the program captures a graph on some thread, calls such as asking an event or loading a module would
/// invalidate the capture; ours have nothing to do with it.
class CaptureRelaxed {
 public:
  explicit CaptureRelaxed(const Driver& driver) : driver_(driver) {
    driver_.cuThreadExchangeStreamCaptureMode(&mode_);
  }
  ~CaptureRelaxed() { driver_.cuThreadExchangeStreamCaptureMode(&mode_); }
  CaptureRelaxed(const CaptureRelaxed&) = delete;
  CaptureRelaxed& operator=(const CaptureRelaxed&) = delete;

 private:
  const Driver& driver_;
  CUstreamCaptureMode mode_ = CU_STREAM_CAPTURE_MODE_RELAXED;
};

/// For calls about a launch that is over, which may come from any thread: also makes its context current.
class InContext {
 public:
  InContext(const Driver& driver, CUcontext context)
      : driver_(driver), relaxed_(driver), is_current_(driver.cuCtxPushCurrent(context) == CUDA_SUCCESS) {}
  ~InContext() {
    CUcontext popped = nullptr;
    if (is_current_) driver_.cuCtxPopCurrent(&popped);
  }
  InContext(const InContext&) = delete;
  InContext& operator=(const InContext&) = delete;

 private:
  const Driver& driver_;
  CaptureRelaxed relaxed_;
  bool is_current_;
};

}  // namespace lynxpp::device::cuda
