// Isolates lynxpp's own driver calls from the program's state.
#pragma once

#include "device/cuda/driver.h"
#include "device/device.h"

namespace lynxpp::device::cuda {

/// Returns the launch's stream, with explicit handles for the null stream, however this library was compiled.
inline CUstream stream_of(const Launch& launch) {
  if (launch.stream != nullptr) return static_cast<CUstream>(launch.stream);
  return launch.per_thread_stream ? CU_STREAM_PER_THREAD : CU_STREAM_LEGACY;
}

/// Keeps lynxpp's calls (querying an event, loading a module) from invalidating a graph capture in progress
/// on any thread. Nested objects call nothing.
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

/// Makes a launch's context current, for calls from any thread after the launch. Nested objects for the same
/// context call nothing.
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
