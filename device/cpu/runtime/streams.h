// Streams and events of the cpu device. Threads of the device execute work in the order that CUDA specifies:
// operations of one stream one after the other, and operations of the legacy default stream ordered with
// those of all blocking streams.
#pragma once

#include <cuda_runtime_api.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "device/cpu/runtime/graphs/graph.h"
#include "device/cpu/runtime/stream.h"

namespace lynxpp::device::cpu {

/// A stream held by the calling thread: all earlier work in the stream is over, and later work waits.
class StreamTurn {
 public:
  /// Waits for the stream. status() is the error of Streams::admit(), or the device's sticky error after the
  /// wait.
  explicit StreamTurn(cudaStream_t handle);
  ~StreamTurn();
  StreamTurn(const StreamTurn&) = delete;
  StreamTurn& operator=(const StreamTurn&) = delete;

  cudaError_t status() const { return status_; }

 private:
  OperationPtr turn_;
  cudaError_t status_ = cudaSuccess;
};

/// Thread safe.
class Streams {
 public:
  Streams();

  /// Creates a stream of the current device. Events belong to the current device, too.
  cudaStream_t create(unsigned flags, int priority);
  /// Pending work in the stream still completes.
  bool destroy(cudaStream_t handle);
  /// Returns the stream of a handle; null if the handle is invalid. The null, legacy and per-thread handles
  /// refer to streams of the current device.
  std::shared_ptr<Stream> find(cudaStream_t handle);
  /// Returns a handle of the same stream that does not depend on the current device.
  cudaStream_t fixed_handle(cudaStream_t handle);
  /// Destroys streams and events.
  void destroy_all(int device);

  /// Checks that work may be added to the stream. Errors: cudaErrorInvalidResourceHandle for an invalid
  /// handle, cudaErrorNotPermitted in a callback, cudaErrorStreamCaptureInvalidated until an invalidated
  /// capture is ended.
  cudaError_t admit(cudaStream_t handle);
  /// Runs `work` when the stream reaches it, unless the device has failed by then; `operation` receives its
  /// handle. Blocks while the stream has too many pending operations. While the stream is being captured, the
  /// work becomes a node instead, and `operation` is null. Errors: those of admit().
  cudaError_t enqueue(cudaStream_t handle, Work work, OperationPtr* operation = nullptr);
  /// Same, but runs even if the device has failed.
  cudaError_t enqueue_always(cudaStream_t handle, std::function<void()> work);
  /// Same, for work that takes almost no time and does not use Streams.
  cudaError_t enqueue_brief(cudaStream_t handle, std::function<void()> work);

  /// Hints, without effect. An attribute that the program did not set is 0, or the stream's priority.
  cudaLaunchAttributeValue attribute_of(Stream& stream, cudaLaunchAttributeID attribute);
  void set_attribute(Stream& stream, cudaLaunchAttributeID attribute, const cudaLaunchAttributeValue& value);
  void copy_attributes(Stream& to, const Stream& from);

  /// True if everything in the stream is over.
  bool idle(Stream& stream);
  bool is_done(const OperationPtr& operation);
  /// Waits for all work in the stream; for the legacy stream, also for work in blocking streams.
  void wait_for(Stream& stream);
  void wait_for(const OperationPtr& operation);
  /// Waits for all streams of a device, or of all devices.
  void wait_for_device(int device);
  void wait_for_all();
  bool all_idle();
  /// Called at the end of the process: waits up to `patience` for all streams, aborts kernels that are still
  /// running, and wakes all waiting threads. Later work is executed synchronously.
  void finish(std::chrono::milliseconds patience);

  cudaEvent_t create_event(unsigned flags);
  bool destroy_event(cudaEvent_t handle);
  std::shared_ptr<Event> find_event(cudaEvent_t handle);
  /// Errors: those of admit(), cudaErrorInvalidResourceHandle for a stream of another device.
  cudaError_t record(Event& event, cudaStream_t handle);
  cudaError_t wait_event(cudaStream_t handle, Event& event);
  /// Returns the mark of the event's last record.
  OperationPtr mark_of(Event& event);
  /// Returns the last pending operation in the stream; null if everything is over.
  OperationPtr last_of(Stream& stream);
  /// Makes later work in the stream wait for `before`, too.
  void order_after(const std::shared_ptr<Stream>& stream, const OperationPtr& before);

  /// Starts adding the stream's work to `graph`. Errors: cudaErrorIllegalState if a capture is active;
  /// cudaErrorStreamCaptureUnsupported for the legacy stream.
  cudaError_t begin_capture(cudaStream_t handle, std::shared_ptr<Graph> graph);
  /// Ends the capture. Returns the graph whenever the capture has ended, even with an error. Errors:
  /// cudaErrorIllegalState without a capture, cudaErrorStreamCaptureUnmatched if it began on another stream,
  /// cudaErrorStreamCaptureInvalidated, cudaErrorStreamCaptureUnjoined.
  cudaError_t end_capture(cudaStream_t handle, std::shared_ptr<Graph>& graph);
  /// Returns the stream's capture; null if it is not being captured.
  std::shared_ptr<const Capture> capture_of(Stream& stream);
  /// Returns the dependencies of the next node of the stream's capture; empty without a capture.
  std::vector<GraphNode*> capture_ends(Stream& stream);
  /// True if the calling thread's work in the stream becomes part of a graph.
  bool capturing(cudaStream_t handle);
  /// Invalidates the stream's capture, if any, because of work that cannot be captured. Errors:
  /// cudaErrorStreamCaptureUnsupported, or cudaErrorStreamCaptureInvalidated if that has happened before.
  cudaError_t refuse_in_capture(cudaStream_t handle);

 private:
  friend class StreamTurn;
  using Ready = std::vector<OperationPtr>;

  static bool active(std::shared_ptr<Capture>& capture);
  bool captured(const std::shared_ptr<Stream>& stream, Work& work);
  std::shared_ptr<Stream> make(unsigned flags, int priority, int device);
  OperationPtr add(const std::shared_ptr<Stream>& stream, Operation::Kind kind, std::function<void()> work,
                   const OperationPtr& predecessor = nullptr);
  void append(const OperationPtr& operation, const OperationPtr& predecessor, Ready& ready);
  void complete(const OperationPtr& operation);
  Ready complete_and_collect(const OperationPtr& operation);
  void mark_done(const OperationPtr& operation, Ready& ready);
  void start(const Ready& ready);
  void run(OperationPtr operation);
  void do_work(Operation& operation);
  template <typename Wanted>
  std::vector<OperationPtr> last_operations(const Wanted& is_wanted);
  static bool goes_with(const Stream& each, const Stream& stream);
  void wait_for_each(const std::vector<OperationPtr>& operations);

  std::atomic<bool> has_captured_ = false;  ///< true after the first capture, to skip look-ups before
  std::mutex mutex_;
  /// Notified if an awaited operation is done, a turn has come, or everything is over.
  std::condition_variable changed_;
  bool must_notify_ = false;      ///< true if changed_ must be notified
  std::condition_variable room_;  ///< notified when a full stream is half empty
  std::uint64_t next_id_ = 1;
  bool abandoned_ = false;  ///< true after finish() has abandoned work: nobody waits
  bool finished_ = false;
  std::vector<std::shared_ptr<Stream>> legacy_;  ///< one per device
  std::map<cudaStream_t, std::shared_ptr<Stream>> streams_;
  std::map<cudaEvent_t, std::shared_ptr<Event>> events_;
  std::unordered_map<const Stream*, OperationPtr> last_;  ///< last pending operation of each busy stream
};

/// Records the first work that the thread enqueues while it lives, instead of enqueueing it: graph nodes are
/// made by the same calls, with the same checks.
class RecordedWork {
 public:
  RecordedWork();
  ~RecordedWork();
  RecordedWork(const RecordedWork&) = delete;
  RecordedWork& operator=(const RecordedWork&) = delete;

  Work take() { return std::move(work_); }

 private:
  friend class Streams;
  Work work_;
};

/// Returns the process's streams. Never destroyed.
Streams& streams();

/// Stream priorities, as on hardware: lower numbers take precedence.
inline constexpr int least_stream_priority = 0;
inline constexpr int greatest_stream_priority = -5;

}  // namespace lynxpp::device::cpu
