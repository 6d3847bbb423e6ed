#include "interposer/preload/last_word.h"

#include <fcntl.h>
#include <link.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

#include "interposer/preload/cpu_choice.h"
#include "interposer/preload/driver.h"
#include "interposer/preload/process.h"
#include "support/run_mark.h"

namespace lynxpp::preload {
namespace {

constexpr char seen_mark = '1';
constexpr char measured_mark = '2';

/// Finds the path of the mark. Returns false if the program closed it and opened another file there.
bool find_mark(char* path, size_t size) {
  snprintf(path, size, "/proc/%d/fd/%d", settings.run_process, settings.run_mark);
  constexpr char expected[] = "/memfd:" LYNXPP_RUN_MARK;
  char target[64] = "";
  return settings.run_mark >= 0 && readlink(path, target, sizeof target - 1) > 0 &&
         strncmp(target, expected, sizeof expected - 1) == 0;
}

bool child_saw_launch() {
  char path[64];
  struct stat status {};
  return find_mark(path, sizeof path) && stat(path, &status) == 0 && status.st_size > 0;
}

bool had_children() {
  rusage used{};
  return getrusage(RUSAGE_CHILDREN, &used) == 0 && used.ru_maxrss > 0;
}

/// Returns the path of a driver in a different namespace than this library, or null.
const char* driver_elsewhere() {
  constexpr int with_namespaces = 2;
  constexpr char driver[] = "libcuda.so";
  if (_r_debug.r_version < with_namespaces) return nullptr;
  const auto* space = reinterpret_cast<const r_debug_extended*>(&_r_debug)->r_next;
  for (; space != nullptr; space = space->r_next) {
    for (const link_map* object = space->base.r_map; object != nullptr; object = object->l_next) {
      const char* const slash = strrchr(object->l_name, '/');
      const char* const name = slash != nullptr ? slash + 1 : object->l_name;
      if (strncmp(name, driver, sizeof driver - 1) == 0) return object->l_name;
    }
  }
  return nullptr;
}

const char* reason() {
  const bool on_cpu = settings.device == DeviceChoice::cpu ||
                      (settings.device == DeviceChoice::automatic && !driver_present());
  if (has_explained()) return "for the reason above";
  if (has_bypassing_runtime())
    return "a library opened with RTLD_DEEPBIND bypasses the cpu device and calls CUDA's runtime library, "
           "where its calls fail";
  if (runs_on_cpu_device()) return "the program launched no kernel on the cpu device";
  if (driver_loaded()) return "the program loaded the CUDA driver but launched no kernel";
  if (on_cpu)
    return "the program neither links CUDA's runtime library nor opened the driver, which the cpu device "
           "replaces";
  if (!driver_present()) return "there is no NVIDIA driver on this machine";
  return "the program never loaded the CUDA driver";
}

}  // namespace

bool is_run_program() { return settings.run_process != 0 && getpid() == settings.run_process; }

void report_no_launch() {
  if (child_saw_launch()) return;
  say("no kernel launch was seen in '%s': %s%s", program_invocation_short_name, reason(),
      had_children() ? "; none was seen in its child processes either" : "");
}

void report_unseen_drivers() {
  if (const char* const path = driver_elsewhere())
    say("%s was opened in a separate namespace (dlmopen): launches there were not seen", path);
}

bool child_has_measured() {
  char path[64];
  if (!find_mark(path, sizeof path)) return false;
  const int mark = open(path, O_RDONLY | O_CLOEXEC);
  if (mark < 0) return false;
  bool found = false;
  char told[256];
  for (ssize_t count = 0; !found && (count = read(mark, told, sizeof told)) > 0;)
    found = memchr(told, measured_mark, static_cast<size_t>(count)) != nullptr;
  close(mark);
  return found;
}

void report_to_run_command(lynxpp_seen seen) {
  char path[64];
  if (settings.run_process == 0 || is_run_program() || !find_mark(path, sizeof path)) return;
  const int mark = open(path, O_WRONLY | O_APPEND | O_CLOEXEC);
  if (mark < 0) return;
  // A failure could not be reported to anyone.
  [[maybe_unused]] const ssize_t ignored =
      write(mark, seen == lynxpp_seen_measured ? &measured_mark : &seen_mark, 1);
  close(mark);
}

}  // namespace lynxpp::preload
