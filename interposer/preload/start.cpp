// Entry points of the preload library: its constructor, the functions called by dlsym and dlopen, and the
// exits of a process.
#include <dlfcn.h>
#include <errno.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "interposer/preload/compilers/compilers.h"
#include "interposer/preload/compilers/jit_linking.h"
#include "interposer/preload/compilers/linked_compilers.h"
#include "interposer/preload/control.h"
#include "interposer/preload/cpu_binding.h"
#include "interposer/preload/engine_client.h"
#include "interposer/preload/hooks/hooks.h"
#include "interposer/preload/last_word.h"
#include "interposer/preload/late_start.h"
#include "interposer/preload/process.h"
#include "interposer/preload/static_runtime.h"

#define LYNXPP_EXPORT extern "C" [[gnu::visibility("default")]]

/// Only its address matters; entry_points.S compares with it.
extern "C" {
[[gnu::visibility("hidden")]] char lynxpp_no_symbol[1];

/// True if the thread has called dlopen, and the loaded libraries may be linked with a compiler.
[[gnu::visibility("hidden"), gnu::tls_model("initial-exec")]] constinit thread_local bool lynxpp_has_opened =
    false;
}

namespace lynxpp::preload {
namespace {

using Leave = void (*)(int);

/// Looked up at the start: a forked child may not use the dynamic linker.
Leave real_exit_now = nullptr;
Leave real_exit_now_c99 = nullptr;
Leave real_quick_exit = nullptr;

[[noreturn]] void leave(Leave next, int status) {
  remember_ptxas_output();
  end_control();
  finish();
  status = status_of_run(status);
  if (next != nullptr) next(status);
  syscall(SYS_exit_group, status);
  __builtin_unreachable();
}

/// The handler that runs last: only the C library's buffers remain to be written.
void finish_run(int status, void*) {
  finish();
  const int changed = status_of_run(status);
  if (changed == status) return;
  fflush(nullptr);
  if (real_exit_now != nullptr) real_exit_now(changed);
}

/// A library that is opened before the C library's constructor has run makes it run without arguments: then
/// it sets neither of these names, which error() and assert() print.
void keep_program_name(int count, char** arguments) {
  if (count < 1 || arguments[0] == nullptr) return;
  program_invocation_name = arguments[0];
  char* const slash = std::strrchr(arguments[0], '/');
  program_invocation_short_name = slash != nullptr ? slash + 1 : arguments[0];
}

/// Linked with -z initfirst: runs before every other constructor of the process, including the C library's
/// own.
[[gnu::constructor]] void start(int count, char** arguments, char** environment) {
  keep_program_name(count, arguments);
  lynxpp_resolve_real_functions();
  real_exit_now = reinterpret_cast<Leave>(real_dlsym(RTLD_NEXT, "_exit"));
  real_exit_now_c99 = reinterpret_cast<Leave>(real_dlsym(RTLD_NEXT, "_Exit"));
  real_quick_exit = reinterpret_cast<Leave>(real_dlsym(RTLD_NEXT, "quick_exit"));
  find_environment_functions();
  remember_own_path();
  if (has_raised_rights) return;
  read_settings(environment);
  watch_ptxas(count, arguments);
  if (is_run_program()) {
    keep_stderr();
    // For programs that launch nothing. Results that are collected after the driver's own handler are lost,
    // so finish_at_exit() registers another handler once the driver is initialized.
    on_exit(finish_run, nullptr);
  }
  // InitializeInjection does the rest; if another copy was first, this copy does nothing.
  if (!is_loaded_with_program()) return;
  bind_linked_compilers();
  // Opening a library now initializes the C library with this environment; the engine reads it too.
  if (environ == nullptr) environ = environment;
  if (settings.device != DeviceChoice::cuda && (links_shared_runtime() || links_static_runtime()) &&
      (settings.device == DeviceChoice::cpu || !driver_present())) {
    bind_to_cpu_device(BindingTime::before_constructors);
    return;
  }
  if (settings.specifications != nullptr) attached_flag.store(1, std::memory_order_relaxed);
}

[[gnu::destructor]] void end() {
  remember_ptxas_output();
  end_control();
}

/// Implements lynxpp_find_hook for a driver function that is not interposed. Our own handle finds the
/// driver's function; the program's scope must not find ours if the process has no driver.
void* find_unhooked(void* handle, const char* name) {
  if (is_our_handle(handle)) return driver_export(name);
  void* const found = real_dlsym(handle == RTLD_NEXT ? RTLD_DEFAULT : handle, name);
  const bool is_ours_alone =
      found != nullptr && belongs_to_this_library(found) && !is_provided_elsewhere(name);
  return is_ours_alone ? lynxpp_no_symbol : nullptr;
}

}  // namespace
}  // namespace lynxpp::preload

/// Called for names that begin with "cu", "nv" or "__nv". Null: the real dlsym answers. lynxpp_no_symbol: the
/// result is null.
extern "C" [[gnu::visibility("hidden")]] void* lynxpp_find_hook(void* handle, const char* name) {
  using namespace lynxpp::preload;  // NOLINT(google-build-using-namespace): its code, under a C name
  lynxpp_resolve_real_functions();
  if (has_raised_rights) return name[0] == 'c' ? find_unhooked(handle, name) : nullptr;
  if (name[0] != 'c') {
    void* const watched = watched_compiler_function(handle, name);
    return watched != nullptr ? watched : watched_linker_function(handle, name);
  }
  if (strncmp(name, "cuda", 4) == 0) {
    if (is_loaded_with_program() && !Passthrough::active()) bind_late_runtime(handle, name);
    return looked_up_cpu_function(name);
  }
  if (Passthrough::active()) return nullptr;
  const Slot slot = slot_of_export(name);
  if (slot == Slot::count) return find_unhooked(handle, name);
  if (handle != RTLD_DEFAULT && handle != RTLD_NEXT) {
    void* const found = real_dlsym(handle, name);
    if (found != nullptr && belongs_to_driver(found)) {
      remember_looked_up(slot, found);
      return looked_up_wrapper(slot);
    }
    if (found == nullptr || !belongs_to_this_library(found)) return nullptr;
  }
  if (!is_loaded_with_program()) {
    // Nothing is bound to our exports, so the function found is the driver's.
    void* const found = driver_export(slot);
    if (found == nullptr || real_dlsym(RTLD_DEFAULT, name) != found) return nullptr;
    remember_looked_up(slot, found);
    return looked_up_wrapper(slot);
  }
  // The look-up would find our own export, which must not suggest that a driver exists.
  return is_provided_elsewhere(name) ? nullptr : lynxpp_no_symbol;
}

/// Returns the file to open instead of `name`; null: `name` itself.
extern "C" [[gnu::visibility("hidden")]] const char* lynxpp_observe_dlopen(const char* name,
                                                                           const void* caller) {
  using namespace lynxpp::preload;  // NOLINT(google-build-using-namespace): its code, under a C name
  lynxpp_resolve_real_functions();
  lynxpp_has_opened = true;
  if (name == nullptr || has_raised_rights) return nullptr;
  if (is_loaded_with_program() && !Passthrough::active()) prepare_late_runtimes();
  return driver_to_open(name, caller);
}

/// Binds the libraries that dlopen has loaded before dlsym looks into them.
extern "C" [[gnu::visibility("hidden")]] void lynxpp_bind_opened() {
  using namespace lynxpp::preload;  // NOLINT(google-build-using-namespace): its code, under a C name
  lynxpp_has_opened = false;
  if (!is_loaded_with_program() || Passthrough::active()) return;
  bind_linked_compilers();
  bind_opened_runtimes();
}

/// Implements RTLD_DEEPBIND. lynxpp_no_symbol: the file can only be found by the caller's own call.
extern "C" [[gnu::visibility("hidden")]] void* lynxpp_open_deeply(const char* name, int flags,
                                                                  const void* caller) {
  using namespace lynxpp::preload;  // NOLINT(google-build-using-namespace): its code, under a C name
  lynxpp_resolve_real_functions();
  if (name == nullptr || Passthrough::active() || strchr(name, '$') != nullptr) return lynxpp_no_symbol;
  if (strchr(name, '/') == nullptr && has_search_path(caller)) return lynxpp_no_symbol;
  lynxpp_has_opened = true;
  const char* const other = driver_to_open(name, caller);
  return open_and_bind(other != nullptr ? other : name, flags);
}

LYNXPP_EXPORT void _exit(int status) { lynxpp::preload::leave(lynxpp::preload::real_exit_now, status); }
LYNXPP_EXPORT void _Exit(int status) noexcept {
  lynxpp::preload::leave(lynxpp::preload::real_exit_now_c99, status);
}
LYNXPP_EXPORT void quick_exit(int status) noexcept {
  lynxpp::preload::leave(lynxpp::preload::real_quick_exit, status);
}
