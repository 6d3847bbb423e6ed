#include "device/cpu/simt/execute/worker_pool.h"

#include <unistd.h>

#include <condition_variable>
#include <deque>
#include <mutex>
#include <system_error>
#include <thread>

namespace lynxpp::device::cpu {
namespace {

/// The calls of one run_on_workers.
struct Batch {
  const std::function<void(unsigned)>* work = nullptr;
  unsigned unfinished = 0;
};

class WorkerPool {
 public:
  void run(unsigned count, const std::function<void(unsigned)>& work) {
    Batch batch{&work, count - 1};
    {
      const std::lock_guard lock(mutex_);
      for (unsigned i = 1; i < count; ++i) queue_.push_back({&batch, i});
      // The blocks of concurrent launches may wait for one another, so every call has a thread of its own.
      start_threads(queue_.size());
    }
    wake_.notify_all();
    work(0);
    // What no thread has taken up yet is done here, so that a launch never waits for another one's threads.
    std::unique_lock lock(mutex_);
    while (batch.unfinished > 0) {
      if (!run_one_of(batch, lock)) done_.wait(lock);
    }
  }

 private:
  struct Task {
    Batch* batch;
    unsigned index;
  };

  void start_threads(unsigned wanted) {
    for (; idle_threads_ < wanted; ++idle_threads_) {
      try {
        std::thread(&WorkerPool::loop, this).detach();
      } catch (const std::system_error&) {
        return;  // the callers do the work themselves
      }
    }
  }

  bool run_one_of(Batch& batch, std::unique_lock<std::mutex>& lock) {
    for (auto task = queue_.begin(); task != queue_.end(); ++task) {
      if (task->batch != &batch) continue;
      const Task taken = *task;
      queue_.erase(task);
      finish(taken, lock);
      return true;
    }
    return false;
  }

  void finish(const Task& task, std::unique_lock<std::mutex>& lock) {
    lock.unlock();
    (*task.batch->work)(task.index);
    lock.lock();
    --task.batch->unfinished;
    done_.notify_all();
  }

  void loop() {
    std::unique_lock lock(mutex_);
    for (;;) {
      wake_.wait(lock, [this] { return !queue_.empty(); });
      const Task task = queue_.front();
      queue_.pop_front();
      --idle_threads_;
      finish(task, lock);
      ++idle_threads_;
    }
  }

  std::mutex mutex_;
  std::condition_variable wake_;
  std::condition_variable done_;
  std::deque<Task> queue_;
  std::size_t idle_threads_ = 0;  ///< that wait for a call or are about to
};

/// Leaked on purpose. A forked child has none of its parent's threads and gets a pool of its own.
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

void run_on_workers(unsigned count, const std::function<void(unsigned)>& work) {
  if (count <= 1) return work(0);
  pool().run(count, work);
}

}  // namespace lynxpp::device::cpu
