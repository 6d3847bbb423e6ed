#include "interposer/preload/process.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <sys/auxv.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <climits>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "interposer/engine_api.h"
#include "interposer/preload/loaded_object.h"
#include "support/printable.h"
#include "support/write_signals.h"

// Read by the entry points in entry_points.S.
extern "C" {
void* lynxpp_real_dlsym = nullptr;
void* lynxpp_real_dlopen = nullptr;
}

namespace lynxpp::preload {
namespace {

char own_path_buffer[PATH_MAX];
int kept_stderr = -1;

using Dlsym = void* (*)(void*, const char*);
using Dlopen = void* (*)(const char*, int);

/// The C library's own dlopen, even if another preload interposes it.
Dlopen dlopen_of_libc = nullptr;

DeviceChoice parse_device(const char* text) {
  if (strcmp(text, "cpu") == 0) return DeviceChoice::cpu;
  if (strcmp(text, "cuda") == 0) return DeviceChoice::cuda;
  if (*text != '\0' && strcmp(text, "auto") != 0)
    say("unknown LYNXPP_DEVICE '%s'; expected auto, cuda or cpu; using auto", text);
  return DeviceChoice::automatic;
}

/// Returns the value if `entry` is "name=value", else null.
const char* value_of(const char* entry, const char* name) {
  const size_t length = strlen(name);
  return strncmp(entry, name, length) == 0 && entry[length] == '=' ? entry + length + 1 : nullptr;
}

bool exists(const char* path) { return access(path, F_OK) == 0; }

/// True if device nodes of the kernel driver, or of WSL, exist.
bool has_device_nodes() { return exists("/dev/nvidiactl") || exists("/dev/nvidia0") || exists("/dev/dxg"); }

/// LD_LIBRARY_PATH may point to the cpu device's library.
bool opens_real_driver() {
  void* const library = real_dlopen("libcuda.so.1", RTLD_LAZY | RTLD_LOCAL);
  return library != nullptr && real_dlsym(library, "lynxpp_stands_in_for_driver") == nullptr;
}

/// Containers may have the nodes without the library. In a usual directory, the library need not be opened.
bool has_driver_library() {
  return exists("/usr/lib/x86_64-linux-gnu/libcuda.so.1") || exists("/usr/lib64/libcuda.so.1") ||
         exists("/usr/lib/libcuda.so.1") || exists("/usr/lib/wsl/lib/libcuda.so.1") || opens_real_driver();
}

}  // namespace

Settings settings;
bool has_raised_rights = false;

void read_settings(char** environment) {
  for (char** entry = environment; entry != nullptr && *entry != nullptr; ++entry) {
    if (const char* folder = value_of(*entry, "XDG_RUNTIME_DIR")) settings.runtime_folder = folder;
    if (strncmp(*entry, "LYNXPP_", 7) != 0) continue;
    if (const char* specifications = value_of(*entry, "LYNXPP_SPEC")) {
      settings.specifications = *specifications != '\0' ? specifications : nullptr;
    } else if (const char* trials = value_of(*entry, "LYNXPP_TRIALS")) {
      if (*trials != '\0') settings.trials = true;
    } else if (const char* device = value_of(*entry, "LYNXPP_DEVICE")) {
      settings.device = parse_device(device);
    } else if (const char* level = value_of(*entry, "LYNXPP_LOG")) {
      settings.verbose =
          strcmp(level, "info") == 0 || strcmp(level, "debug") == 0 || strcmp(level, "trace") == 0;
    } else if (const char* control = value_of(*entry, "LYNXPP_CONTROL")) {
      if (strcmp(control, "0") == 0) settings.control = ControlChoice::off;
      if (strcmp(control, "1") == 0) settings.control = ControlChoice::on;
    } else if (value_of(*entry, "LYNXPP_CPU_CHECK") != nullptr) {
      settings.checks = true;
    } else if (const char* run = value_of(*entry, "LYNXPP_RUN")) {
      char* end = nullptr;
      settings.run_process = static_cast<int>(strtol(run, &end, 10));
      if (*end == ':') settings.run_mark = static_cast<int>(strtol(end + 1, nullptr, 10));
    }
  }
  // With both, the engine refuses to attach anything.
  if (settings.trials && settings.specifications == nullptr) settings.specifications = LYNXPP_TRIALS_ATTACHED;
}

namespace {

/// Replaces invalid characters: libraries and programs may have any name.
void clean(char* line, size_t length) {
  for (size_t i = 0; i < length;) {
    const size_t character = utf8_length(line + i, length - i);
    const size_t bytes = character == 0 ? 1 : character;
    if (character == 0 || is_control(line + i, character)) memset(line + i, '?', bytes);
    i += bytes;
  }
}

}  // namespace

void say(const char* format, ...) {
  char line[2048] = "lynxpp: ";
  constexpr size_t prefix_length = 8;
  va_list arguments;
  va_start(arguments, format);
  const int written = vsnprintf(line + prefix_length, sizeof line - prefix_length - 1, format, arguments);
  va_end(arguments);
  if (written < 0) return;
  size_t length = prefix_length + static_cast<size_t>(written);
  if (length > sizeof line - 2) length = sizeof line - 2;
  clean(line, length);
  line[length++] = '\n';
  const WriteSignalsBlocked blocked;
  // One call, so that lines of several threads do not mix. A failure could not be reported to anyone.
  ssize_t written_bytes = write(STDERR_FILENO, line, length);
  if (written_bytes < 0 && errno == EBADF && kept_stderr >= 0)
    written_bytes = write(kept_stderr, line, length);
}

void keep_stderr() {
  constexpr int out_of_the_way = 200;
  kept_stderr = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, out_of_the_way);
}

bool driver_present() {
  // Not a function-local constant: opening a library under its guard would block a thread that holds the
  // dynamic linker's lock.
  enum Known { unknown, absent, present };
  static constinit std::atomic<Known> known = unknown;
  if (known.load() == unknown) known.store(has_device_nodes() && has_driver_library() ? present : absent);
  return known.load() == present;
}

void remember_own_path() {
  Dl_info info;
  if (dladdr(&own_path_buffer, &info) == 0 || info.dli_fname == nullptr) return;
  if (info.dli_fname[0] != '/') {
    if (realpath(info.dli_fname, own_path_buffer) == nullptr) own_path_buffer[0] = '\0';
  } else if (strlen(info.dli_fname) < sizeof own_path_buffer) {
    strcpy(own_path_buffer, info.dli_fname);
  }
}

void* own_function(const char* name) {
  void* found = nullptr;
  for_each_loaded_object([&](const LoadedObject& object) {
    if (!object.contains(&own_path_buffer)) return false;
    found = object.address_of(name);
    return true;
  });
  return found;
}

// Each of the next three is determined once, by whichever thread is first, without the dynamic linker's lock.

const char* own_path() {
  static char resolved[PATH_MAX];
  static const char* const found =
      realpath(own_path_buffer, resolved) != nullptr ? resolved : own_path_buffer;
  return found;
}

const char* stand_in_folder() {
  static char folder[PATH_MAX + sizeof "/cpu-driver"];
  static const char* const found = [] {
    snprintf(folder, PATH_MAX, "%s", own_path());
    if (char* const slash = strrchr(folder, '/')) *slash = '\0';
    return strcat(folder, "/cpu-driver");
  }();
  return found;
}

const char* stand_in_driver() {
  static char path[PATH_MAX + sizeof "/cpu-driver/libcuda.so.1"];
  static const bool is_there = [] {
    snprintf(path, sizeof path, "%s/libcuda.so.1", stand_in_folder());
    return exists(path);
  }();
  return is_there ? path : nullptr;
}

void lynxpp_resolve_real_functions() {
  if (lynxpp_real_dlsym != nullptr) return;
  has_raised_rights = getauxval(AT_SECURE) != 0;
  // dlvsym is not interposed; requesting a version skips our own unversioned dlsym and those of other
  // preloads.
  void* of_libc = dlvsym(RTLD_NEXT, "dlsym", "GLIBC_2.34");
  if (of_libc == nullptr) of_libc = dlvsym(RTLD_NEXT, "dlsym", "GLIBC_2.2.5");
  if (of_libc == nullptr) {
    say("cannot find dlsym in this C library; use glibc 2.34 or newer");
    _exit(127);
  }
  void* const opens = dlvsym(RTLD_NEXT, "dlopen", "GLIBC_2.34");
  dlopen_of_libc =
      reinterpret_cast<Dlopen>(opens != nullptr ? opens : dlvsym(RTLD_NEXT, "dlopen", "GLIBC_2.2.5"));
  // Another preload after us may interpose these too; it is then called next.
  const auto dlsym_of_libc = reinterpret_cast<Dlsym>(of_libc);
  void* next = dlsym_of_libc(RTLD_NEXT, "dlsym");
  lynxpp_real_dlopen = dlsym_of_libc(RTLD_NEXT, "dlopen");
  lynxpp_real_dlsym = next != nullptr ? next : of_libc;
}

void* real_dlsym(void* handle, const char* name) {
  void* const symbol = reinterpret_cast<Dlsym>(lynxpp_real_dlsym)(handle, name);
  asm volatile("");  // no tail call: RTLD_NEXT must see a return address inside this library
  return symbol;
}

void* find_opened(const char* name) {
  const auto open = dlopen_of_libc != nullptr ? dlopen_of_libc : reinterpret_cast<Dlopen>(lynxpp_real_dlopen);
  void* const handle = open(name, RTLD_LAZY | RTLD_NOLOAD);
  asm volatile("");
  return handle;
}

void* real_dlopen(const char* name, int flags) {
  void* const handle = reinterpret_cast<Dlopen>(lynxpp_real_dlopen)(name, flags);
  asm volatile("");
  return handle;
}

}  // namespace lynxpp::preload
