// Streams, events, and the last error.
#include "device/cpu/runtime/api.h"
#include "device/cpu/runtime/call_scopes.h"
#include "device/cpu/runtime/clock.h"
#include "device/cpu/runtime/error.h"
#include "device/cpu/runtime/graphs/graph_nodes.h"
#include "device/cpu/runtime/graphs/graphs.h"
#include "device/cpu/runtime/streams.h"

#include <algorithm>
#include <atomic>
#include <utility>
#include <vector>

namespace lynxpp::device::cpu::api {
namespace {

cudaError_t create_stream(cudaStream_t* stream, unsigned flags, int priority) {
  if (stream == nullptr || (flags & ~unsigned{cudaStreamNonBlocking}) != 0) return cudaErrorInvalidValue;
  // Clamp priorities to the valid range, as CUDA does.
  *stream = streams().create(flags, std::clamp(priority, greatest_stream_priority, least_stream_priority));
  return cudaSuccess;
}

cudaError_t create_event(cudaEvent_t* event, unsigned flags) {
  constexpr unsigned known = cudaEventBlockingSync | cudaEventDisableTiming | cudaEventInterprocess;
  if (event == nullptr || (flags & ~known) != 0) return cudaErrorInvalidValue;
  if ((flags & cudaEventInterprocess) != 0) {
    return (flags & cudaEventDisableTiming) != 0 ? cudaErrorNotSupported : cudaErrorInvalidValue;
  }
  *event = streams().create_event(flags);
  return cudaSuccess;
}

cudaError_t record(cudaEvent_t handle, cudaStream_t stream) {
  const auto event = streams().find_event(handle);
  return event != nullptr ? streams().record(*event, stream) : cudaErrorInvalidResourceHandle;
}

/// Runs `read` on the stream if the handle and the result pointer are valid.
template <typename Read>
cudaError_t inspect(cudaStream_t handle, const void* result, Read read) {
  if (result == nullptr) return cudaErrorInvalidValue;
  const auto stream = streams().find(handle);
  if (stream == nullptr) return cudaErrorInvalidResourceHandle;
  read(*stream);
  return cudaSuccess;
}

cudaStreamCaptureStatus capture_status(Stream& stream) {
  const auto capture = streams().capture_of(stream);
  if (capture == nullptr) return cudaStreamCaptureStatusNone;
  return capture->invalidated ? cudaStreamCaptureStatusInvalidated : cudaStreamCaptureStatusActive;
}

bool is_stream_attribute(cudaLaunchAttributeID attribute) {
  return attribute == cudaLaunchAttributeAccessPolicyWindow ||
         attribute == cudaLaunchAttributeSynchronizationPolicy || attribute == cudaLaunchAttributePriority ||
         attribute == cudaLaunchAttributeMemSyncDomain || attribute == cudaLaunchAttributeMemSyncDomainMap;
}

/// True if an external event becomes a node of the graph that captures the stream.
bool becomes_node(cudaStream_t stream, unsigned flags) {
  static_assert(unsigned{cudaEventRecordExternal} == unsigned{cudaEventWaitExternal});
  return flags == cudaEventWaitExternal && streams().capturing(stream);
}

}  // namespace

cudaError_t cudaStreamCreate(cudaStream_t* stream) { return create_stream(stream, cudaStreamDefault, 0); }
cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned int flags) {
  return create_stream(stream, flags, 0);
}
cudaError_t cudaStreamCreateWithPriority(cudaStream_t* stream, unsigned int flags, int priority) {
  return create_stream(stream, flags, priority);
}

cudaError_t cudaStreamDestroy(cudaStream_t stream) {
  return streams().destroy(stream) ? cudaSuccess : cudaErrorInvalidResourceHandle;
}

cudaError_t cudaStreamGetFlags(cudaStream_t handle, unsigned int* flags) {
  return inspect(handle, flags, [&](const Stream& stream) { *flags = stream.flags; });
}

cudaError_t cudaStreamGetPriority(cudaStream_t handle, int* priority) {
  return inspect(handle, priority, [&](const Stream& stream) { *priority = stream.priority; });
}

cudaError_t cudaStreamGetId(cudaStream_t handle, unsigned long long* id) {
  return inspect(handle, id, [&](const Stream& stream) { *id = stream.id; });
}

cudaError_t cudaStreamGetDevice(cudaStream_t handle, int* device) {
  return inspect(handle, device, [&](const Stream& stream) { *device = stream.device; });
}

cudaError_t cudaStreamGetAttribute(cudaStream_t handle, cudaLaunchAttributeID attribute,
                                   cudaLaunchAttributeValue* value) {
  if (!is_stream_attribute(attribute)) return cudaErrorInvalidValue;
  return inspect(handle, value, [&](Stream& stream) { *value = streams().attribute_of(stream, attribute); });
}

cudaError_t cudaStreamSetAttribute(cudaStream_t handle, cudaLaunchAttributeID attribute,
                                   const cudaLaunchAttributeValue* value) {
  if (!is_stream_attribute(attribute)) return cudaErrorInvalidValue;
  return inspect(handle, value, [&](Stream& stream) { streams().set_attribute(stream, attribute, *value); });
}

cudaError_t cudaStreamCopyAttributes(cudaStream_t to, cudaStream_t from) {
  const auto source = streams().find(from);
  if (source == nullptr) return cudaErrorInvalidResourceHandle;
  return inspect(to, source.get(), [&](Stream& stream) { streams().copy_attributes(stream, *source); });
}

cudaError_t cudaStreamQuery(cudaStream_t handle) {
  const auto stream = streams().find(handle);
  if (stream == nullptr) return cudaErrorInvalidResourceHandle;
  if (const cudaError_t error = streams().refuse_in_capture(handle); error != cudaSuccess) return error;
  // In a callback, the callback's own stream is busy.
  return streams().idle(*stream) ? sticky_error(stream->device) : cudaErrorNotReady;
}

cudaError_t cudaStreamSynchronize(cudaStream_t handle) {
  if (const cudaError_t error = streams().refuse_in_capture(handle); error != cudaSuccess) return error;
  if (const cudaError_t error = streams().admit(handle); error != cudaSuccess) return error;
  const auto stream = streams().find(handle);
  streams().wait_for(*stream);
  program_has_waited();
  return sticky_error(stream->device);
}

cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t handle, unsigned int flags) {
  if (flags != cudaEventWaitDefault && flags != cudaEventWaitExternal) return cudaErrorInvalidValue;
  const auto event = streams().find_event(handle);
  if (event == nullptr) return cudaErrorInvalidResourceHandle;
  if (becomes_node(stream, flags))
    return streams().enqueue(stream, event_work(event, handle, cudaGraphNodeTypeWaitEvent));
  return streams().wait_event(stream, *event);
}

cudaError_t cudaStreamAddCallback(cudaStream_t stream, cudaStreamCallback_t callback, void* data,
                                  unsigned int flags) {
  if (callback == nullptr || flags != 0) return cudaErrorInvalidValue;
  return streams().enqueue_always(stream, [=] {
    const CallbackScope scope;
    callback(stream, sticky_error(), data);
  });
}

cudaError_t cudaLaunchHostFunc(cudaStream_t stream, cudaHostFn_t function, void* data) {
  if (function == nullptr) return cudaErrorInvalidValue;
  return streams().enqueue(stream, {cudaGraphNodeTypeHost,
                                    [=] {
                                      const CallbackScope scope;
                                      function(data);
                                    },
                                    nullptr,
                                    {},
                                    {},
                                    cudaHostNodeParams{function, data}});
}

cudaError_t cudaStreamBeginCapture(cudaStream_t stream, enum cudaStreamCaptureMode mode) {
  if (mode < cudaStreamCaptureModeGlobal || mode > cudaStreamCaptureModeRelaxed) return cudaErrorInvalidValue;
  auto graph = std::make_shared<Graph>();
  const cudaError_t error = streams().begin_capture(stream, graph);
  // The program may query the graph during the capture.
  if (error == cudaSuccess) graphs().enter(std::move(graph));
  return error;
}

cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t* graph) {
  if (graph == nullptr) return cudaErrorInvalidValue;
  *graph = nullptr;
  std::shared_ptr<Graph> captured;
  const cudaError_t error = streams().end_capture(stream, captured);
  if (captured == nullptr) return error;
  const auto handle = reinterpret_cast<cudaGraph_t>(captured.get());
  if (error == cudaSuccess)
    *graph = handle;
  else
    graphs().destroy(handle);
  return error;
}

cudaError_t cudaStreamIsCapturing(cudaStream_t stream, enum cudaStreamCaptureStatus* status) {
  return inspect(stream, status, [&](Stream& found) { *status = capture_status(found); });
}

cudaError_t cudaStreamGetCaptureInfo(cudaStream_t stream, enum cudaStreamCaptureStatus* status,
                                     unsigned long long* id, cudaGraph_t* graph,
                                     const cudaGraphNode_t** nodes, const cudaGraphEdgeData** edges,
                                     size_t* count) {
  return inspect(stream, status, [&](Stream& found) {
    *status = capture_status(found);
    const auto capture = streams().capture_of(found);
    if (id != nullptr) *id = capture != nullptr ? capture->id : 0;
    if (graph != nullptr)
      *graph = capture != nullptr ? reinterpret_cast<cudaGraph_t>(capture->graph.get()) : nullptr;
    // The arrays are valid until the next call.
    thread_local std::vector<GraphNode*> ends;
    thread_local std::vector<cudaGraphEdgeData> plain;
    ends = streams().capture_ends(found);
    plain.assign(ends.size(), {});
    if (nodes != nullptr) *nodes = reinterpret_cast<const cudaGraphNode_t*>(ends.data());
    if (edges != nullptr) *edges = plain.data();
    if (count != nullptr) *count = ends.size();
  });
}

cudaError_t cudaThreadExchangeStreamCaptureMode(enum cudaStreamCaptureMode* mode) {
  if (mode == nullptr) return cudaErrorInvalidValue;
  thread_local cudaStreamCaptureMode current = cudaStreamCaptureModeGlobal;
  std::swap(current, *mode);
  return cudaSuccess;
}

// ---------------------------------------------------------------- events

cudaError_t cudaEventCreate(cudaEvent_t* event) { return create_event(event, cudaEventDefault); }
cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned int flags) {
  return create_event(event, flags);
}

cudaError_t cudaEventDestroy(cudaEvent_t event) {
  return streams().destroy_event(event) ? cudaSuccess : cudaErrorInvalidResourceHandle;
}

cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) { return record(event, stream); }

cudaError_t cudaEventRecordWithFlags(cudaEvent_t event, cudaStream_t stream, unsigned int flags) {
  if (flags != cudaEventRecordDefault && flags != cudaEventRecordExternal) return cudaErrorInvalidValue;
  const auto found = streams().find_event(event);
  if (found != nullptr && becomes_node(stream, flags))
    return streams().enqueue(stream, event_work(found, event, cudaGraphNodeTypeEventRecord));
  return record(event, stream);
}

cudaError_t cudaEventQuery(cudaEvent_t handle) {
  const auto event = streams().find_event(handle);
  if (event == nullptr) return cudaErrorInvalidResourceHandle;
  const OperationPtr mark = streams().mark_of(*event);
  return mark == nullptr || streams().is_done(mark) ? sticky_error(event->device) : cudaErrorNotReady;
}

cudaError_t cudaEventSynchronize(cudaEvent_t handle) {
  const auto event = streams().find_event(handle);
  if (event == nullptr) return cudaErrorInvalidResourceHandle;
  if (CallbackScope::active()) return cudaErrorNotPermitted;
  if (const OperationPtr mark = streams().mark_of(*event)) streams().wait_for(mark);
  program_has_waited();
  return sticky_error(event->device);
}

cudaError_t cudaEventElapsedTime(float* milliseconds, cudaEvent_t start, cudaEvent_t end) {
  if (milliseconds == nullptr) return cudaErrorInvalidValue;
  OperationPtr marks[2];
  const cudaEvent_t handles[2] = {start, end};
  int device = -1;
  for (int i = 0; i < 2; ++i) {
    const auto event = streams().find_event(handles[i]);
    if (event == nullptr || (event->flags & cudaEventDisableTiming) != 0)
      return cudaErrorInvalidResourceHandle;
    const OperationPtr mark = streams().mark_of(*event);
    const bool is_of_other_device = std::exchange(device, event->device) != event->device && i != 0;
    if (mark == nullptr || is_of_other_device) return cudaErrorInvalidResourceHandle;
    if (!streams().is_done(mark)) return cudaErrorNotReady;
    marks[i] = mark;
  }
  *milliseconds =
      modelled_machine() != nullptr
          ? static_cast<float>((marks[1]->modelled_finish - marks[0]->modelled_finish) * 1e3)
          : std::chrono::duration<float, std::milli>(marks[1]->finished - marks[0]->finished).count();
  return cudaSuccess;
}

// ---------------------------------------------------------------- errors

cudaError_t cudaGetLastError() { return take_last_error(); }
cudaError_t cudaPeekAtLastError() { return peek_last_error(); }
const char* cudaGetErrorName(cudaError_t error) { return error_name(error); }
const char* cudaGetErrorString(cudaError_t error) { return error_text(error); }

}  // namespace lynxpp::device::cpu::api
