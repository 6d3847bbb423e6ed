#include "interposer/preload/cpu_binding.h"

#include <dlfcn.h>

#include <algorithm>
#include <atomic>
#include <climits>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <utility>
#include <vector>

#include "interposer/owned_mutex.h"
#include "interposer/preload/control.h"
#include "interposer/preload/cpu_choice.h"
#include "interposer/preload/driver.h"
#include "interposer/preload/engine_client.h"
#include "interposer/preload/loaded_object.h"
#include "interposer/preload/process.h"
#include "interposer/preload/static_runtime.h"

namespace lynxpp::preload {
namespace {

constexpr int current_version = 13;

/// Serializes binding; never held while waiting for the dynamic linker's lock.
constinit OwnedMutex<std::mutex> binding{LockRank::binding};
// Set before bound_functions is not 0:
const lynxpp_engine* bound_engine = nullptr;
int looked_up_version = current_version;  // for names without an object: the latest loaded version
void* refusal = nullptr;                  // replaces runtime functions that the engine lacks
std::atomic<bool> has_shared_runtime = false;

/// Returns the version of the shared runtime with this file name.
int version_of(const char* file_name) {
  const char* const version = strstr(file_name, ".so.");
  return version != nullptr ? static_cast<int>(strtol(version + strlen(".so."), nullptr, 10))
                            : current_version;
}

/// Returns the version of the shared runtime that the object is linked with.
int version_needed(const LoadedObject& object) {
  if (object.needs([](const char* name) { return is_runtime_library(name) && version_of(name) < 12; }))
    return 11;
  return object.needs([](const char* name) { return is_runtime_library(name) && version_of(name) == 12; })
             ? 12
             : current_version;
}

/// Returns the engine's function for programs that are built for this version; null if it has none or the
/// process does not use the cpu device.
void* cpu_function(const char* name, int version) {
  if (bound_functions.load(std::memory_order_acquire) == 0) return nullptr;
  size_t high = 0;
  const lynxpp_cpu_function* const functions = bound_engine->cpu_functions(version, &high);
  size_t low = 0;
  while (low < high) {
    const size_t middle = low + (high - low) / 2;
    const int order = strcmp(functions[middle].name, name);
    if (order == 0) return functions[middle].address;
    if (order < 0) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return nullptr;
}

/// Names that the engine does not know, for one line at level info.
class MissingNames {
 public:
  void add(const char* name) {
    ++count_;
    if (strstr(text_, name) != nullptr) return;
    const size_t used = strlen(text_);
    snprintf(text_ + used, sizeof text_ - used, "%s%s", used == 0 ? "" : ", ", name);
  }
  void report() const {
    if (count_ == 0 || !settings.verbose) return;
    say("the cpu device does not have these runtime functions, which this program imports: %s", text_);
  }

 private:
  int count_ = 0;
  char text_[1536] = "";
};

/// Makes calls of the runtime that is linked into an object reach the engine. Functions that the engine lacks
/// stay: they find no driver and fail. Returns false if the runtime stays as it is.
bool bind_static_runtime(const StaticRuntime& runtime) {
  if (!runtime.has_functions()) return false;
  const int version = runtime.version();
  return runtime.redirect([version](const char* name) { return cpu_function(name, version); });
}

/// True if a loaded runtime has the function; a program may have functions of its own with the runtime's
/// names.
bool is_of_runtime(const char* symbol) {
  bool found = false;
  for_each_loaded_object([&](const LoadedObject& object) {
    found = is_runtime_library(object.base_name()) && object.exports(symbol);
    return found;
  });
  return found;
}

void bind_imports(const LoadedObject& object, MissingNames& missing) {
  const int version = version_needed(object);
  object.for_each_import_slot([&](const char* symbol, void** slot) {
    if (!is_runtime_name(symbol)) return;
    if (void* const address = cpu_function(symbol, version)) {
      *slot = address;
    } else if (is_of_runtime(symbol)) {
      *slot = refusal;
      missing.add(symbol);
    }
  });
}

/// Returns the latest version of the loaded runtimes.
int latest_loaded_version() {
  int latest = 0;
  for_each_loaded_object([&](const LoadedObject& object) {
    if (is_runtime_library(object.base_name())) latest = std::max(latest, version_of(object.base_name()));
    return false;
  });
  return latest != 0 ? latest : current_version;
}

/// Later bindings (lazy slots, dlsym, libraries opened later, before their constructors) use the runtime's
/// own symbol table.
void bind_exports(const LoadedObject& runtime) {
  const int version = version_of(runtime.base_name());
  runtime.for_each_export([&](const char* symbol) {
    if (!is_runtime_name(symbol)) return;
    void* const address = cpu_function(symbol, version);
    runtime.redirect_export(symbol, address != nullptr ? address : refusal);
  });
}

/// The object that contains the code at `caller`.
struct Asking {
  /// State of the calling runtime, if it is linked into the object.
  enum class Runtime : std::uint8_t {
    none,
    without_symbols,
    redirected,
    not_yet_redirected,  ///< called by a constructor
    relocatable,         ///< its device code cannot be registered again
  } runtime = Runtime::none;
  const char* file = "";  ///< full name, at a fixed address while loaded; empty: the program
  char name[128] = "";    ///< the file's own name
};

Asking asking_object(const void* caller) {
  Asking result;
  for_each_loaded_object([&](const LoadedObject& object) {
    if (!object.contains(caller)) return false;
    const StaticRuntime runtime(object);
    if (runtime.is_present()) {
      using enum Asking::Runtime;
      result.runtime = !runtime.has_functions()           ? without_symbols
                       : runtime.is_redirected()          ? redirected
                       : !runtime.registrations().empty() ? not_yet_redirected
                                                          : relocatable;
    }
    result.file = object.name();
    snprintf(result.name, sizeof result.name, "%s", object.base_name());
    return true;
  });
  return result;
}

/// True on the first call for this library; distinguishes up to 32 libraries.
bool is_first(const char* file) {
  static std::atomic<const char*> told[32];
  for (std::atomic<const char*>& slot : told) {
    const char* known = nullptr;
    if (slot.compare_exchange_strong(known, file)) return true;
    if (known == file) return false;
  }
  return false;
}

}  // namespace

bool links_shared_runtime() {
  bool found = false;
  for_each_loaded_object([&](const LoadedObject& object) {
    found = !is_runtime_library(object.base_name()) && object.needs(is_runtime_library);
    return found;
  });
  return found;
}

namespace {

/// Binds every loaded object, once. Returns false if they are bound already.
bool bind_objects(const lynxpp_engine& engine, BindingTime when) {
  const Lock lock(binding);
  if (bound_functions.load() != 0) return false;
  size_t count = 0;
  engine.cpu_functions(current_version, &count);
  bound_engine = &engine;
  refusal = engine.cpu_refusal();
  looked_up_version = latest_loaded_version();
  bound_functions.store(count, std::memory_order_release);
  MissingNames missing;
  for_each_loaded_object([&](const LoadedObject& object) {
    if (is_runtime_library(object.base_name())) {
      has_shared_runtime.store(true);
      bind_exports(object);
    } else if (!object.contains(&bound_engine)) {
      bind_imports(object, missing);
      if (when == BindingTime::before_constructors) bind_static_runtime(StaticRuntime(object));
    }
    return false;
  });
  missing.report();
  return true;
}

/// Called for each runtime function that a library opened later binds.
void* function_of_late_runtime(const char* name) {
  bind_to_cpu_device(BindingTime::later);
  if (void* const address = looked_up_cpu_function(name)) return address;
  if (refusal != nullptr) return refusal;
  // The engine is missing, which has been reported.
  void* address = nullptr;
  for_each_loaded_object([&](const LoadedObject& object) {
    if (is_runtime_library(object.base_name())) address = object.address_of(name);
    return address != nullptr;
  });
  return address != nullptr ? address : reinterpret_cast<void*>(+[] { return 0; });
}

/// True if a shared runtime that is opened later has to be bound.
bool awaits_runtime() { return wants_cpu_device() && !has_shared_runtime.load(); }

}  // namespace

void bind_to_cpu_device(BindingTime when) {
  const lynxpp_engine* const engine = open_engine("the program runs without the cpu device");
  if (engine == nullptr || !bind_objects(*engine, when)) return;
  if (settings.specifications != nullptr) {
    attached_flag.store(1, std::memory_order_relaxed);
    attached_engine();
  } else {
    engine->attach(nullptr);
  }
  finish_at_exit();
  begin_control();
}

void prepare_late_runtimes() {
  static std::atomic<bool> is_prepared = false;
  if (is_prepared.load(std::memory_order_relaxed) || !awaits_runtime()) return;
  char path[PATH_MAX];
  const int length = snprintf(path, sizeof path, "%s/liblynxpp-cudart.so", stand_in_folder());
  const Passthrough passthrough;
  void* const library = length > 0 && static_cast<size_t>(length) < sizeof path
                            ? real_dlopen(path, RTLD_NOW | RTLD_GLOBAL)
                            : nullptr;
  using Finder = void* (*)(const char*);
  void* const finder = library != nullptr ? real_dlsym(library, "lynxpp_find_runtime_function") : nullptr;
  if (finder != nullptr) *static_cast<Finder*>(finder) = function_of_late_runtime;
  dlerror();  // failed look-ups are not errors of the program
  is_prepared.store(true);
}

void bind_late_runtime(void* handle, const char* name) {
  if (handle == RTLD_NEXT || !awaits_runtime()) return;
  const void* const found = real_dlsym(handle, name);
  bool is_runtimes = false;
  for_each_loaded_object([&](const LoadedObject& object) {
    if (found == nullptr || !object.contains(found)) return false;
    is_runtimes = is_runtime_library(object.base_name());
    return true;
  });
  if (is_runtimes) bind_to_cpu_device(BindingTime::later);
}

namespace {

/// The static runtimes of objects that were loaded since the last call.
class OpenedRuntimes {
 public:
  /// Returns the objects whose runtime is not bound and whose device code can be registered again.
  std::vector<LoadedObject> find() {
    const Lock lock(mutex_);
    unsigned long long added = 0;
    unsigned long long removed = 0;
    count(added, removed);
    if (added == added_) return {};
    // Another object may be loaded where a removed one was.
    if (removed != removed_) examined_.clear();
    added_ = added;
    removed_ = removed;
    std::vector<LoadedObject> result;
    for_each_loaded_object([&](const LoadedObject& object) {
      if (std::find(examined_.begin(), examined_.end(), object.base()) != examined_.end()) return false;
      examined_.push_back(object.base());
      const StaticRuntime runtime(object);
      if (runtime.has_functions() && !runtime.is_redirected() && !runtime.registrations().empty())
        result.push_back(object);
      return false;
    });
    return result;
  }

 private:
  static void count(unsigned long long& added, unsigned long long& removed) {
    std::pair<unsigned long long&, unsigned long long&> counts(added, removed);
    dl_iterate_phdr(
        [](dl_phdr_info* info, std::size_t, void* into) {
          auto& [loaded, unloaded] = *static_cast<decltype(counts)*>(into);
          loaded = info->dlpi_adds;
          unloaded = info->dlpi_subs;
          return 1;
        },
        &counts);
  }

  OwnedMutex<std::mutex> mutex_{LockRank::leaf};
  unsigned long long added_ = 0;
  unsigned long long removed_ = 0;
  std::vector<std::uintptr_t> examined_;  ///< their bases
};

}  // namespace

void bind_opened_runtimes() {
  if (!wants_cpu_device()) return;
  static OpenedRuntimes runtimes;
  try {
    for (const LoadedObject& object : runtimes.find()) {
      bind_to_cpu_device(BindingTime::later);
      const StaticRuntime runtime(object);
      if (bound_functions.load() == 0 || !bind_static_runtime(runtime)) continue;
      // Its constructors have registered the device code with the library's own runtime.
      for (void (*const registration)() : runtime.registrations()) registration();
    }
  } catch (...) {
    // Out of memory: the calls fail, which is explained when they look for the driver.
  }
}

void* looked_up_cpu_function(const char* name) { return cpu_function(name, looked_up_version); }

namespace {

/// Explains why the calling static runtime finds no driver on the cpu device. Returns false if the caller is
/// not one.
bool explain_static_runtime(const void* caller) {
  const Asking asking = asking_object(caller);
  if (asking.runtime == Asking::Runtime::none) return false;
  const bool is_program = asking.name[0] == '\0';
  if (is_program ? !is_first_explanation() : !is_first(asking.file)) return true;
  const char* const name = is_program ? "this program" : asking.name;
  switch (asking.runtime) {
    case Asking::Runtime::redirected:
      say("%s calls a function of the CUDA runtime that the cpu device does not have; the call fails", name);
      break;
    case Asking::Runtime::without_symbols:
      say("%s links the CUDA runtime statically and has no symbol table, so it cannot run on the cpu "
          "device%s",
          name, is_program ? "; do not strip it, or link it with `nvcc -cudart shared`" : "; its calls fail");
      break;
    case Asking::Runtime::not_yet_redirected:
      say("a constructor of %s calls the CUDA runtime that it links statically, which the cpu device has not "
          "redirected yet; the call fails; link it with `nvcc -cudart shared`",
          name);
      break;
    case Asking::Runtime::relocatable:
      say("%s has relocatable device code and links the CUDA runtime statically, which the cpu device cannot "
          "redirect while the program runs; link it with `nvcc -cudart shared`",
          name);
      break;
    case Asking::Runtime::none: break;
  }
  return true;
}

}  // namespace

const char* driver_to_open(const char* library, const void* caller) {
  const char* slash = strrchr(library, '/');
  if (strncmp(slash != nullptr ? slash + 1 : library, "libcuda.so", 10) != 0) return nullptr;
  if (!wants_cpu_device()) return nullptr;
  // Static runtimes must not find a driver, wherever they search.
  if (explain_static_runtime(caller)) return "/nonexistent/libcuda.so.1";
  return stand_in_driver();
}

void explain_driver_use() {
  if (settings.device != DeviceChoice::cpu || driver_is_stand_in()) return;
  attached_flag.store(0, std::memory_order_relaxed);
  if (!is_first_explanation()) return;
  say("LYNXPP_DEVICE is cpu, but this program has loaded the GPU's driver and runs there, uninstrumented; "
      "use `lynxpp run -d cpu`, or set LD_LIBRARY_PATH=%s, to load the cpu device's driver",
      stand_in_folder());
}

}  // namespace lynxpp::preload
