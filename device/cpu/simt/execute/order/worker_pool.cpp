#include "device/cpu/simt/execute/order/worker_pool.h"

#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <system_error>
#include <thread>
#include <utility>

namespace lynxpp::device::cpu {
namespace {

/// The calls of one run_on_workers().
struct Batch {
  const std::function<void(unsigned)>* work = nullptr;
  std::atomic<unsigned> unfinished = 0;
};

class WorkerPool {
 public:
  /// Returns false if no thread is available.
  bool run_alone(const std::function<void()>& work) {
    const std::lock_guard lock(mutex_);
    push({nullptr, 0, work});
    start_threads(queue_.size());
    if (idle_threads_ >= queue_.size()) {
      wake();
      return true;
    }
    queue_.pop_back();
    queued_.fetch_sub(1);
    return false;
  }

  void run(unsigned count, const std::function<void(unsigned)>& work) {
    Batch batch{&work, {count - 1}};
    {
      const std::lock_guard lock(mutex_);
      for (unsigned i = 1; i < count; ++i) push({&batch, i, {}});
      // Blocks of concurrent launches may wait for each other, so every call gets a thread of its own.
      start_threads(queue_.size());
      for (unsigned i = 1; i < count; ++i) wake();
    }
    work(0);
    // Calls that no thread has started run here, so that a launch never waits for another launch's threads.
    std::unique_lock lock(mutex_);
    while (run_one_of(batch, lock)) {}
    lock.unlock();
    const auto is_over = [&batch] { return batch.unfinished == 0; };
    if (soon(is_over)) return;
    lock.lock();
    done_.wait(lock, is_over);
  }

 private:
  struct Task {
    Batch* batch = nullptr;  ///< null: `own` is the task
    unsigned index = 0;
    std::function<void()> own;
  };

  void push(Task task) {
    queue_.push_back(std::move(task));
    queued_.fetch_add(1);
  }

  Task pop(std::deque<Task>::iterator place) {
    Task taken = std::move(*place);
    queue_.erase(place);
    queued_.fetch_sub(1);
    return taken;
  }

  /// Threads that are awake poll the queue themselves.
  void wake() {
    if (queue_.size() > awake_) wake_.notify_one();
  }

  void start_threads(std::size_t wanted) {
    if (idle_threads_ >= wanted) return;
    // Asynchronous signals are left to the program's own threads; those that instructions raise are not
    // blocked.
    sigset_t asynchronous;
    sigset_t before;
    sigfillset(&asynchronous);
    for (const int raised : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT, SIGSYS})
      sigdelset(&asynchronous, raised);
    pthread_sigmask(SIG_BLOCK, &asynchronous, &before);
    try {
      for (; idle_threads_ < wanted; ++idle_threads_) std::thread(&WorkerPool::loop, this).detach();
    } catch (const std::system_error&) {
      // The callers run the work themselves.
    }
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
  }

  bool run_one_of(Batch& batch, std::unique_lock<std::mutex>& lock) {
    for (auto task = queue_.begin(); task != queue_.end(); ++task) {
      if (task->batch != &batch) continue;
      Task taken = pop(task);
      finish(taken, lock);
      return true;
    }
    return false;
  }

  void finish(Task& task, std::unique_lock<std::mutex>& lock) {
    lock.unlock();
    if (task.batch != nullptr) {
      (*task.batch->work)(task.index);
    } else {
      task.own();
      task.own = nullptr;  // captured state may be large
    }
    lock.lock();
    if (task.batch == nullptr) return;
    --task.batch->unfinished;  // the batch may be destroyed from here on
    done_.notify_all();
  }

  void loop() {
    std::unique_lock lock(mutex_);
    for (;;) {
      if (queue_.empty()) stay_awake(lock);
      wake_.wait(lock, [this] { return !queue_.empty(); });
      Task task = pop(queue_.begin());
      --idle_threads_;
      finish(task, lock);
      ++idle_threads_;
    }
  }

  void stay_awake(std::unique_lock<std::mutex>& lock) {
    ++awake_;
    lock.unlock();
    soon([this] { return queued_.load(std::memory_order_relaxed) > 0; });
    lock.lock();
    --awake_;
  }

  std::mutex mutex_;
  std::condition_variable wake_;
  std::condition_variable done_;
  std::deque<Task> queue_;
  std::atomic<std::size_t> queued_ = 0;  ///< size of queue_, readable without the lock
  std::size_t awake_ = 0;                ///< idle threads that poll the queue
  std::size_t idle_threads_ = 0;         ///< threads that wait for a call or are about to
};

/// Leaked on purpose. A forked child has none of its parent's threads and gets its own pool.
WorkerPool& pool() {
  static std::mutex mutex;
  static WorkerPool* current = nullptr;
  static pid_t owner = 0;
  const std::lock_guard lock(mutex);
  if (current == nullptr || owner != getpid()) {
    current = new WorkerPool;
    owner = getpid();
  }
  return *current;
}

}  // namespace

std::chrono::nanoseconds time_awake() {
  static const bool has_others = std::thread::hardware_concurrency() > 1;
  return has_others ? std::chrono::microseconds(20) : std::chrono::nanoseconds::zero();
}

void run_in_background(const std::function<void()>& work) {
  if (!pool().run_alone(work)) work();
}

void run_on_workers(unsigned count, const std::function<void(unsigned)>& work) {
  if (count <= 1) return work(0);
  pool().run(count, work);
}

}  // namespace lynxpp::device::cpu
