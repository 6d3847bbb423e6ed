#include "interposer/preload/driver.h"

#include <dlfcn.h>

#include <cstring>

#include "interposer/preload/process.h"

namespace lynxpp::preload {
namespace {

constexpr unsigned slot_count = static_cast<unsigned>(Slot::count);

/// Not 13000: for that version the driver returns cuCtxGetDevice_v2 under the name cuCtxGetDevice, while in
/// cuda.h 13 the plain name still means the function with one parameter.
constexpr int api_version = 12080;

struct HookName {
  const char* exported;
  const char* asked;
  bool per_thread_stream;
  int since;
};

constexpr HookName function_names[slot_count] = {
#define LYNXPP_DRIVER_HOOK(exported, asked, per_thread_stream, since, family, wrapper) \
  {#exported, #asked, per_thread_stream != 0, since},
#include "interposer/driver_api.def"
#undef LYNXPP_DRIVER_HOOK
};

CUresult no_driver() { return error_stub_library; }

/// Returns libcuda.so.1 if the program has opened it. We hold a reference, so it stays loaded.
void* driver_library() {
  static std::atomic<void*> library = nullptr;
  void* handle = library.load(std::memory_order_acquire);
  if (handle != nullptr) return handle;
  handle = find_opened("libcuda.so.1");
  for (unsigned slot = 0; handle == nullptr && slot < slot_count; ++slot) {
    // It may have been opened by a path under another name.
    Dl_info info;
    const void* const known =
        originals[static_cast<unsigned>(Binding::looked_up)][slot].load(std::memory_order_relaxed);
    if (known != nullptr && !belongs_to_this_library(known) && dladdr(known, &info) != 0)
      handle = find_opened(info.dli_fname);
  }
  if (handle != nullptr) library.store(handle, std::memory_order_release);
  return handle;
}

bool names_an_export(const char* name) {
  const char* const suffix = strrchr(name, '_');
  if (suffix == nullptr) return false;
  return strcmp(suffix, "_ptsz") == 0 || strcmp(suffix, "_ptds") == 0 ||
         (suffix[1] == 'v' && suffix[2] >= '1' && suffix[2] <= '9');
}

}  // namespace

std::atomic<void*> originals[static_cast<unsigned>(Binding::count)][slot_count] = {};

void* find_original(Slot slot, Binding binding) {
  const auto index = static_cast<unsigned>(slot);
  void* address =
      binding == Binding::linked ? real_dlsym(RTLD_NEXT, function_names[index].exported) : nullptr;
  if (address == nullptr) {
    // The driver may be loaded outside the global scope.
    if (void* const library = driver_library()) address = real_dlsym(library, function_names[index].exported);
  }
  if (address == nullptr) return reinterpret_cast<void*>(no_driver);
  originals[static_cast<unsigned>(binding)][index].store(address, std::memory_order_relaxed);
  return address;
}

void remember_looked_up(Slot slot, void* address) {
  void* expected = nullptr;
  originals[static_cast<unsigned>(Binding::looked_up)][static_cast<unsigned>(slot)].compare_exchange_strong(
      expected, address, std::memory_order_relaxed);
}

Slot slot_of_export(const char* name) {
  for (unsigned slot = 0; slot < slot_count; ++slot) {
    if (strcmp(function_names[slot].exported, name) == 0) return static_cast<Slot>(slot);
  }
  return Slot::count;
}

Slot slot_of_request(const char* name, int version, bool per_thread_stream) {
  unsigned best = slot_count;
  unsigned fallback = slot_count;  // a function without a per-thread variant
  for (unsigned slot = 0; slot < slot_count; ++slot) {
    const HookName& candidate = function_names[slot];
    if (strcmp(candidate.asked, name) != 0 || candidate.since > version) continue;
    // Later versions come later in the list.
    (candidate.per_thread_stream == per_thread_stream ? best : fallback) = slot;
  }
  if (best != slot_count) return static_cast<Slot>(best);
  if (fallback != slot_count && !function_names[fallback].per_thread_stream)
    return static_cast<Slot>(fallback);
  return slot_of_export(name);
}

void* driver_export(Slot slot) { return driver_export(function_names[static_cast<unsigned>(slot)].exported); }

Requested driver_request(Slot slot) {
  using GetProcAddress = CUresult (*)(const char*, void**, int, std::uint64_t, int*);
  const HookName& name = function_names[static_cast<unsigned>(slot)];
  void* const library = driver_library();
  const auto ask = library != nullptr
                       ? reinterpret_cast<GetProcAddress>(real_dlsym(library, "cuGetProcAddress_v2"))
                       : nullptr;
  const int version = name.since != 0 ? name.since : api_version;
  const Slot of_answer = slot_of_request(name.asked, version, name.per_thread_stream);
  constexpr std::uint64_t legacy_stream = 1;
  const std::uint64_t flags = name.per_thread_stream ? per_thread_default_stream : legacy_stream;
  void* address = nullptr;
  int status = 0;
  if (ask == nullptr || ask(name.asked, &address, version, flags, &status) != cuda_success) address = nullptr;
  return {of_answer, address};
}

bool belongs_to_driver(const void* address) {
  Dl_info info;
  if (dladdr(address, &info) == 0 || info.dli_fname == nullptr) return false;
  const char* const slash = strrchr(info.dli_fname, '/');
  return strncmp(slash != nullptr ? slash + 1 : info.dli_fname, "libcuda.so", 10) == 0;
}

bool belongs_to_this_library(const void* address) {
  Dl_info theirs;
  Dl_info ours;
  return dladdr(address, &theirs) != 0 && dladdr(originals, &ours) != 0 && theirs.dli_fbase == ours.dli_fbase;
}

bool driver_loaded() { return driver_library() != nullptr; }

bool driver_is_stand_in() {
  void* const library = driver_library();
  return library != nullptr && real_dlsym(library, "lynxpp_stands_in_for_driver") != nullptr;
}

bool is_provided_elsewhere(const char* name) {
  return driver_library() != nullptr || real_dlsym(RTLD_NEXT, name) != nullptr;
}

bool is_our_handle(const void* handle) {
  // Not a function-local constant, as in driver_library().
  static std::atomic<const void*> known = nullptr;
  const void* ours = known.load(std::memory_order_acquire);
  if (ours == nullptr) {
    ours = find_opened(own_path());
    known.store(ours, std::memory_order_release);
  }
  return handle != nullptr && handle == ours;
}

void* driver_export(const char* name) {
  void* const library = driver_library();
  return library != nullptr ? real_dlsym(library, name) : nullptr;
}

void* lookup_driver(const char* name) {
  void* const library = driver_library();
  if (library == nullptr) return nullptr;
  if (!names_an_export(name)) {
    using GetProcAddress = CUresult (*)(const char*, void**, int, std::uint64_t, int*);
    // Not a function-local constant: its guard would be held while waiting for the dynamic linker's lock,
    // which a thread in a library's constructor holds when it reaches this point.
    static std::atomic<GetProcAddress> known = nullptr;
    GetProcAddress get_proc_address = known.load(std::memory_order_relaxed);
    if (get_proc_address == nullptr) {
      get_proc_address = reinterpret_cast<GetProcAddress>(real_dlsym(library, "cuGetProcAddress_v2"));
      known.store(get_proc_address, std::memory_order_relaxed);
    }
    void* address = nullptr;
    int status = 0;
    if (get_proc_address != nullptr &&
        get_proc_address(name, &address, api_version, 0, &status) == cuda_success && address != nullptr) {
      return address;
    }
  }
  return real_dlsym(library, name);
}

CUcontext current_context() {
  using GetCurrent = CUresult (*)(CUcontext*);
  static std::atomic<GetCurrent> known = nullptr;
  GetCurrent get_current = known.load(std::memory_order_relaxed);
  if (get_current == nullptr) {
    get_current = driver_function<GetCurrent>("cuCtxGetCurrent");
    known.store(get_current, std::memory_order_relaxed);
  }
  CUcontext context = nullptr;
  return get_current != nullptr && get_current(&context) == cuda_success ? context : nullptr;
}

}  // namespace lynxpp::preload

/// For the functions of entry_points.S that only forward to the driver. Caches the address in `place`.
extern "C" [[gnu::visibility("hidden")]] void* lynxpp_find_forwarded(const char* name,
                                                                     std::atomic<void*>* place) {
  using namespace lynxpp::preload;  // NOLINT(google-build-using-namespace): its code, under a C name
  lynxpp_resolve_real_functions();
  void* address = real_dlsym(RTLD_NEXT, name);
  if (address == nullptr || belongs_to_this_library(address)) address = driver_export(name);
  if (address == nullptr) return reinterpret_cast<void*>(no_driver);
  place->store(address, std::memory_order_relaxed);
  return address;
}
