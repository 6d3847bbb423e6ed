#include "device/cuda/arena.h"

#include <algorithm>
#include <thread>
#include <utility>

#include "device/cuda/our_calls.h"
#include "support/recycled.h"

namespace lynxpp::device::cuda {
namespace {

/// Alignment of a launch's memory: no two launches share an L2 cache line.
constexpr std::size_t alignment = 256;
/// An arena holds several launches; arenas grow in programs that launch more.
constexpr std::size_t smallest_arena = 256u << 10;
constexpr std::size_t largest_shared_arena = 4u << 20;
/// Each part keeps an event until the arena is recycled.
constexpr std::size_t most_parts = 128;
constexpr std::size_t most_kept_of_arenas = 256u << 20;
/// How long is_on_host() polls for a copy that it has just started.
constexpr std::chrono::microseconds patience_with_copy(100);

std::size_t room_in(const Arena::Memory& memory) { return std::min(memory.device.size, memory.pinned.size); }

std::size_t aligned(std::size_t bytes) { return (bytes + alignment - 1) / alignment * alignment; }

}  // namespace

Arena::Arena(Arenas& owner, const Memory& memory, std::size_t bytes)
    : owner_(owner), memory_(memory), bytes_(bytes) {}

Arena::~Arena() {
  Arenas::Leaving leaving{.memory = memory_, .used = used_, .events = copies_, .awaited = copies_};
  for (const Part& part : parts_) {
    for (const CUevent event : {part.begun, part.done}) {
      if (event != nullptr) leaving.events.push_back(event);
    }
    if (!part.is_used || part.is_over) continue;
    if (part.done == nullptr) return;
    leaving.awaited.push_back(part.done);
  }
  owner_.recycle(std::move(leaving));
}

std::optional<Arena::Taken> Arena::take(std::size_t bytes) {
  const std::lock_guard lock(mutex_);
  if (bytes > bytes_ - used_ || parts_.size() == most_parts) return std::nullopt;
  const std::size_t offset = used_;
  parts_.push_back({.offset = offset, .bytes = bytes});
  used_ = std::min(bytes_, used_ + aligned(bytes));
  return Taken{parts_.size() - 1, memory_.device.address + offset, is_cleared_};
}

Status Arena::wait_until_cleared(CUstream stream) {
  const Driver& driver = owner_.driver_;
  const CaptureRelaxed relaxed(driver);
  if (driver.cuEventQuery(memory_.cleared) == CUDA_SUCCESS) {
    const std::lock_guard lock(mutex_);
    is_cleared_ = true;
    return success();
  }
  const CUresult result = driver.cuStreamWaitEvent(stream, memory_.cleared, 0);
  return result == CUDA_SUCCESS ? success() : Status(driver.error("cuStreamWaitEvent", result));
}

void Arena::begins(std::size_t part, CUstream stream) {
  if (part_of(part).begun != nullptr) return;  // of the first launch that shares the part
  const CUevent begun = owner_.pool_.recorded_event(stream);
  const std::lock_guard lock(mutex_);
  parts_[part].begun = begun;
}

bool Arena::enqueued(std::size_t part, CUstream stream) {
  const CUevent done = owner_.pool_.recorded_event(stream);
  const std::lock_guard lock(mutex_);
  parts_[part].is_used = true;
  parts_[part].done = done;
  return done != nullptr;
}

void Arena::ended(std::size_t part) {
  const std::lock_guard lock(mutex_);
  parts_[part].is_used = true;
  parts_[part].is_over = true;
}

Arena::Part Arena::part_of(std::size_t part) {
  const std::lock_guard lock(mutex_);
  return parts_[part];
}

bool Arena::query_over(std::size_t part) {
  const Part now = part_of(part);
  if (now.is_over) return true;
  if (now.done == nullptr || owner_.driver_.cuEventQuery(now.done) != CUDA_SUCCESS) return false;
  const std::lock_guard lock(mutex_);
  return parts_[part].is_over = true;
}

bool Arena::is_over(std::size_t part) {
  const InContext ours(owner_.driver_, owner_.pool_.context());
  return query_over(part);
}

bool Arena::is_copyable(std::size_t part) {
  {
    const std::lock_guard lock(mutex_);
    if (part >= parts_.size() || parts_[part].copied != nullptr) return false;
  }
  return query_over(part);
}

Status Arena::ensure_copied(std::size_t first) {
  const std::lock_guard copying(copying_);
  const Part begin = part_of(first);
  if (begin.copied != nullptr) return success();
  std::size_t end = first + 1;
  while (is_copyable(end)) ++end;
  const Part last = part_of(end - 1);
  const std::size_t offset = begin.offset;
  const Driver& driver = owner_.driver_;
  const CUresult result = driver.cuMemcpyDtoHAsync(reinterpret_cast<void*>(memory_.pinned.address + offset),
                                                   memory_.device.address + offset,
                                                   last.offset + last.bytes - offset, owner_.copying_);
  if (result != CUDA_SUCCESS) return driver.error("cuMemcpyDtoHAsync", result);
  const CUevent copied = owner_.pool_.recorded_event(owner_.copying_);
  if (copied == nullptr) return failure("cannot record an event after the copy");
  const std::lock_guard lock(mutex_);
  copies_.push_back(copied);
  for (std::size_t i = first; i < end; ++i) parts_[i].copied = copied;
  return success();
}

bool Arena::is_on_host(std::size_t part) {
  if (part_of(part).is_on_host) return true;
  const Driver& driver = owner_.driver_;
  const InContext ours(driver, owner_.pool_.context());
  if (!query_over(part)) return false;
  // A rejected copy fails again in wait(), which reports why.
  if (!ensure_copied(part)) return true;
  const CUevent copied = part_of(part).copied;
  const auto latest = std::chrono::steady_clock::now() + patience_with_copy;
  bool is_on_host = driver.cuEventQuery(copied) == CUDA_SUCCESS;
  while (!is_on_host && std::chrono::steady_clock::now() < latest) {
    std::this_thread::yield();
    is_on_host = driver.cuEventQuery(copied) == CUDA_SUCCESS;
  }
  if (!is_on_host) return false;
  const std::lock_guard lock(mutex_);
  for (std::size_t i = part; i < parts_.size() && parts_[i].copied == copied; ++i)
    parts_[i].is_on_host = true;
  return true;
}

Result<std::span<std::byte>> Arena::wait(std::size_t part) {
  const Part now = part_of(part);
  if (!now.is_on_host) {
    const Driver& driver = owner_.driver_;
    const InContext ours(driver, owner_.pool_.context());
    const CUresult ended = now.is_over           ? CUDA_SUCCESS
                           : now.done == nullptr ? CUDA_ERROR_INVALID_HANDLE
                                                 : driver.cuEventSynchronize(now.done);
    if (ended != CUDA_SUCCESS) return driver.error("the launch", ended);
    {
      const std::lock_guard lock(mutex_);
      parts_[part].is_over = true;
    }
    if (Status copied = ensure_copied(part); !copied) return copied.error();
    const CUresult came = driver.cuEventSynchronize(part_of(part).copied);
    if (came != CUDA_SUCCESS) return driver.error("copying results", came);
    const std::lock_guard lock(mutex_);
    parts_[part].is_on_host = true;
  }
  return std::span(reinterpret_cast<std::byte*>(memory_.pinned.address) + now.offset, now.bytes);
}

std::optional<double> Arena::max_milliseconds(std::size_t part) {
  const Part wanted = part_of(part);
  if (wanted.begun == nullptr || wanted.done == nullptr) return std::nullopt;
  const InContext ours(owner_.driver_, owner_.pool_.context());
  float milliseconds = 0;
  const CUresult result = owner_.driver_.cuEventElapsedTime(&milliseconds, wanted.begun, wanted.done);
  if (result != CUDA_SUCCESS) return std::nullopt;
  return milliseconds;
}

Arenas::~Arenas() { open_.reset(); }

Result<Arenas::Part> Arenas::take(std::size_t bytes, CUstream stream) {
  Part part;
  std::optional<Arena::Taken> taken;
  {
    const std::lock_guard lock(mutex_);
    part.arena = open_;
  }
  if (part.arena != nullptr) taken = part.arena->take(bytes);
  std::shared_ptr<Arena> full;  // may recycle the arena when destroyed, so outlives the lock
  if (!taken) {
    const CaptureRelaxed relaxed(driver_);
    Result<std::shared_ptr<Arena>> opened = open(bytes);
    if (!opened) return opened.error();
    part.arena = std::move(*opened);
    taken = part.arena->take(bytes);
    const std::lock_guard lock(mutex_);
    full = std::exchange(open_, part.arena);
  }
  part.index = taken->part;
  part.address = taken->address;
  if (taken->is_cleared) return part;
  if (Status cleared = part.arena->wait_until_cleared(stream); !cleared) return cleared.error();
  return part;
}

Result<std::shared_ptr<Arena>> Arenas::open(std::size_t bytes) {
  std::size_t size = 0;
  {
    const std::lock_guard lock(mutex_);
    size = std::max(next_size_, smallest_arena);
    next_size_ = std::min(2 * size, largest_shared_arena);
  }
  size = aligned(std::max(size, bytes));
  recycle_finished();
  if (const std::optional<Arena::Memory> again = kept(bytes))
    return std::make_shared<Arena>(*this, *again, room_in(*again));
  Result<Arena::Memory> memory = made(size);
  if (!memory) memory = made(size = aligned(bytes));
  if (!memory && release_kept()) memory = made(size);
  if (!memory) return memory.error();
  return std::make_shared<Arena>(*this, *memory, room_in(*memory));
}

std::optional<Arena::Memory> Arenas::kept(std::size_t bytes) {
  const std::lock_guard lock(mutex_);
  // Reserve large arenas for launches that need them.
  const auto found = std::ranges::find_if(kept_, [&](const Arena::Memory& memory) {
    return room_in(memory) >= bytes && memory.device.size <= std::max(4 * bytes, largest_shared_arena);
  });
  if (found == kept_.end()) return std::nullopt;
  const Arena::Memory memory = *found;
  kept_.erase(found);
  kept_bytes_ -= memory.device.size;
  return memory;
}

Status Arenas::make_streams() {
  const std::lock_guard lock(mutex_);
  for (CUstream* const stream : {&clearing_, &copying_}) {
    if (*stream != nullptr) continue;
    const CUresult result = driver_.cuStreamCreate(stream, CU_STREAM_NON_BLOCKING);
    if (result != CUDA_SUCCESS) return driver_.error("cuStreamCreate", result);
  }
  return success();
}

Result<Arena::Memory> Arenas::made(std::size_t bytes) {
  if (Status streams = make_streams(); !streams) return streams.error();
  const Result<Pool::Block> device = pool_.device_memory(bytes, clearing_);
  if (!device) return device.error();
  Arena::Memory memory{*device, {}};
  const Result<Pool::Block> pinned = pool_.pinned_memory(bytes);
  if (!pinned) {
    release(memory);
    return pinned.error();
  }
  memory.pinned = *pinned;
  const CUresult result = driver_.cuMemsetD8Async(memory.device.address, 0, memory.device.size, clearing_);
  if (result == CUDA_SUCCESS) memory.cleared = pool_.recorded_event(clearing_);
  if (memory.cleared != nullptr) return memory;
  release(memory);
  return result == CUDA_SUCCESS ? failure("cannot record an event after clearing a launch's memory")
                                : driver_.error("cuMemsetD8Async", result);
}

bool Arenas::release_kept() {
  std::vector<Arena::Memory> unused;
  {
    const std::lock_guard lock(mutex_);
    unused.swap(kept_);
    for (const Arena::Memory& memory : unused) kept_bytes_ -= memory.device.size;
  }
  for (const Arena::Memory& memory : unused) {
    pool_.release(memory.cleared);
    release(memory);
  }
  return !unused.empty();
}

void Arenas::recycle_finished() {
  std::vector<Leaving> leaving;
  {
    const std::lock_guard lock(mutex_);
    leaving.swap(leaving_);
  }
  for (Leaving& each : leaving) recycle(std::move(each));
}

void Arenas::recycle(Leaving leaving) {
  const InContext ours(driver_, pool_.context());
  const auto is_over = [&](CUevent event) { return driver_.cuEventQuery(event) == CUDA_SUCCESS; };
  if (!std::ranges::all_of(leaving.awaited, is_over)) {
    const std::lock_guard lock(mutex_);
    leaving_.push_back(std::move(leaving));
    return;
  }
  for (const CUevent event : leaving.events) pool_.release(event);
  Arena::Memory& memory = leaving.memory;
  pool_.release(std::exchange(memory.cleared, nullptr));
  bool is_kept = false;
  {
    const std::lock_guard lock(mutex_);
    is_kept = kept_bytes_ + memory.device.size <= most_kept_of_arenas;
    if (is_kept) kept_bytes_ += memory.device.size;
  }
  if (is_kept && driver_.cuMemsetD8Async(memory.device.address, 0, leaving.used, clearing_) == CUDA_SUCCESS)
    memory.cleared = pool_.recorded_event(clearing_);
  if (memory.cleared == nullptr) release(memory);
  const std::lock_guard lock(mutex_);
  if (memory.cleared != nullptr) {
    kept_.push_back(memory);
  } else if (is_kept) {
    kept_bytes_ -= memory.device.size;
  }
}

void Arenas::release(const Arena::Memory& memory) {
  pool_.free_device_memory(memory.device, clearing_);
  pool_.release_pinned_memory(memory.pinned);
}

namespace {

class ContextCallGroup final : public CallGroup {
 public:
  ContextCallGroup(const Driver& driver, CUcontext context) : ours_(driver, context) {}

 private:
  const InContext ours_;
};

/// The memory of a launch, and later its readback.
class ArenaLaunch final : public Buffer, public Readback, public Recycled<ArenaLaunch> {
 public:
  ArenaLaunch(const Driver& driver, Pool& pool, Arenas::Part part, CUstream stream)
      : Buffer(part.address), driver_(driver), pool_(pool), part_(std::move(part)), stream_(stream) {}
  /// If the launch failed, earlier writes to the memory may still be pending.
  ~ArenaLaunch() override {
    if (is_enqueued_ || !is_used) return;
    const InContext ours(driver_, pool_.context());
    part_.arena->enqueued(part_.index, stream_);
  }

  void begins() { part_.arena->begins(part_.index, stream_); }
  bool enqueued() {
    is_enqueued_ = true;
    return part_.arena->enqueued(part_.index, stream_);
  }

  /// True while recording an event on the stream would add to a graph, or invalidate a capture. Fails if the
  /// context has failed.
  Result<bool> is_captured() {
    CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
    const CUresult result = driver_.cuStreamIsCapturing(stream_, &status);
    if (result == CUDA_ERROR_STREAM_CAPTURE_IMPLICIT) return true;
    if (result != CUDA_SUCCESS) return driver_.error("the launches", result);
    return status != CU_STREAM_CAPTURE_STATUS_NONE;
  }

  /// True if the launches are over and no other work is on the legacy default stream. An event there would
  /// wait for all blocking streams and be awaited by them, but this is only a query. Fails if the context has
  /// failed.
  Result<bool> has_ended() {
    const CUresult result = driver_.cuStreamQuery(stream_);
    if (result == CUDA_ERROR_NOT_READY) return false;
    if (result != CUDA_SUCCESS) return driver_.error("the launches", result);
    is_enqueued_ = true;
    part_.arena->ended(part_.index);
    return true;
  }
  bool is_on_legacy_stream() const { return stream_ == CU_STREAM_LEGACY; }

  std::unique_ptr<CallGroup> call_group() override {
    return std::make_unique<ContextCallGroup>(driver_, pool_.context());
  }
  bool ready() override { return part_.arena->is_on_host(part_.index); }
  bool is_over() override { return part_.arena->is_over(part_.index); }
  Result<std::span<std::byte>> wait() override { return part_.arena->wait(part_.index); }
  std::optional<double> max_milliseconds() override { return part_.arena->max_milliseconds(part_.index); }

  bool is_used = false;

 private:
  const Driver& driver_;
  Pool& pool_;
  Arenas::Part part_;
  CUstream stream_;
  bool is_enqueued_ = false;
};

}  // namespace

std::unique_ptr<Buffer> make_buffer(const Driver& driver, Pool& pool, Arenas::Part part, CUstream stream) {
  return std::make_unique<ArenaLaunch>(driver, pool, std::move(part), stream);
}

void note_begin(Buffer& buffer) { static_cast<ArenaLaunch&>(buffer).begins(); }

void note_use(Buffer& buffer) { static_cast<ArenaLaunch&>(buffer).is_used = true; }

Result<std::unique_ptr<Readback>> read_back(std::unique_ptr<Buffer> buffer) {
  std::unique_ptr<ArenaLaunch> launch(static_cast<ArenaLaunch*>(buffer.release()));
  if (!launch->enqueued()) return failure("cannot record an event after the launch");
  return std::unique_ptr<Readback>(std::move(launch));
}

Result<std::unique_ptr<Readback>> read_back_shared(std::unique_ptr<Buffer>& buffer, bool after_launch) {
  auto& launches = static_cast<ArenaLaunch&>(*buffer);
  const std::unique_ptr<CallGroup> ours = launches.call_group();
  const Result<bool> captured = launches.is_captured();
  if (!captured) return captured.error();
  if (*captured) return std::unique_ptr<Readback>();
  if (after_launch || !launches.is_on_legacy_stream()) return read_back(std::move(buffer));
  const Result<bool> ended = launches.has_ended();
  if (!ended) return ended.error();
  if (!*ended) return std::unique_ptr<Readback>();
  return std::unique_ptr<Readback>(static_cast<ArenaLaunch*>(buffer.release()));
}

}  // namespace lynxpp::device::cuda
