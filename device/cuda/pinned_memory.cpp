#include "device/cuda/pinned_memory.h"

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <utility>

#include "device/cuda/our_calls.h"
#include "support/background_thread.h"

namespace lynxpp::device::cuda {
namespace {

/// On a busy machine the driver takes hundreds of milliseconds. The whole second is only spent if the device
/// waits for the program.
constexpr std::chrono::milliseconds patience(1000);

}  // namespace

/// Guarded by Shared::mutex.
struct PinnedMemory::Request {
  std::size_t bytes = 0;
  std::optional<Result<MemoryBlock>> made;
  bool is_abandoned = false;
};

struct PinnedMemory::Shared {
  Shared(const Driver& the_driver, CUcontext the_context, Listener the_listener)
      : driver(the_driver), context(the_context), listener(std::move(the_listener)) {}

  void run() {
    std::unique_lock lock(mutex);
    while (!requests.empty() || !released.empty()) {
      // Serve requests first: a launch may be waiting.
      if (!requests.empty()) {
        answer(lock);
      } else {
        free_one(lock);
      }
    }
    is_running = false;
    timed_out = false;
    changed.notify_all();
  }

  void answer(std::unique_lock<std::mutex>& lock) {
    const std::shared_ptr<Request> request = std::move(requests.back());
    requests.pop_back();
    lock.unlock();
    void* memory = nullptr;
    CUresult result = CUDA_SUCCESS;
    {
      const InContext ours(driver, context);
      result = driver.cuMemHostAlloc(&memory, request->bytes, CU_MEMHOSTALLOC_PORTABLE);
    }
    const MemoryBlock block{reinterpret_cast<std::uint64_t>(memory), request->bytes};
    if (result != CUDA_SUCCESS) listener.freed(request->bytes);
    lock.lock();
    request->made = result == CUDA_SUCCESS ? Result<MemoryBlock>(block)
                                           : Result<MemoryBlock>(driver.error("cuMemHostAlloc", result));
    if (!request->is_abandoned) {
      changed.notify_all();
    } else if (result == CUDA_SUCCESS) {
      lock.unlock();
      listener.is_late(block);
      lock.lock();
    }
  }

  void free_one(std::unique_lock<std::mutex>& lock) {
    const MemoryBlock block = released.back();
    released.pop_back();
    lock.unlock();
    {
      const InContext ours(driver, context);
      driver.cuMemFreeHost(reinterpret_cast<void*>(block.address));
    }
    listener.freed(block.size);
    lock.lock();
  }

  /// Starts the thread if needed. False: no thread could be created. Precondition: `mutex` is held.
  bool start(const std::shared_ptr<Shared>& self) {
    if (std::exchange(is_running, true)) return true;
    is_running = start_background_thread([self] { self->run(); }).ok();  // if not, the next call tries again
    return is_running;
  }

  const Driver& driver;
  const CUcontext context;
  const Listener listener;
  std::mutex mutex;  ///< guards the members below; released during driver calls
  std::condition_variable changed;
  std::vector<std::shared_ptr<Request>> requests;
  std::vector<MemoryBlock> released;
  bool is_running = false;
  bool timed_out = false;
};

PinnedMemory::PinnedMemory(const Driver& driver, CUcontext context, Listener listener)
    : shared_(std::make_shared<Shared>(driver, context, std::move(listener))) {}

PinnedMemory::~PinnedMemory() {
  std::unique_lock lock(shared_->mutex);
  shared_->changed.wait(lock, [&] { return !shared_->is_running; });
}

Result<MemoryBlock> PinnedMemory::make(std::size_t bytes) {
  const auto late = [] { return failure("the driver did not provide pinned host memory in time"); };
  auto request = std::make_shared<Request>();
  request->bytes = bytes;
  std::unique_lock lock(shared_->mutex);
  if (shared_->timed_out) {
    lock.unlock();
    shared_->listener.freed(bytes);
    return late();
  }
  shared_->requests.push_back(request);
  if (!shared_->start(shared_)) {
    shared_->requests.pop_back();
    lock.unlock();
    shared_->listener.freed(bytes);
    return failure("cannot create a thread to allocate pinned host memory");
  }
  shared_->changed.wait_for(lock, patience, [&] { return request->made.has_value(); });
  if (request->made) return std::move(*request->made);
  request->is_abandoned = true;
  shared_->timed_out = true;
  return late();
}

void PinnedMemory::release(const std::vector<MemoryBlock>& blocks) {
  const std::lock_guard lock(shared_->mutex);
  shared_->released.insert(shared_->released.end(), blocks.begin(), blocks.end());
  if (!shared_->released.empty()) shared_->start(shared_);
}

bool PinnedMemory::finish() {
  std::unique_lock lock(shared_->mutex);
  if (shared_->timed_out) return false;
  const bool is_over = shared_->changed.wait_for(lock, patience, [&] { return !shared_->is_running; });
  shared_->timed_out = !is_over;
  return is_over && shared_->released.empty();
}

}  // namespace lynxpp::device::cuda
