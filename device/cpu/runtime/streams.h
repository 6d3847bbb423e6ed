// Streams and events of the cpu device. Work is done in the order that CUDA's streams give it, on threads of
// the device's own: operations of one stream one after the other, those of the legacy default stream behind
// and before those of all blocking streams.
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

namespace lynxpp::device::cpu {

struct Stream;

struct Graph;
struct GraphNode;
struct GraphMemory;
struct KernelCall;

/// What becomes a node where the stream it is put into is captured: it may then be done any number of times.
struct Work {
  cudaGraphNodeType type = cudaGraphNodeTypeEmpty;
  std::function<void()> run;                       ///< null: nothing to do
  std::shared_ptr<const KernelCall> kernel;        ///< of a captured launch; else null
  std::shared_ptr<const GraphMemory> memory = {};  ///< of a node that allocates or frees; else null
};

/// What streams put into a graph instead of doing it. Streams that wait for an event of such a stream belong
/// to the capture as well. One that was invalidated keeps its streams from executing anything until the
/// program ends it: what was meant for the graph must not run in its place.
struct Capture {
  const Stream* origin = nullptr;  ///< not to be followed: it may be gone
  std::uint64_t id = 0;
  std::shared_ptr<Graph> graph;
  std::map<const Stream*, std::vector<GraphNode*>> ends;  ///< what the next node of each stream waits for
  bool invalidated = false;
  bool ended = false;
};

struct Stream {
  int device = 0;
  unsigned flags = cudaStreamDefault;
  int priority = 0;
  std::uint64_t id = 0;
  bool is_legacy = false;
  std::size_t unfinished = 0;        ///< operations; guarded by Streams
  std::shared_ptr<Capture> capture;  ///< guarded by Streams

  bool is_blocking() const { return !is_legacy && (flags & cudaStreamNonBlocking) == 0; }
};

/// Work in a stream. Its members belong to Streams.
struct Operation {
  enum class Kind {
    work,    ///< runs on a thread of the device's, unless a kernel has died before
    always,  ///< runs there even then
    mark,    ///< a place in the stream's order, with nothing to do or next to nothing
    turn,    ///< done by the thread that waits for it
  };
  bool has_thread() const { return kind == Kind::work || kind == Kind::always; }

  Kind kind = Kind::mark;
  std::function<void()> work;
  std::shared_ptr<Stream> stream;
  std::size_t waits_for = 0;  ///< operations before it
  std::vector<std::shared_ptr<Operation>> dependents;
  std::atomic<bool> done = false;
  bool is_awaited = false;  ///< somebody sleeps until it is done
  std::chrono::steady_clock::time_point finished;
  double modelled_finish = 0;  ///< in modelled seconds, where time is modelled
};
using OperationPtr = std::shared_ptr<Operation>;

struct Event {
  int device = 0;
  unsigned flags = cudaEventDefault;
  OperationPtr mark;                        ///< where it was recorded last; null: nowhere. Guarded by Streams
  std::shared_ptr<Capture> capture;         ///< it was recorded in; guarded by Streams
  std::vector<GraphNode*> captured_behind;  ///< there
};

/// While it lives on a thread, the null stream means that thread's own stream (the _ptsz and _ptds entry
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

/// While it lives on a thread, the thread runs a function of the program's, which must not call the API.
class CallbackScope {
 public:
  CallbackScope();
  ~CallbackScope();
  CallbackScope(const CallbackScope&) = delete;
  CallbackScope& operator=(const CallbackScope&) = delete;
  static bool active();
};

/// A stream's turn, taken by the calling thread: what was put into the stream before is over, what comes
/// later waits.
class StreamTurn {
 public:
  /// Waits. status() is that of Streams::admit(), or the device's sticky error when the stream's turn has
  /// come.
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

  /// For the current device, as events are.
  cudaStream_t create(unsigned flags, int priority);
  /// What is in the stream is still done.
  bool destroy(cudaStream_t handle);
  /// The stream a handle stands for, the null, legacy and per-thread handles included, which are the current
  /// device's; null when it is none.
  std::shared_ptr<Stream> find(cudaStream_t handle);
  /// A handle that stands for the same stream whatever the current device is.
  cudaStream_t fixed_handle(cudaStream_t handle);
  /// Streams and events.
  void destroy_all(int device);

  /// Whether work may be put into the stream. Errors: cudaErrorInvalidResourceHandle for a handle that is no
  /// stream, cudaErrorNotPermitted in a callback, cudaErrorStreamCaptureInvalidated while a capture that was
  /// refused has not ended.
  cudaError_t admit(cudaStream_t handle);
  /// Has `work` done when its turn in the stream has come; unless the device has failed by then. `operation`
  /// stands for it. Waits while a great many operations are in the stream. Errors: those of admit().
  /// While the stream is being captured the work becomes a node instead, and `operation` null.
  cudaError_t enqueue(cudaStream_t handle, Work work, OperationPtr* operation = nullptr);
  /// As above, and also when the device has failed.
  cudaError_t enqueue_always(cudaStream_t handle, std::function<void()> work);
  /// As above, for work that takes no time and does not use Streams.
  cudaError_t enqueue_brief(cudaStream_t handle, std::function<void()> work);

  /// True when everything in the stream is over.
  bool idle(Stream& stream);
  bool is_done(const OperationPtr& operation);
  /// Waits for what is in the stream now; for the legacy stream, for what is in blocking streams, too.
  void wait_for(Stream& stream);
  void wait_for(const OperationPtr& operation);
  /// Waits for all streams of a device, or of every one.
  void wait_for_device(int device);
  void wait_for_all();
  bool all_idle();
  /// The process is about to end: waits for all streams, for `patience` at most, ends the kernels that are
  /// then still running, and lets nobody wait any more. From then on work is done when it is enqueued.
  void finish(std::chrono::milliseconds patience);

  cudaEvent_t create_event(unsigned flags);
  bool destroy_event(cudaEvent_t handle);
  std::shared_ptr<Event> find_event(cudaEvent_t handle);
  /// Errors: those of admit(), cudaErrorInvalidResourceHandle for a stream of another device.
  cudaError_t record(Event& event, cudaStream_t handle);
  cudaError_t wait_event(cudaStream_t handle, Event& event);
  /// Where the event was recorded last.
  OperationPtr mark_of(Event& event);
  /// The last that is in the stream now; null: all is over.
  OperationPtr last_of(Stream& stream);
  /// What is put into the stream from now on waits for `before`, too.
  void put_behind(const std::shared_ptr<Stream>& stream, const OperationPtr& before);

  /// From now on what is put into the stream becomes nodes of `graph`. Errors: cudaErrorIllegalState when a
  /// capture has not ended; cudaErrorStreamCaptureUnsupported for the legacy stream.
  cudaError_t begin_capture(cudaStream_t handle, std::shared_ptr<Graph> graph);
  /// Gives the graph back where the capture has ended, with an error as well.
  /// Errors: cudaErrorIllegalState when there is no capture, cudaErrorStreamCaptureUnmatched when it began on
  /// another stream, cudaErrorStreamCaptureInvalidated, cudaErrorStreamCaptureUnjoined.
  cudaError_t end_capture(cudaStream_t handle, std::shared_ptr<Graph>& graph);
  /// Of a stream that is not captured null.
  std::shared_ptr<const Capture> capture_of(Stream& stream);
  /// What the next node of the stream's capture waits for; empty without a capture.
  std::vector<GraphNode*> capture_ends(Stream& stream);
  /// Whether the calling thread's work for the stream becomes part of a graph.
  bool capturing(cudaStream_t handle);
  /// What cannot be captured ends the stream's capture, if there is one: then
  /// cudaErrorStreamCaptureUnsupported.
  cudaError_t refuse_in_capture(cudaStream_t handle);

 private:
  friend class StreamTurn;
  using Ready = std::vector<OperationPtr>;

  static bool active(std::shared_ptr<Capture>& capture);
  bool captured(const std::shared_ptr<Stream>& stream, Work& work);
  std::shared_ptr<Stream> make(unsigned flags, int priority, int device);
  OperationPtr add(const std::shared_ptr<Stream>& stream, Operation::Kind kind, std::function<void()> work,
                   const OperationPtr& behind = nullptr);
  void append(const OperationPtr& operation, const OperationPtr& behind, Ready& ready);
  void complete(const OperationPtr& operation);
  Ready ready_behind(const OperationPtr& operation);
  void mark_done(const OperationPtr& operation, Ready& ready);
  void start(const Ready& ready);
  void run(OperationPtr operation);
  void do_work(Operation& operation);
  template <typename Wanted>
  std::vector<OperationPtr> last_operations(const Wanted& is_wanted);
  static bool goes_with(const Stream& each, const Stream& stream);
  void wait_for_each(const std::vector<OperationPtr>& operations);

  std::atomic<bool> has_captured_ = false;  ///< a capture has begun: only then streams are asked for theirs
  std::mutex mutex_;
  /// An operation that is waited for is done, a turn has come, all is over.
  std::condition_variable changed_;
  bool has_news_ = false;         ///< one of these: who waits is to be woken
  std::condition_variable room_;  ///< a stream that was full is half empty
  std::uint64_t next_id_ = 1;
  bool abandoned_ = false;  ///< nobody waits any more
  bool finished_ = false;
  std::vector<std::shared_ptr<Stream>> legacy_;  ///< of each device
  std::map<cudaStream_t, std::shared_ptr<Stream>> streams_;
  std::map<cudaEvent_t, std::shared_ptr<Event>> events_;
  std::unordered_map<const Stream*, OperationPtr> last_;  ///< of each stream with something to do
};

/// While it lives on a thread, the thread is in a function of the driver API: whoever stands before the
/// driver sees waits and copies by itself, so that observers (runtime.h) are not told.
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

/// While one lives on a thread, the first work that the thread would put into a stream is kept instead: for a
/// node of a graph, from the same calls and with the same checks.
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

/// To be called by the API's functions when the program has waited for the device.
void program_has_waited();

/// The process's streams. Never destroyed.
Streams& streams();

/// Stream priorities as hardware has them: lower numbers go first.
inline constexpr int least_stream_priority = 0;
inline constexpr int greatest_stream_priority = -5;

}  // namespace lynxpp::device::cpu
