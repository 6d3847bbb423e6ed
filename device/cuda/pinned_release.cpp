#include "device/cuda/pinned_release.h"

#include <pthread.h>

#include <chrono>
#include <condition_variable>
#include <csignal>
#include <mutex>
#include <system_error>
#include <thread>
#include <utility>

#include "device/cuda/our_calls.h"

namespace lynxpp::device::cuda {
namespace {

constexpr std::chrono::milliseconds patience(100);

}  // namespace

struct PinnedRelease::Shared {
  Shared(const Driver& the_driver, CUcontext the_context, std::function<void(std::size_t)> tell_freed)
      : driver(the_driver), context(the_context), freed(std::move(tell_freed)) {}

  void run() {
    std::unique_lock lock(mutex);
    while (!waiting.empty()) {
      const MemoryBlock block = waiting.back();
      waiting.pop_back();
      lock.unlock();
      {
        const InContext ours(driver, context);
        driver.cuMemFreeHost(reinterpret_cast<void*>(block.address));
      }
      freed(block.size);
      lock.lock();
    }
    is_running = false;
    was_in_vain = false;
    changed.notify_all();
  }

  const Driver& driver;
  const CUcontext context;
  const std::function<void(std::size_t)> freed;
  std::mutex mutex;  ///< guards what follows; not held while the driver works
  std::condition_variable changed;
  std::vector<MemoryBlock> waiting;
  bool is_running = false;
  bool was_in_vain = false;
};

PinnedRelease::PinnedRelease(const Driver& driver, CUcontext context, std::function<void(std::size_t)> freed)
    : shared_(std::make_shared<Shared>(driver, context, std::move(freed))) {}

PinnedRelease::~PinnedRelease() {
  std::unique_lock lock(shared_->mutex);
  shared_->changed.wait(lock, [&] { return !shared_->is_running; });
}

void PinnedRelease::release(const std::vector<MemoryBlock>& blocks) {
  const std::lock_guard lock(shared_->mutex);
  shared_->waiting.insert(shared_->waiting.end(), blocks.begin(), blocks.end());
  if (shared_->waiting.empty() || std::exchange(shared_->is_running, true)) return;
  // The program's signals are handled by the program's threads.
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  try {
    std::thread([shared = shared_] { shared->run(); }).detach();
  } catch (const std::system_error&) {
    shared_->is_running = false;  // the next call tries again
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

bool PinnedRelease::finish() {
  std::unique_lock lock(shared_->mutex);
  if (shared_->was_in_vain) return false;
  const bool is_over = shared_->changed.wait_for(lock, patience, [&] { return !shared_->is_running; });
  shared_->was_in_vain = !is_over;
  return is_over && shared_->waiting.empty();
}

}  // namespace lynxpp::device::cuda
