#include "interposer/preload/engine_client.h"

#include <dlfcn.h>
#include <pthread.h>
#include <time.h>
#include <unistd.h>

#include <climits>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <new>
#include <set>
#include <string>

#include "interposer/owned_mutex.h"
#include "interposer/preload/allocations.h"
#include "interposer/preload/cpu_choice.h"
#include "interposer/preload/driver.h"
#include "interposer/preload/last_word.h"
#include "interposer/preload/process.h"
#include "interposer/preload/ranges.h"
#include "interposer/preload/tensor_maps.h"
#include "support/control_socket.h"

namespace lynxpp::preload {
namespace {

std::atomic<const lynxpp_engine*> engine = nullptr;
std::atomic<const lynxpp_engine*> engine_with_specifications = nullptr;
std::atomic<pid_t> opening_process = 0;
std::atomic<bool> finished = false;
std::atomic<bool> has_measured = false;
std::atomic<int> is_profiled = 0;
std::atomic<bool> is_answering = false;
std::atomic<bool> keeps_results = false;
constinit OwnedMutex<std::mutex> opening{LockRank::opening};
constinit OwnedMutex<std::mutex> attaching{LockRank::attaching};
std::once_flag exit_registration;
std::atomic<bool> tried = false;  ///< true once it is known whether the engine is available

constexpr char engine_name[] = "liblynxpp-engine.so";

/// Waits until no other thread is opening the engine or attaching, before the process is forked.
void prepare_fork() LYNXPP_UNANALYSED {
  opening.lock();
  attaching.lock();
}

void continue_parent() LYNXPP_UNANALYSED {
  attaching.unlock();
  opening.unlock();
}

/// The child of a process that has launched has neither the engine's threads nor a usable CUDA context, and
/// its parent reports the records. Any other child continues with an engine of its own.
void continue_child() {
  continue_parent();
  is_answering.store(false);
  const lynxpp_engine* const opened = engine.load();
  if (opened != nullptr && opened->serves_child() != 0) {
    opening_process.store(getpid(), std::memory_order_relaxed);
    return;
  }
  attached_flag.store(0, std::memory_order_relaxed);
  engine_with_specifications.store(nullptr, std::memory_order_relaxed);
}

std::atomic<std::uint64_t> attachment_count = 0;

void set_attached(bool is_attached) {
  if (is_attached && !attached()) ++attachment_count;
  attached_flag.store(is_attached ? 1 : 0, std::memory_order_relaxed);
}

/// Returns a copy, since the program may free or overwrite a variable's text. Copies are not freed, as a
/// launch may be reading an older one; equal texts share a copy. Null if memory is exhausted. Precondition:
/// `attaching` is held.
const char* kept_copy(const char* text) {
  static std::set<std::string>* const texts = new (std::nothrow) std::set<std::string>;
  try {
    return texts != nullptr ? texts->insert(text).first->c_str() : nullptr;
  } catch (const std::bad_alloc&) {
    return nullptr;
  }
}

/// The result of loading the engine.
struct Loaded {
  decltype(&lynxpp_open_engine) open = nullptr;  ///< null: `problem` says why
  char problem[2 * PATH_MAX] = "";

  void is_of_another_build(const char* path) {
    snprintf(problem, sizeof problem, "%s is from a different build than %s; install both from one build",
             path, own_path());
  }
};

/// Finds the engine in this library's folder.
void find_engine(char (&path)[PATH_MAX + sizeof engine_name]) {
  snprintf(path, PATH_MAX, "%s", own_path());
  char* const slash = strrchr(path, '/');
  strcpy(slash != nullptr ? slash + 1 : path, engine_name);
}

/// Precondition: none of our locks is held, because a thread that launches in the constructor of a library
/// being opened holds the dynamic linker's lock. If several threads load concurrently, all get the same
/// library.
void load_engine(Loaded& loaded) {
  char path[PATH_MAX + sizeof engine_name];
  find_engine(path);
  void* const library = real_dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    const char* const reason = dlerror();
    snprintf(loaded.problem, sizeof loaded.problem, "cannot open the engine: %s",
             reason != nullptr ? reason : path);
    return;
  }
  loaded.open = reinterpret_cast<decltype(&lynxpp_open_engine)>(real_dlsym(library, "lynxpp_open_engine"));
  if (loaded.open == nullptr) loaded.is_of_another_build(path);
}

/// Called once, by one thread. Does not use the dynamic linker.
const lynxpp_engine* opened(Loaded& loaded) {
  if (loaded.open == nullptr) return nullptr;
  const lynxpp_engine* const found = loaded.open(LYNXPP_ENGINE_ABI);
  if (found != nullptr && found->abi == LYNXPP_ENGINE_ABI) return found;
  char path[PATH_MAX + sizeof engine_name];
  find_engine(path);
  loaded.is_of_another_build(path);
  return nullptr;
}

/// During its lifetime, the socket's thread uses the engine.
class Answering {
 public:
  Answering() { is_answering.store(true); }
  ~Answering() { is_answering.store(false); }
  Answering(const Answering&) = delete;
  Answering& operator=(const Answering&) = delete;
};

/// Waits for the socket's thread: objects that it uses must not be destroyed meanwhile.
void await_answer() {
  constexpr timespec step = {0, 1'000'000};
  constexpr int most_steps = 2000;
  for (int i = 0; i < most_steps && is_answering.load(); ++i) nanosleep(&step, nullptr);
}

/// Answers a request while the engine is not open: nothing is attached.
std::string answer_without_engine(const std::string& request, bool attaches) {
  if (attaches) return R"({"error":"cannot open the engine; see the program's standard error"})";
  if (request != control::status_request && request != control::detach_request)
    return R"({"error":"invalid request"})";
  return std::string(runs_on_cpu_device() ? R"({"device":"cpu")" : R"({"device":"cuda")") +
         ",\"launched\":" + std::to_string(launch_count.load()) + "}";
}

}  // namespace

std::atomic<int> attached_flag = 0;
std::atomic<std::uint64_t> launch_count = 0;
constinit thread_local int Passthrough::depth = 0;

std::uint64_t attachments() { return attachment_count.load(); }

const lynxpp_engine* open_engine(const char* consequence) {
  if (const lynxpp_engine* const ready = engine.load(std::memory_order_acquire)) return ready;
  if (tried.load()) return engine.load(std::memory_order_acquire);
  const Passthrough passthrough;
  Loaded found;
  load_engine(found);
  const Lock lock(opening);
  if (tried.load()) return engine.load(std::memory_order_acquire);
  const lynxpp_engine* const loaded = opened(found);
  if (loaded == nullptr) {
    tried.store(true);
    say("%s; %s", found.problem, consequence);
    return nullptr;
  }
  loaded->use_allocations(&allocation_source);
  loaded->use_ranges(&current_ranges);
  loaded->use_tensor_boxes(&find_tensor_box);
  loaded->use_launch_notice(&report_to_run_command);
  if (is_profiled.load() != 0) loaded->profile(1);
  if (keeps_results.load()) loaded->keep_results();
  opening_process.store(getpid(), std::memory_order_relaxed);
  pthread_atfork(prepare_fork, continue_parent, continue_child);
  engine.store(loaded, std::memory_order_release);
  tried.store(true);
  return loaded;
}

void profiler_called(bool starts) {
  is_profiled.store(starts ? 1 : 0);
  // A thread that is opening the engine holds the lock and may have passed it the old value.
  const Lock lock(opening);
  if (const lynxpp_engine* const opened = engine.load()) opened->profile(is_profiled.load());
}

const lynxpp_engine* attached_engine() {
  if (const lynxpp_engine* const ready = engine_with_specifications.load(std::memory_order_acquire))
    return ready;
  const lynxpp_engine* const opened = open_engine("the program runs uninstrumented");
  const Lock lock(attaching);
  if (!attached()) return nullptr;
  if (const lynxpp_engine* const ready = engine_with_specifications.load(std::memory_order_acquire))
    return ready;
  const Passthrough passthrough;
  if (opened == nullptr || opened->attach(settings.specifications) == 0) {
    attached_flag.store(0, std::memory_order_relaxed);
    return nullptr;
  }
  // The driver is initialized now, so this handler runs before the driver's own.
  finish_at_exit();
  engine_with_specifications.store(opened, std::memory_order_release);
  return opened;
}

void specifications_changed(const char* specifications) {
  const bool wanted = specifications != nullptr && *specifications != '\0';
  const Lock lock(attaching);
  const char* const before = settings.specifications;
  if (wanted ? before != nullptr && strcmp(before, specifications) == 0 : before == nullptr) return;
  settings.specifications = wanted ? kept_copy(specifications) : nullptr;
  if (finished.load(std::memory_order_relaxed)) return;
  const lynxpp_engine* const opened = opened_engine();
  if (opened != nullptr && opening_process.load(std::memory_order_relaxed) != getpid()) return;
  bool attaches = wanted;
  if (opened != nullptr) {
    const Passthrough passthrough;
    attaches = opened->attach(settings.specifications) != 0;
    finish_at_exit();
  }
  engine_with_specifications.store(attaches ? opened : nullptr, std::memory_order_release);
  set_attached(attaches);
}

void answer_request(const std::string& request, std::string& reply) {
  const Answering here;
  if (finished.load()) {
    reply = R"({"error":"the program is ending"})";
    return;
  }
  const bool attaches = request.starts_with(control::attach_begin);
  if (attached()) attached_engine();  // as the next launch would
  const lynxpp_engine* const answering = attaches ? open_engine("`lynxpp attach` fails") : opened_engine();
  if (answering == nullptr) {
    reply = answer_without_engine(request, attaches);
    return;
  }
  if (opening_process.load(std::memory_order_relaxed) != getpid()) {
    reply = R"({"error":"the process is a forked child of the instrumented program"})";
    return;
  }
  finish_at_exit();
  const Lock lock(attaching);
  const Passthrough passthrough;
  const auto take = [](void* into, const char* text, std::size_t bytes) {
    static_cast<std::string*>(into)->assign(text, bytes);
  };
  const int now = answering->control(request.data(), request.size(), runs_on_cpu_device() ? 1 : 0,
                                     launch_count.load(), take, &reply);
  if (now < 0) return;
  // Differs from any value to which the program sets LYNXPP_SPEC.
  settings.specifications = now != 0 ? "(by lynxpp attach)" : nullptr;
  engine_with_specifications.store(now != 0 ? answering : nullptr, std::memory_order_release);
  set_attached(now != 0);
}

const lynxpp_engine* opened_engine() { return engine.load(std::memory_order_acquire); }

void keep_results() {
  if (keeps_results.exchange(true)) return;
  const Lock lock(opening);
  if (const lynxpp_engine* const opened = opened_engine()) opened->keep_results();
}

const lynxpp_engine* usable_engine() {
  const bool is_ours = opening_process.load(std::memory_order_relaxed) == getpid();
  return is_ours ? opened_engine() : nullptr;
}

void finish_at_exit() {
  std::call_once(exit_registration, [] { atexit(finish); });
}

void finish() {
  // Launches that are only checked are made by the cpu device's driver without opening the engine.
  const bool is_checked = settings.checks && driver_is_stand_in();
  const lynxpp_engine* const opened = is_checked ? open_engine("no finding is reported") : opened_engine();
  if (opened == nullptr) {
    if (!is_run_program() || finished.exchange(true)) return;
    report_unseen_drivers();
    report_no_launch();
    return;
  }
  if (opening_process.load(std::memory_order_relaxed) != getpid()) return;
  // A signal handler that ends the process while this thread is inside the engine must not wait for its own
  // thread.
  if (Passthrough::active() || finished.exchange(true)) return;
  attached_flag.store(0, std::memory_order_relaxed);
  await_answer();
  const Passthrough passthrough;
  if (settings.specifications != nullptr || attachments() != 0) report_unseen_drivers();
  const lynxpp_seen seen = opened->finish();
  if (seen == lynxpp_seen_measured) has_measured.store(true);
  if (seen >= lynxpp_seen_launches) return;
  if (is_run_program()) {
    report_no_launch();
  } else if (seen == lynxpp_seen_missing) {
    say("no kernel was launched while a specification was attached");
  }
}

int status_of_run(int status) {
  constexpr int nothing_measured = 3;
  const bool counts = status == 0 && is_run_program() && finished.load();
  return counts && !has_measured.load() && !child_has_measured() ? nothing_measured : status;
}

}  // namespace lynxpp::preload
