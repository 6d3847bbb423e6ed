// Streams and events.
#include "device/cpu/driver/api.h"
#include "device/cpu/driver/contexts.h"
#include "device/cpu/runtime/api.h"
#include "device/cpu/runtime/devices.h"
#include "device/cpu/runtime/streams.h"

namespace lynxpp::device::cpu::driver_api {
namespace {

CUresult add_stream(CUstream* stream, unsigned flags, int priority) {
  const cudaError_t error = api::cudaStreamCreateWithPriority(stream, flags, priority);
  if (error == cudaSuccess)
    contexts().with(current_context(), [&](Context& context) { context.streams.insert(*stream); });
  return result_of(error);
}

CUresult remove_stream(CUstream stream) {
  const cudaError_t error = api::cudaStreamDestroy(stream);
  if (error == cudaSuccess) contexts().with_all([&](Context& context) { context.streams.erase(stream); });
  return result_of(error);
}

CUresult elapsed(float* milliseconds, CUevent start, CUevent end) {
  return result_of(api::cudaEventElapsedTime(milliseconds, start, end));
}

CUresult store_context(CUstream stream, CUcontext* context) {
  if (context == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const auto found = streams().find(stream);
  if (found == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  *context =
      found->device == current_device() ? current_context() : contexts().primary_of_runtime(found->device);
  contexts().with_all([&](Context& each) {
    if (each.streams.contains(stream)) *context = reinterpret_cast<CUcontext>(&each);
  });
  return CUDA_SUCCESS;
}

}  // namespace

CUresult cuStreamCreate(CUstream* stream, unsigned int flags) { return add_stream(stream, flags, 0); }
CUresult cuStreamCreateWithPriority(CUstream* stream, unsigned int flags, int priority) {
  return add_stream(stream, flags, priority);
}
CUresult cuStreamDestroy(CUstream stream) { return remove_stream(stream); }
CUresult cuStreamDestroy_v2(CUstream stream) { return remove_stream(stream); }

CUresult cuStreamGetPriority(CUstream stream, int* priority) {
  return result_of(api::cudaStreamGetPriority(stream, priority));
}
// The driver's attributes have the runtime's numbers and layout.
CUresult cuStreamGetAttribute(CUstream stream, CUstreamAttrID attribute, CUstreamAttrValue* value) {
  static_assert(sizeof(CUstreamAttrValue) == sizeof(cudaLaunchAttributeValue));
  return result_of(api::cudaStreamGetAttribute(stream, static_cast<cudaLaunchAttributeID>(attribute),
                                               reinterpret_cast<cudaLaunchAttributeValue*>(value)));
}
CUresult cuStreamSetAttribute(CUstream stream, CUstreamAttrID attribute, const CUstreamAttrValue* value) {
  return result_of(api::cudaStreamSetAttribute(stream, static_cast<cudaLaunchAttributeID>(attribute),
                                               reinterpret_cast<const cudaLaunchAttributeValue*>(value)));
}
CUresult cuStreamCopyAttributes(CUstream to, CUstream from) {
  return result_of(api::cudaStreamCopyAttributes(to, from));
}
CUresult cuStreamGetId(CUstream stream, unsigned long long* id) {
  return result_of(api::cudaStreamGetId(stream, id));
}
CUresult cuStreamGetFlags(CUstream stream, unsigned int* flags) {
  return result_of(api::cudaStreamGetFlags(stream, flags));
}
CUresult cuStreamGetDevice(CUstream stream, CUdevice* device) {
  return result_of(api::cudaStreamGetDevice(stream, device));
}

CUresult cuStreamGetCtx(CUstream stream, CUcontext* context) { return store_context(stream, context); }

CUresult cuStreamGetCtx_v2(CUstream stream, CUcontext* context, CUgreenCtx* green) {
  if (green != nullptr) *green = nullptr;  // green contexts are not supported
  return store_context(stream, context);
}

CUresult cuStreamQuery(CUstream stream) { return result_of(api::cudaStreamQuery(stream)); }
CUresult cuStreamSynchronize(CUstream stream) { return result_of(api::cudaStreamSynchronize(stream)); }
CUresult cuStreamWaitEvent(CUstream stream, CUevent event, unsigned int flags) {
  return result_of(api::cudaStreamWaitEvent(stream, event, flags));
}

CUresult cuStreamAddCallback(CUstream stream, CUstreamCallback callback, void* data, unsigned int flags) {
  // Only the type of the callback's error differs; after a failed kernel its value is the same.
  return result_of(
      api::cudaStreamAddCallback(stream, reinterpret_cast<cudaStreamCallback_t>(callback), data, flags));
}

CUresult cuStreamIsCapturing(CUstream stream, CUstreamCaptureStatus* status) {
  return result_of(api::cudaStreamIsCapturing(stream, reinterpret_cast<cudaStreamCaptureStatus*>(status)));
}
CUresult cuThreadExchangeStreamCaptureMode(CUstreamCaptureMode* mode) {
  return result_of(api::cudaThreadExchangeStreamCaptureMode(reinterpret_cast<cudaStreamCaptureMode*>(mode)));
}

// ---------------------------------------------------------------- events

CUresult cuEventCreate(CUevent* event, unsigned int flags) {
  return result_of(api::cudaEventCreateWithFlags(event, flags));
}
CUresult cuEventDestroy(CUevent event) { return result_of(api::cudaEventDestroy(event)); }
CUresult cuEventDestroy_v2(CUevent event) { return result_of(api::cudaEventDestroy(event)); }
CUresult cuEventRecord(CUevent event, CUstream stream) {
  return result_of(api::cudaEventRecord(event, stream));
}
CUresult cuEventRecordWithFlags(CUevent event, CUstream stream, unsigned int flags) {
  return result_of(api::cudaEventRecordWithFlags(event, stream, flags));
}
CUresult cuEventQuery(CUevent event) { return result_of(api::cudaEventQuery(event)); }
CUresult cuEventSynchronize(CUevent event) { return result_of(api::cudaEventSynchronize(event)); }
CUresult cuEventElapsedTime(float* milliseconds, CUevent start, CUevent end) {
  return elapsed(milliseconds, start, end);
}
CUresult cuEventElapsedTime_v2(float* milliseconds, CUevent start, CUevent end) {
  return elapsed(milliseconds, start, end);
}

}  // namespace lynxpp::device::cpu::driver_api
