// libcuda.so.1 of the cpu device: passes the program's calls of the driver on to liblynxpp-engine.so, which
// is in the folder above its own. It links nothing but libc.
#include <dlfcn.h>
#include <pthread.h>

#include <climits>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "interposer/engine_api.h"

namespace {

/// In the order of the entry points.
constexpr const char* exported_names[] = {
#define LYNXPP_DRIVER(exported, asked, since, needs) #exported,
#define LYNXPP_DRIVER_STREAM(exported, suffix, asked, since, suffix_since, needs) \
#exported, #exported "_" #suffix,
#define LYNXPP_DRIVER_UNSUPPORTED(exported, asked, per_thread, since) #exported,
#include "device/cpu/driver/api.def"
#include "device/cpu/driver/unsupported.def"
#undef LYNXPP_DRIVER
#undef LYNXPP_DRIVER_STREAM
#undef LYNXPP_DRIVER_UNSUPPORTED
};
constexpr size_t slot_count = sizeof exported_names / sizeof *exported_names;

constexpr int error_stub_library = 34;  // CUDA_ERROR_STUB_LIBRARY
int no_engine() { return error_stub_library; }

pthread_once_t bound = PTHREAD_ONCE_INIT;

/// The engine beside liblynxpp.so of the same build or installation; null, and said so, when there is none.
const lynxpp_engine* open_engine_above() {
  Dl_info info;
  char path[PATH_MAX];
  if (dladdr(reinterpret_cast<const void*>(&no_engine), &info) == 0 ||
      realpath(info.dli_fname, path) == nullptr)
    return nullptr;
  for (int i = 0; i < 2; ++i) {
    if (char* const slash = strrchr(path, '/')) *slash = '\0';
  }
  constexpr char name[] = "/liblynxpp-engine.so";
  if (strlen(path) + sizeof name > sizeof path) return nullptr;
  strcat(path, name);
  void* const library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    const char* const reason = dlerror();
    fprintf(stderr, "lynxpp: the cpu device's libcuda.so.1 cannot open the engine: %s\n",
            reason != nullptr ? reason : path);
    return nullptr;
  }
  const auto open = reinterpret_cast<decltype(&lynxpp_open_engine)>(dlsym(library, "lynxpp_open_engine"));
  const lynxpp_engine* const engine = open != nullptr ? open(LYNXPP_ENGINE_ABI) : nullptr;
  if (engine == nullptr)
    fprintf(stderr, "lynxpp: %s is from a different build than its libcuda.so.1\n", path);
  return engine;
}

}  // namespace

extern "C" {

[[gnu::visibility("hidden")]] void* lynxpp_driver_slots[slot_count] = {};

/// By which the hooks of liblynxpp.so tell this library from the real driver.
[[gnu::visibility("default")]] char lynxpp_stands_in_for_driver = 1;

[[gnu::visibility("hidden")]] void lynxpp_driver_bind() {
  pthread_once(&bound, [] {
    const lynxpp_engine* const engine = open_engine_above();
    size_t count = 0;
    const lynxpp_cpu_function* const functions =
        engine != nullptr ? engine->cpu_driver_functions(&count) : nullptr;
    for (size_t slot = 0; slot < slot_count; ++slot) {
      void* address = reinterpret_cast<void*>(&no_engine);
      for (size_t i = 0; i < count; ++i) {
        if (strcmp(functions[i].name, exported_names[slot]) == 0) address = functions[i].address;
      }
      __atomic_store_n(&lynxpp_driver_slots[slot], address, __ATOMIC_RELEASE);
    }
  });
}
}
