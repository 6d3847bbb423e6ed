#include "device/cpu/runtime/streams.h"

#include <utility>

namespace lynxpp::device::cpu {
namespace {

thread_local bool null_is_per_thread = false;
// Set while the thread has a stream's turn: a callback that comes back to the API would wait for itself.
thread_local bool has_turn = false;

// A static destructor may still use the API after the thread's own objects are gone.
thread_local bool own_stream_gone = false;
struct OwnStream {
  std::shared_ptr<Stream> stream;
  ~OwnStream() { own_stream_gone = true; }
};

}  // namespace

Streams& streams() {
  static auto* const all = new Streams;
  return *all;
}

PerThreadDefaultStream::PerThreadDefaultStream() : before_(std::exchange(null_is_per_thread, true)) {}
PerThreadDefaultStream::~PerThreadDefaultStream() { null_is_per_thread = before_; }
bool PerThreadDefaultStream::active() { return null_is_per_thread; }

StreamTurn::StreamTurn(cudaStream_t handle) : StreamTurn(streams().find(handle)) {}

StreamTurn::StreamTurn(std::shared_ptr<Stream> stream) : stream_(std::move(stream)) {
  if (stream_ == nullptr) {
    status_ = cudaErrorInvalidResourceHandle;
  } else if (has_turn) {
    status_ = cudaErrorNotPermitted;
  } else if (streams().in_refused_capture(*stream_)) {
    status_ = cudaErrorStreamCaptureInvalidated;
  } else {
    acquire();
  }
}

void StreamTurn::acquire() {
  if (stream_->is_legacy) {
    all_blocking_ = std::unique_lock(streams().blocking_order());
  } else if (stream_->is_blocking()) {
    no_legacy_ = std::shared_lock(streams().blocking_order());
  }
  own_ = std::unique_lock(stream_->order);
  has_turn = true;
}

StreamTurn::~StreamTurn() {
  if (own_.owns_lock()) has_turn = false;
}

Streams::Streams() : legacy_(make(cudaStreamDefault, 0)) { legacy_->is_legacy = true; }

std::shared_ptr<Stream> Streams::make(unsigned flags, int priority) {
  auto stream = std::make_shared<Stream>();
  stream->flags = flags;
  stream->priority = priority;
  stream->id = next_id_++;
  return stream;
}

cudaStream_t Streams::create(unsigned flags, int priority) {
  const std::lock_guard lock(mutex_);
  auto stream = make(flags, priority);
  // The handle is opaque to the program; the object's own address is unique while it lives.
  auto* handle = reinterpret_cast<cudaStream_t>(stream.get());
  streams_[handle] = std::move(stream);
  return handle;
}

bool Streams::destroy(cudaStream_t handle) {
  const std::lock_guard lock(mutex_);
  return streams_.erase(handle) != 0;
}

std::shared_ptr<Stream> Streams::find(cudaStream_t handle) {
  if (handle == nullptr) handle = null_is_per_thread ? cudaStreamPerThread : cudaStreamLegacy;
  const std::lock_guard lock(mutex_);
  if (handle == cudaStreamLegacy) return legacy_;
  if (handle == cudaStreamPerThread) {
    if (own_stream_gone) return make(cudaStreamDefault, 0);
    thread_local OwnStream own;
    if (own.stream == nullptr) own.stream = make(cudaStreamDefault, 0);
    return own.stream;
  }
  const auto found = streams_.find(handle);
  return found != streams_.end() ? found->second : nullptr;
}

bool Streams::idle(Stream& stream) {
  // In a callback the asking thread itself is the one at work.
  if (has_turn) return false;
  if (!stream.order.try_lock()) return false;
  stream.order.unlock();
  return true;
}

void Streams::wait_for_all() {
  if (has_turn) return;
  std::vector<std::shared_ptr<Stream>> all;
  {
    const std::lock_guard lock(mutex_);
    for (const auto& [handle, stream] : streams_) all.push_back(stream);
  }
  for (const auto& stream : all) const std::lock_guard wait(stream->order);
  // Per-thread streams are blocking streams too, so the legacy stream's turn comes after theirs.
  const std::unique_lock wait(blocking_order_);
}

void Streams::destroy_all() {
  const std::lock_guard lock(mutex_);
  streams_.clear();
  events_.clear();
}

/// Precondition: `mutex_` is held. Forgets a capture that has ended.
bool Streams::active(std::shared_ptr<RefusedCapture>& capture) {
  if (capture != nullptr && capture->ended) capture.reset();
  return capture != nullptr;
}

cudaError_t Streams::refuse_capture(cudaStream_t handle) {
  const auto stream = find(handle);
  if (stream == nullptr) return cudaErrorInvalidResourceHandle;
  if (stream->is_legacy) return cudaErrorStreamCaptureUnsupported;
  const std::lock_guard lock(mutex_);
  if (active(stream->capture)) return cudaErrorIllegalState;
  stream->capture = std::make_shared<RefusedCapture>();
  stream->capture->origin = stream.get();
  return cudaSuccess;
}

cudaError_t Streams::end_capture(cudaStream_t handle) {
  const auto stream = find(handle);
  if (stream == nullptr) return cudaErrorInvalidResourceHandle;
  const std::lock_guard lock(mutex_);
  if (!active(stream->capture)) return cudaErrorIllegalState;
  if (stream->capture->origin != stream.get()) return cudaErrorStreamCaptureUnmatched;
  stream->capture->ended = true;
  return cudaSuccess;
}

bool Streams::in_refused_capture(Stream& stream) {
  const std::lock_guard lock(mutex_);
  return active(stream.capture);
}

bool Streams::join_capture(Event& event, Stream& stream) {
  const std::lock_guard lock(mutex_);
  event.capture = active(stream.capture) ? stream.capture : nullptr;
  return event.capture != nullptr;
}

bool Streams::join_capture(Stream& stream, Event& event) {
  const std::lock_guard lock(mutex_);
  if (active(event.capture) && !active(stream.capture)) stream.capture = event.capture;
  return active(stream.capture);
}

cudaEvent_t Streams::create_event(unsigned flags) {
  const std::lock_guard lock(mutex_);
  auto event = std::make_shared<Event>();
  event->flags = flags;
  auto* handle = reinterpret_cast<cudaEvent_t>(event.get());
  events_[handle] = std::move(event);
  return handle;
}

bool Streams::destroy_event(cudaEvent_t handle) {
  const std::lock_guard lock(mutex_);
  return events_.erase(handle) != 0;
}

std::shared_ptr<Event> Streams::find_event(cudaEvent_t handle) {
  const std::lock_guard lock(mutex_);
  const auto found = events_.find(handle);
  return found != events_.end() ? found->second : nullptr;
}

}  // namespace lynxpp::device::cpu
