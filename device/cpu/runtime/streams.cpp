#include "device/cpu/runtime/streams.h"

#include <algorithm>
#include <array>
#include <exception>
#include <set>
#include <utility>

#include "device/cpu/runtime/call_scopes.h"
#include "device/cpu/runtime/clock.h"
#include "device/cpu/runtime/devices.h"
#include "device/cpu/runtime/error.h"
#include "device/cpu/runtime/graphs/graphs.h"
#include "device/cpu/simt/execute/device_output.h"
#include "device/cpu/simt/execute/launch_control.h"
#include "device/cpu/simt/execute/order/worker_pool.h"
#include "support/log.h"

namespace lynxpp::device::cpu {
namespace {

/// Similar to the number of pending launches that hardware accepts before a launch blocks.
constexpr std::size_t most_unfinished = 1024;
/// How long to wait for kernels to stop after they are aborted.
constexpr std::chrono::seconds abandoning_patience{2};

thread_local RecordedWork* recorded_work = nullptr;

// A static destructor may still use the API after the thread's own objects are destroyed.
thread_local bool own_stream_gone = false;
struct OwnStream {
  std::array<std::shared_ptr<Stream>, most_devices> streams;  // one per device
  ~OwnStream() { own_stream_gone = true; }
};
OwnStream& own_streams() {
  thread_local OwnStream own;
  return own;
}

/// Handles are opaque to the program; an object's address is unique while it lives.
cudaStream_t handle_of(const std::shared_ptr<Stream>& stream) {
  return reinterpret_cast<cudaStream_t>(stream.get());
}

}  // namespace

RecordedWork::RecordedWork() { recorded_work = this; }
RecordedWork::~RecordedWork() { recorded_work = nullptr; }

Streams& streams() {
  static auto* const all = new Streams;
  return *all;
}

StreamTurn::StreamTurn(cudaStream_t handle) {
  Streams& all = streams();
  status_ = all.refuse_in_capture(handle);
  if (status_ == cudaSuccess) status_ = all.admit(handle);
  if (status_ != cudaSuccess) return;
  const auto stream = all.find(handle);
  turn_ = all.add(stream, Operation::Kind::turn, {});
  {
    std::unique_lock lock(all.mutex_);
    all.changed_.wait(lock, [&] { return turn_->waits_for == 0 || all.abandoned_; });
  }
  device_output().flush();
  program_has_waited();
  status_ = sticky_error(stream->device);
}

StreamTurn::~StreamTurn() {
  if (turn_ != nullptr) streams().complete(turn_);
}

// ---------------------------------------------------------------- operations

Streams::Streams() {
  for (int device = 0; device < device_count(); ++device)
    legacy_.emplace_back(make(cudaStreamDefault, 0, device))->is_legacy = true;
}

cudaError_t Streams::admit(cudaStream_t handle) {
  const auto stream = find(handle);
  if (stream == nullptr) return cudaErrorInvalidResourceHandle;
  if (CallbackScope::active()) return cudaErrorNotPermitted;
  const auto capture = capture_of(*stream);
  return capture != nullptr && capture->invalidated ? cudaErrorStreamCaptureInvalidated : cudaSuccess;
}

cudaError_t Streams::enqueue(cudaStream_t handle, Work work, OperationPtr* operation) {
  if (const cudaError_t error = admit(handle); error != cudaSuccess) return error;
  if (recorded_work != nullptr) {
    recorded_work->work_ = std::move(work);
    return cudaSuccess;
  }
  const auto stream = find(handle);
  if (captured(stream, work)) return cudaSuccess;
  const OperationPtr added = add(stream, Operation::Kind::work, std::move(work.run));
  if (operation != nullptr) *operation = added;
  return cudaSuccess;
}

cudaError_t Streams::enqueue_always(cudaStream_t handle, std::function<void()> work) {
  if (const cudaError_t error = refuse_in_capture(handle); error != cudaSuccess) return error;
  if (const cudaError_t error = admit(handle); error != cudaSuccess) return error;
  add(find(handle), Operation::Kind::always, std::move(work));
  return cudaSuccess;
}

cudaError_t Streams::enqueue_brief(cudaStream_t handle, std::function<void()> work) {
  if (const cudaError_t error = refuse_in_capture(handle); error != cudaSuccess) return error;
  if (const cudaError_t error = admit(handle); error != cudaSuccess) return error;
  add(find(handle), Operation::Kind::mark, std::move(work));
  return cudaSuccess;
}

/// Appends an operation to the stream. It also waits for `predecessor` unless that is null.
OperationPtr Streams::add(const std::shared_ptr<Stream>& stream, Operation::Kind kind,
                          std::function<void()> work, const OperationPtr& predecessor) {
  auto operation = std::make_shared<Operation>();
  operation->kind = kind;
  operation->work = std::move(work);
  operation->stream = stream;
  Ready ready;
  bool at_once = false;
  {
    std::unique_lock lock(mutex_);
    if (stream->unfinished >= most_unfinished)
      room_.wait(lock, [&] { return stream->unfinished <= most_unfinished / 2 || abandoned_; });
    append(operation, predecessor, ready);
    at_once = finished_;
  }
  start(ready);
  if (at_once && operation->has_thread()) wait_for(operation);
  return operation;
}

/// Precondition of this and mark_done(): `mutex_` is held.
void Streams::append(const OperationPtr& operation, const OperationPtr& predecessor, Ready& ready) {
  const auto wait_for_one = [&](const OperationPtr& before) {
    if (before == nullptr || before->done) return;
    before->dependents.push_back(operation);
    ++operation->waits_for;
  };
  wait_for_one(predecessor);
  const Stream& own = *operation->stream;
  for (const auto& [other, last] : last_) {
    const bool is_ordered =
        other == &own || (other->device == own.device && ((own.is_legacy && other->is_blocking()) ||
                                                          (own.is_blocking() && other->is_legacy)));
    if (is_ordered) wait_for_one(last);
  }
  ++operation->stream->unfinished;
  last_[&own] = operation;
  if (operation->waits_for != 0) return;
  if (operation->kind == Operation::Kind::mark) mark_done(operation, ready);
  if (operation->has_thread()) ready.push_back(operation);
}

void Streams::complete(const OperationPtr& operation) { start(complete_and_collect(operation)); }

/// Completes the operation. Returns the operations that can start now.
Streams::Ready Streams::complete_and_collect(const OperationPtr& operation) {
  Ready ready;
  bool somebody_waits = false;
  {
    const std::lock_guard lock(mutex_);
    mark_done(operation, ready);
    somebody_waits = std::exchange(must_notify_, false);
  }
  if (somebody_waits) changed_.notify_all();
  return ready;
}

void Streams::mark_done(const OperationPtr& operation, Ready& ready) {
  std::vector<OperationPtr> over;  // marks that become complete
  for (OperationPtr each = operation; each != nullptr;) {
    if (each->work) each->work();
    each->work = nullptr;
    each->finished = std::chrono::steady_clock::now();
    each->modelled_finish = modelled_seconds();
    each->done = true;
    must_notify_ |= each->is_awaited;
    if (--each->stream->unfinished == most_unfinished / 2) room_.notify_all();
    const auto last = last_.find(each->stream.get());
    if (last != last_.end() && last->second == each) last_.erase(last);
    for (const OperationPtr& next : each->dependents) {
      if (--next->waits_for != 0) continue;
      if (next->kind == Operation::Kind::mark) over.push_back(next);
      if (next->has_thread()) ready.push_back(next);
      must_notify_ |= next->kind == Operation::Kind::turn;
    }
    each->dependents.clear();
    each = nullptr;
    if (over.empty()) break;
    each = std::move(over.back());
    over.pop_back();
  }
  must_notify_ |= last_.empty();
}

void Streams::start(const Ready& ready) {
  for (const OperationPtr& operation : ready) run_in_background([this, operation] { run(operation); });
}

/// Runs the operation and continues with a dependent one, which avoids waking another thread.
void Streams::run(OperationPtr operation) {
  while (operation != nullptr) {
    do_work(*operation);
    Ready ready = complete_and_collect(operation);
    operation = nullptr;
    if (ready.empty()) continue;
    operation = std::move(ready.back());
    ready.pop_back();
    start(ready);
  }
}

void Streams::do_work(Operation& operation) {
  const DeviceScope scope(operation.stream->device);
  try {
    // Skip work after a kernel has failed: its results are not reliable.
    if (operation.kind == Operation::Kind::always || sticky_error() == cudaSuccess) operation.work();
  } catch (const std::exception& error) {
    log().error("work in a stream of the cpu device failed: {}", error.what());
    set_sticky_error(cudaErrorUnknown);
  }
  operation.work = nullptr;
}

// ---------------------------------------------------------------- waiting

/// True if waiting for `stream` includes waiting for `each`.
bool Streams::goes_with(const Stream& each, const Stream& stream) {
  return &each == &stream || (stream.is_legacy && each.is_blocking() && each.device == stream.device);
}

/// Returns the last pending operation of each wanted stream. Precondition: `mutex_` is held.
template <typename Wanted>
std::vector<OperationPtr> Streams::last_operations(const Wanted& is_wanted) {
  std::vector<OperationPtr> found;
  for (const auto& [each, last] : last_) {
    if (is_wanted(*each)) found.push_back(last);
  }
  return found;
}

bool Streams::idle(Stream& stream) {
  const std::lock_guard lock(mutex_);
  return last_operations([&](const Stream& each) { return goes_with(each, stream); }).empty();
}

bool Streams::all_idle() {
  const std::lock_guard lock(mutex_);
  return last_.empty();
}

cudaLaunchAttributeValue Streams::attribute_of(Stream& stream, cudaLaunchAttributeID attribute) {
  const std::lock_guard lock(mutex_);
  if (const auto found = stream.attributes.find(attribute); found != stream.attributes.end())
    return found->second;
  cudaLaunchAttributeValue value{};
  if (attribute == cudaLaunchAttributePriority) value.priority = stream.priority;
  return value;
}

void Streams::set_attribute(Stream& stream, cudaLaunchAttributeID attribute,
                            const cudaLaunchAttributeValue& value) {
  const std::lock_guard lock(mutex_);
  stream.attributes[attribute] = value;
}

void Streams::copy_attributes(Stream& to, const Stream& from) {
  const std::lock_guard lock(mutex_);
  to.attributes = from.attributes;
}

bool Streams::is_done(const OperationPtr& operation) {
  const std::lock_guard lock(mutex_);
  return operation->done;
}

void Streams::wait_for(const OperationPtr& operation) {
  if (!soon([&] { return operation->done.load(); })) {
    std::unique_lock lock(mutex_);
    operation->is_awaited = true;
    changed_.wait(lock, [&] { return operation->done || abandoned_; });
  }
  device_output().flush();
}

void Streams::wait_for_each(const std::vector<OperationPtr>& operations) {
  for (const OperationPtr& each : operations) wait_for(each);
  device_output().flush();
}

void Streams::wait_for(Stream& stream) {
  std::vector<OperationPtr> last;
  {
    const std::lock_guard lock(mutex_);
    last = last_operations([&](const Stream& each) { return goes_with(each, stream); });
  }
  wait_for_each(last);
}

void Streams::wait_for_device(int device) {
  std::vector<OperationPtr> last;
  {
    const std::lock_guard lock(mutex_);
    last = last_operations([&](const Stream& each) { return each.device == device; });
  }
  wait_for_each(last);
}

void Streams::wait_for_all() {
  std::vector<OperationPtr> last;
  {
    const std::lock_guard lock(mutex_);
    last = last_operations([](const Stream&) { return true; });
  }
  wait_for_each(last);
}

void Streams::finish(std::chrono::milliseconds patience) {
  // A callback that ends the process is itself pending work.
  if (CallbackScope::active()) patience = {};
  std::unique_lock lock(mutex_);
  const auto all_over = [&] { return last_.empty(); };
  if (!changed_.wait_for(lock, patience, all_over)) {
    log().error("the program ends while the cpu device is still running; remaining work is abandoned");
    abandon_launches();
    changed_.wait_for(lock, CallbackScope::active() ? std::chrono::seconds{} : abandoning_patience, all_over);
    abandoned_ = true;
  }
  finished_ = true;
  changed_.notify_all();
  room_.notify_all();
  device_output().flush();
}

// ---------------------------------------------------------------- streams

std::shared_ptr<Stream> Streams::make(unsigned flags, int priority, int device) {
  auto stream = std::make_shared<Stream>();
  stream->device = device;
  stream->flags = flags;
  stream->priority = priority;
  stream->id = next_id_++;
  return stream;
}

cudaStream_t Streams::create(unsigned flags, int priority) {
  const std::lock_guard lock(mutex_);
  auto stream = make(flags, priority, current_device());
  auto* const handle = handle_of(stream);
  streams_[handle] = std::move(stream);
  return handle;
}

bool Streams::destroy(cudaStream_t handle) {
  const std::lock_guard lock(mutex_);
  const auto found = streams_.find(handle);
  if (found == streams_.end()) return false;
  // After the origin is destroyed, the capture cannot be ended by the program.
  if (Stream& stream = *found->second; active(stream.capture) && stream.capture->origin == &stream)
    stream.capture->ended = true;
  streams_.erase(found);
  return true;
}

std::shared_ptr<Stream> Streams::find(cudaStream_t handle) {
  if (handle == nullptr) handle = PerThreadDefaultStream::active() ? cudaStreamPerThread : cudaStreamLegacy;
  const int device = current_device();
  const auto index = static_cast<std::size_t>(device);
  if (handle == cudaStreamLegacy) return legacy_[index];  // legacy streams never change
  const std::lock_guard lock(mutex_);
  if (handle == cudaStreamPerThread) {
    if (own_stream_gone) return make(cudaStreamDefault, 0, device);
    std::shared_ptr<Stream>& own = own_streams().streams[index];
    if (own == nullptr) own = make(cudaStreamDefault, 0, device);
    return own;
  }
  if (const auto found = streams_.find(handle); found != streams_.end()) return found->second;
  const auto stands_for = [&](const std::shared_ptr<Stream>& each) { return handle_of(each) == handle; };
  if (const auto found = std::ranges::find_if(legacy_, stands_for); found != legacy_.end()) return *found;
  if (own_stream_gone) return nullptr;
  const auto& own = own_streams().streams;
  const auto found = std::ranges::find_if(own, stands_for);
  return found != own.end() ? *found : nullptr;
}

cudaStream_t Streams::fixed_handle(cudaStream_t handle) {
  const auto stream = find(handle);
  return stream != nullptr ? handle_of(stream) : handle;
}

void Streams::destroy_all(int device) {
  const std::lock_guard lock(mutex_);
  std::erase_if(streams_, [&](const auto& entry) { return entry.second->device == device; });
  std::erase_if(events_, [&](const auto& entry) { return entry.second->device == device; });
}

// ---------------------------------------------------------------- captures

/// Returns true if the capture is active, and forgets one that has ended. Precondition: `mutex_` is held.
bool Streams::active(std::shared_ptr<Capture>& capture) {
  if (capture != nullptr && capture->ended) capture.reset();
  return capture != nullptr;
}

cudaError_t Streams::begin_capture(cudaStream_t handle, std::shared_ptr<Graph> graph) {
  const auto stream = find(handle);
  if (stream == nullptr) return cudaErrorInvalidResourceHandle;
  if (stream->is_legacy) return cudaErrorStreamCaptureUnsupported;
  const std::lock_guard lock(mutex_);
  if (active(stream->capture)) return cudaErrorIllegalState;
  has_captured_.store(true);
  stream->capture = std::make_shared<Capture>();
  stream->capture->origin = stream.get();
  stream->capture->id = next_id_++;
  stream->capture->graph = std::move(graph);
  return cudaSuccess;
}

namespace {

/// True if every node of the graph is in `ends` or precedes one of them.
bool joins_all(const Graph& graph, const std::vector<GraphNode*>& ends) {
  std::set<const GraphNode*> reached;
  std::vector<const GraphNode*> open(ends.begin(), ends.end());
  while (!open.empty()) {
    const GraphNode* const node = open.back();
    open.pop_back();
    if (!reached.insert(node).second) continue;
    open.insert(open.end(), node->dependencies.begin(), node->dependencies.end());
  }
  return reached.size() == graph.nodes.size();
}

}  // namespace

cudaError_t Streams::end_capture(cudaStream_t handle, std::shared_ptr<Graph>& graph) {
  const auto stream = find(handle);
  if (stream == nullptr) return cudaErrorInvalidResourceHandle;
  const std::lock_guard lock(mutex_);
  if (!active(stream->capture)) return cudaErrorIllegalState;
  Capture& capture = *stream->capture;
  if (capture.origin != stream.get()) {
    capture.invalidated = true;
    return cudaErrorStreamCaptureUnmatched;
  }
  capture.ended = true;
  graph = capture.graph;
  if (capture.invalidated) return cudaErrorStreamCaptureInvalidated;
  return joins_all(*graph, capture.ends[stream.get()]) ? cudaSuccess : cudaErrorStreamCaptureUnjoined;
}

std::shared_ptr<const Capture> Streams::capture_of(Stream& stream) {
  if (!has_captured_.load()) return nullptr;
  const std::lock_guard lock(mutex_);
  return active(stream.capture) ? stream.capture : nullptr;
}

std::vector<GraphNode*> Streams::capture_ends(Stream& stream) {
  const std::lock_guard lock(mutex_);
  return active(stream.capture) ? stream.capture->ends[&stream] : std::vector<GraphNode*>{};
}

bool Streams::capturing(cudaStream_t handle) {
  if (recorded_work != nullptr) return true;
  if (!has_captured_.load()) return false;
  const auto stream = find(handle);
  return stream != nullptr && capture_of(*stream) != nullptr;
}

cudaError_t Streams::refuse_in_capture(cudaStream_t handle) {
  const auto stream = find(handle);
  if (stream == nullptr) return cudaErrorInvalidResourceHandle;
  const std::lock_guard lock(mutex_);
  if (!active(stream->capture)) return cudaSuccess;
  const bool was_good = !std::exchange(stream->capture->invalidated, true);
  return was_good ? cudaErrorStreamCaptureUnsupported : cudaErrorStreamCaptureInvalidated;
}

/// Adds the work as a node if the stream is being captured.
bool Streams::captured(const std::shared_ptr<Stream>& stream, Work& work) {
  if (!has_captured_.load()) return false;
  const std::lock_guard lock(mutex_);
  if (!active(stream->capture)) return false;
  std::vector<GraphNode*>& ends = stream->capture->ends[stream.get()];
  ends = {graphs().add_captured(*stream->capture->graph, ends, std::move(work))};
  return true;
}

// ---------------------------------------------------------------- events

cudaError_t Streams::record(Event& event, cudaStream_t handle) {
  const auto stream = find(handle);
  if (stream == nullptr || stream->device != event.device) return cudaErrorInvalidResourceHandle;
  {
    const std::lock_guard lock(mutex_);
    event.capture = active(stream->capture) ? stream->capture : nullptr;
    if (event.capture != nullptr) event.captured_ends = event.capture->ends[stream.get()];
  }
  if (const cudaError_t error = admit(handle); error != cudaSuccess) return error;
  if (event.capture != nullptr) return cudaSuccess;
  const OperationPtr mark = add(stream, Operation::Kind::mark, {});
  const std::lock_guard lock(mutex_);
  event.mark = mark;
  return cudaSuccess;
}

cudaError_t Streams::wait_event(cudaStream_t handle, Event& event) {
  if (const cudaError_t error = admit(handle); error != cudaSuccess) return error;
  const auto stream = find(handle);
  {
    const std::lock_guard lock(mutex_);
    const bool in_capture = active(stream->capture);
    if (active(event.capture)) {
      if (stream->is_legacy) return cudaErrorStreamCaptureImplicit;
      if (in_capture && stream->capture != event.capture) return cudaErrorStreamCaptureMerge;
      stream->capture = event.capture;
      std::vector<GraphNode*>& ends = stream->capture->ends[stream.get()];
      for (GraphNode* const each : event.captured_ends) {
        if (std::find(ends.begin(), ends.end(), each) == ends.end()) ends.push_back(each);
      }
      return event.capture->invalidated ? cudaErrorStreamCaptureInvalidated : cudaSuccess;
    }
    if (in_capture) {
      // A graph cannot wait for an event outside of the capture.
      stream->capture->invalidated = true;
      return cudaErrorStreamCaptureIsolation;
    }
  }
  add(stream, Operation::Kind::mark, {}, mark_of(event));
  return cudaSuccess;
}

OperationPtr Streams::mark_of(Event& event) {
  const std::lock_guard lock(mutex_);
  return event.mark;
}

OperationPtr Streams::last_of(Stream& stream) {
  const std::lock_guard lock(mutex_);
  const auto last = last_.find(&stream);
  return last != last_.end() ? last->second : nullptr;
}

void Streams::order_after(const std::shared_ptr<Stream>& stream, const OperationPtr& before) {
  if (before->stream != stream && !is_done(before)) add(stream, Operation::Kind::mark, {}, before);
}

cudaEvent_t Streams::create_event(unsigned flags) {
  const std::lock_guard lock(mutex_);
  auto event = std::make_shared<Event>();
  event->device = current_device();
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
