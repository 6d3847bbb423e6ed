// Streams and events of the cpu device. Every operation runs on the calling thread and is finished when the
// call returns; what streams add is order between host threads: operations of one stream exclude each other,
// and the legacy default stream excludes all blocking streams, as CUDA's does.
#pragma once

#include <cuda_runtime_api.h>

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <shared_mutex>
#include <vector>

namespace lynxpp::device::cpu {

struct Stream;

/// The device does not record graphs. A stream whose capture was refused executes nothing until the program
/// ends the capture: what was meant for the graph must not run in its place. Streams that wait for an event
/// of such a stream belong to the capture as well.
struct RefusedCapture {
  const Stream* origin = nullptr;  ///< not to be followed: it may be gone
  bool ended = false;
};

struct Stream {
  unsigned flags = cudaStreamDefault;
  int priority = 0;
  std::uint64_t id = 0;
  bool is_legacy = false;
  std::mutex order;  ///< held while one of its operations runs
  std::shared_ptr<RefusedCapture> capture;  ///< guarded by Streams

  bool is_blocking() const { return !is_legacy && (flags & cudaStreamNonBlocking) == 0; }
};

struct Event {
  unsigned flags = cudaEventDefault;
  std::mutex mutex;
  bool recorded = false;
  std::chrono::steady_clock::time_point time;
  std::shared_ptr<RefusedCapture> capture;  ///< it was recorded in; guarded by Streams
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

/// Exclusive use of a stream.
class StreamTurn {
 public:
  /// Waits for the stream's turn. status() is cudaErrorInvalidResourceHandle for a handle that is no stream,
  /// cudaErrorNotPermitted inside a stream callback, which must not call the API, and
  /// cudaErrorStreamCaptureInvalidated while a capture that was refused has not ended.
  explicit StreamTurn(cudaStream_t handle);
  explicit StreamTurn(std::shared_ptr<Stream> stream);
  ~StreamTurn();
  StreamTurn(const StreamTurn&) = delete;
  StreamTurn& operator=(const StreamTurn&) = delete;

  cudaError_t status() const { return status_; }

 private:
  void acquire();

  std::shared_ptr<Stream> stream_;
  cudaError_t status_ = cudaSuccess;
  std::unique_lock<std::shared_mutex> all_blocking_;
  std::shared_lock<std::shared_mutex> no_legacy_;
  std::unique_lock<std::mutex> own_;
};

/// Thread safe.
class Streams {
 public:
  Streams();

  cudaStream_t create(unsigned flags, int priority);
  bool destroy(cudaStream_t handle);
  /// The stream a handle stands for, the null, legacy and per-thread handles included; null when it is none.
  std::shared_ptr<Stream> find(cudaStream_t handle);
  /// True when no operation of the stream is running in another thread.
  bool idle(Stream& stream);
  /// Waits for what other threads are running.
  void wait_for_all();
  void destroy_all();

  cudaEvent_t create_event(unsigned flags);
  bool destroy_event(cudaEvent_t handle);
  std::shared_ptr<Event> find_event(cudaEvent_t handle);

  /// From now on the stream executes nothing. Errors: cudaErrorIllegalState when a capture has not ended;
  /// cudaErrorStreamCaptureUnsupported for the legacy stream.
  cudaError_t refuse_capture(cudaStream_t handle);
  /// Errors: cudaErrorIllegalState when there is no capture, cudaErrorStreamCaptureUnmatched when it began on
  /// another stream.
  cudaError_t end_capture(cudaStream_t handle);
  bool in_refused_capture(Stream& stream);
  /// The event, recorded in the stream, or the stream, waiting for the event, belongs to the other's capture.
  /// False when there is none.
  bool join_capture(Event& event, Stream& stream);
  bool join_capture(Stream& stream, Event& event);

  std::shared_mutex& blocking_order() { return blocking_order_; }

 private:
  static bool active(std::shared_ptr<RefusedCapture>& capture);
  std::shared_ptr<Stream> make(unsigned flags, int priority);

  std::mutex mutex_;
  std::shared_mutex blocking_order_;  ///< the legacy stream holds it exclusively, blocking streams share it
  std::uint64_t next_id_ = 1;
  std::shared_ptr<Stream> legacy_;
  std::map<cudaStream_t, std::shared_ptr<Stream>> streams_;
  std::map<cudaEvent_t, std::shared_ptr<Event>> events_;
};

/// The process's streams. Never destroyed.
Streams& streams();

/// Stream priorities as hardware has them: lower numbers go first.
inline constexpr int least_stream_priority = 0;
inline constexpr int greatest_stream_priority = -5;

}  // namespace lynxpp::device::cpu
