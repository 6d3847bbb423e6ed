#include "interposer/interruption.h"

#include <pthread.h>
#include <semaphore.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <ctime>

namespace lynxpp::interposer {
namespace {

constexpr std::array<int, 3> deadly{SIGINT, SIGTERM, SIGABRT};
constexpr std::time_t most_seconds = 3;

// The interrupted thread may hold any lock, including malloc's, so the handler only wakes the watcher and
// returns: the thread continues and releases its locks. A thread that aborts cannot continue; it waits, and
// the watcher abandons what the thread has locked.
std::atomic<int> signal_that_came = 0;
sem_t is_wanted;
sem_t is_saved;
pid_t own_process = 0;
void (*save_records)() = nullptr;

void die_of(int signal) {
  struct sigaction otherwise {};
  otherwise.sa_handler = SIG_DFL;
  sigaction(signal, &otherwise, nullptr);
  sigset_t only;
  sigemptyset(&only);
  sigaddset(&only, signal);
  pthread_sigmask(SIG_UNBLOCK, &only, nullptr);
  raise(signal);
}

[[noreturn]] void wait_for_death() {
  for (;;) pause();
}

extern "C" void lynxpp_handle_deadly_signal(int signal) {
  if (getpid() != own_process) return die_of(signal);
  const int error = errno;
  int none = 0;
  if (signal_that_came.compare_exchange_strong(none, signal)) sem_post(&is_wanted);
  if (signal == SIGABRT) wait_for_death();
  errno = error;
}

void* save_and_tell(void*) {
  save_records();
  sem_post(&is_saved);
  return nullptr;
}

void* watch(void*) {
  while (sem_wait(&is_wanted) != 0) {}
  timespec latest{};
  clock_gettime(CLOCK_REALTIME, &latest);
  latest.tv_sec += most_seconds;
  pthread_t saver{};
  if (pthread_create(&saver, nullptr, &save_and_tell, nullptr) == 0) {
    while (sem_timedwait(&is_saved, &latest) != 0 && errno == EINTR) {}
  }
  die_of(signal_that_came);
  return nullptr;
}

/// Blocks every signal, so that the program's threads handle the program's signals.
bool start_watcher() {
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  pthread_t watcher{};
  const bool is_started = pthread_create(&watcher, nullptr, &watch, nullptr) == 0;
  if (is_started) pthread_detach(watcher);
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  return is_started;
}

}  // namespace

void save_at_fatal_signals(void (*save)()) {
  own_process = getpid();
  signal_that_came = 0;
  save_records = save;
  sem_init(&is_wanted, 0, 0);
  sem_init(&is_saved, 0, 0);
  if (!start_watcher()) return;
  for (const int signal : deadly) {
    struct sigaction now {};
    if (sigaction(signal, nullptr, &now) != 0 || (now.sa_flags & SA_SIGINFO) != 0 ||
        (now.sa_handler != SIG_DFL && now.sa_handler != &lynxpp_handle_deadly_signal))
      continue;
    struct sigaction ours {};
    ours.sa_handler = &lynxpp_handle_deadly_signal;
    ours.sa_flags = SA_RESTART | SA_ONSTACK;
    sigfillset(&ours.sa_mask);
    sigaction(signal, &ours, nullptr);
  }
}

void wait_if_terminating() {
  if (signal_that_came != 0 && getpid() == own_process) wait_for_death();
}

}  // namespace lynxpp::interposer
