#include "interposer/session/variants_ahead.h"

#include <dlfcn.h>

#include <algorithm>
#include <condition_variable>
#include <exception>
#include <list>
#include <mutex>
#include <utility>
#include <vector>

#include "interposer/owned_mutex.h"
#include "support/background_thread.h"
#include "support/log.h"

namespace lynxpp::interposer {
namespace {

constexpr std::size_t most_jobs_waiting = 64;

/// Waits while a thread holds the dynamic linker's lock, for example to run a library's constructor. If that
/// thread launches a kernel, it must not wait for a compiler that loads a library.
void wait_for_linker() {
  if (void* const self = dlopen(nullptr, RTLD_LAZY | RTLD_NOLOAD)) dlclose(self);
}

}  // namespace

struct VariantsAhead::Shared {
  struct Entry {
    Key key;
    Job job;
    State state = State::waiting;
    bool is_discarded = false;  ///< while it runs
    Compiled compiled;
  };
  using Place = std::list<Entry>::iterator;

  explicit Shared(unsigned threads) : most_threads(std::max(1U, threads)) {}

  Place find(const Key& key) LYNXPP_REQUIRES(mutex) {
    return std::ranges::find_if(entries,
                                [&](const Entry& entry) { return !entry.is_discarded && entry.key == key; });
  }

  /// Runs jobs until none waits for a while.
  void run() {
    constexpr std::chrono::seconds idle_time(2);
    Lock lock(mutex);
    for (;;) {
      const bool has_work =
          changed.wait_for(lock, idle_time, [&]() LYNXPP_REQUIRES(mutex) { return is_over || waiting != 0; });
      if (!has_work || is_over) break;
      lock.unlock();
      wait_for_linker();
      lock.lock();
      const Place next =
          std::ranges::find_if(entries, [](const Entry& each) { return each.state == State::waiting; });
      if (next != entries.end()) run(next);
    }
    --threads;
    changed.notify_all();
  }

  void run(Place entry) LYNXPP_REQUIRES(mutex) {
    entry->state = State::running;
    --waiting;
    ++running;
    const Job job = std::move(entry->job);
    mutex.unlock();
    Compiled compiled;
    try {
      compiled = job();
    } catch (const std::exception& error) {
      log().debug("compiling ahead: {}", error.what());
      compiled = {};
    }
    mutex.lock();
    --running;
    entry->compiled = std::move(compiled);
    entry->state = State::done;
    changed.notify_all();
    if (!entry->is_discarded) return;
    Compiled unused = std::move(entry->compiled);
    mutex.unlock();
    unused.variant.reset();
    mutex.lock();
    entries.erase(entry);
    changed.notify_all();
  }

  const unsigned most_threads;
  OwnedMutex<std::mutex> mutex{LockRank::leaf};
  std::condition_variable_any changed;
  std::list<Entry> entries LYNXPP_GUARDED_BY(mutex);
  std::size_t waiting LYNXPP_GUARDED_BY(mutex) = 0;
  unsigned running LYNXPP_GUARDED_BY(mutex) = 0;
  unsigned threads LYNXPP_GUARDED_BY(mutex) = 0;
  bool is_over LYNXPP_GUARDED_BY(mutex) = false;
};

VariantsAhead::VariantsAhead(unsigned threads) : shared_(std::make_shared<Shared>(threads)) {}

VariantsAhead::~VariantsAhead() { stop(std::chrono::hours(24)); }

void VariantsAhead::add(const Key& key, Job job, bool is_urgent) {
  const Lock lock(shared_->mutex);
  if (shared_->is_over || shared_->find(key) != shared_->entries.end()) return;
  if (!is_urgent && shared_->waiting >= most_jobs_waiting) return;
  const Shared::Place added =
      shared_->entries.insert(is_urgent ? shared_->entries.begin() : shared_->entries.end(),
                              {key, std::move(job), State::waiting, false, {}});
  ++shared_->waiting;
  shared_->changed.notify_all();
  const bool has_idle_threads = shared_->threads - shared_->running >= shared_->waiting;
  if (has_idle_threads || shared_->threads >= shared_->most_threads) return;
  if (const Status started = start_background_thread([shared = shared_] { shared->run(); }); started) {
    ++shared_->threads;
  } else {
    log().debug("cannot start a thread that compiles variants: {}",
                started.error().diagnostics.front().message);
    if (shared_->threads == 0) {
      added->state = State::done;
      --shared_->waiting;
    }
  }
}

VariantsAhead::State VariantsAhead::state_of(const Key& key) const {
  const Lock lock(shared_->mutex);
  const Shared::Place found = shared_->find(key);
  return found == shared_->entries.end() ? State::unknown : found->state;
}

VariantsAhead::Compiled VariantsAhead::take(const Key& key, std::chrono::milliseconds patience) {
  const std::shared_ptr<Shared> shared = shared_;
  Lock lock(shared->mutex);
  const Shared::Place found = shared->find(key);
  if (found == shared->entries.end()) return {};
  if (found->state == State::waiting) {
    found->state = State::done;
    found->job = nullptr;
    --shared->waiting;
    return {};
  }
  const auto is_over = [&]() LYNXPP_REQUIRES(shared->mutex) {
    const Shared::Place now = shared->find(key);
    return now == shared->entries.end() || now->state == State::done;
  };
  if (!shared->changed.wait_for(lock, patience, is_over)) return {};
  const Shared::Place now = shared->find(key);
  return now == shared->entries.end() ? Compiled() : std::exchange(now->compiled, {});
}

void VariantsAhead::discard(const std::function<bool(const Key&)>& is_chosen,
                            std::chrono::milliseconds patience) {
  std::vector<Compiled> unused;  // destroyed after the lock is released
  Lock lock(shared_->mutex);
  for (Shared::Place entry = shared_->entries.begin(); entry != shared_->entries.end();) {
    const Shared::Place each = entry++;
    // Its thread erases an entry that was discarded while it ran.
    if (each->is_discarded || !is_chosen(each->key)) continue;
    if (each->state == State::running) {
      each->is_discarded = true;
      continue;
    }
    if (each->state == State::waiting) --shared_->waiting;
    unused.push_back(std::move(each->compiled));
    shared_->entries.erase(each);
  }
  shared_->changed.notify_all();
  shared_->changed.wait_for(lock, patience, [&]() LYNXPP_REQUIRES(shared_->mutex) {
    return std::ranges::none_of(shared_->entries, [&](const Shared::Entry& each) {
      return each.is_discarded && is_chosen(each.key);
    });
  });
}

void VariantsAhead::stop(std::chrono::milliseconds patience) {
  {
    const Lock lock(shared_->mutex);
    shared_->is_over = true;
  }
  discard([](const Key&) { return true; }, patience);
}

}  // namespace lynxpp::interposer
