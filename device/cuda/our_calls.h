// Calls of the driver that are lynxpp's own leave what the program does as it is.
#pragma once

#include "device/cuda/driver.h"
#include "device/device.h"

namespace lynxpp::device::cuda {

/// The handles that mean "the null stream" explicitly, whichever way this library was compiled.
inline CUstream stream_of(const Launch& launch) {
  if (launch.stream != nullptr) return static_cast<CUstream>(launch.stream);
  return launch.per_thread_stream ? CU_STREAM_PER_THREAD : CU_STREAM_LEGACY;
}

/// While the program captures a graph on some thread, calls such as asking an event or loading a module would
/// invalidate the capture; ours have nothing to do with it. Within another one it calls nothing.
class CaptureRelaxed {
 public:
  explicit CaptureRelaxed(const Driver& driver) : driver_(driver) {
    if (depth_++ == 0) driver_.cuThreadExchangeStreamCaptureMode(&mode_);
  }
  ~CaptureRelaxed() {
    if (--depth_ == 0) driver_.cuThreadExchangeStreamCaptureMode(&mode_);
  }
  CaptureRelaxed(const CaptureRelaxed&) = delete;
  CaptureRelaxed& operator=(const CaptureRelaxed&) = delete;

 private:
  inline static thread_local int depth_ = 0;
  const Driver& driver_;
  CUstreamCaptureMode mode_ = CU_STREAM_CAPTURE_MODE_RELAXED;
};

/// For calls about a launch that is over, which may come from any thread: also makes its context current.
/// Within another one of the same context it calls nothing.
class InContext {
 public:
  InContext(const Driver& driver, CUcontext context) : driver_(driver), relaxed_(driver), outer_(innermost_) {
    is_pushed_ = context != outer_ && driver_.cuCtxPushCurrent(context) == CUDA_SUCCESS;
    if (is_pushed_) innermost_ = context;
  }
  ~InContext() {
    CUcontext popped = nullptr;
    if (is_pushed_) driver_.cuCtxPopCurrent(&popped);
    innermost_ = outer_;
  }
  InContext(const InContext&) = delete;
  InContext& operator=(const InContext&) = delete;

 private:
  const Driver& driver_;
  inline static thread_local CUcontext innermost_ = nullptr;
  const CaptureRelaxed relaxed_;
  CUcontext outer_;
  bool is_pushed_ = false;
};

}  // namespace lynxpp::device::cuda
