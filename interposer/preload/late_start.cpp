#include "interposer/preload/late_start.h"

#include <dlfcn.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <vector>

#include "interposer/preload/driver.h"
#include "interposer/preload/engine_client.h"
#include "interposer/preload/hooks/hooks.h"
#include "interposer/preload/loaded_object.h"
#include "interposer/preload/process.h"

#define LYNXPP_EXPORT extern "C" [[gnu::visibility("default")]]

extern "C" {
/// The symbol by which a second copy recognizes an earlier one.
[[gnu::visibility("default")]] char lynxpp_is_in_this_process = 1;
}

namespace lynxpp::preload {
namespace {

/// A function that was bound without us, and its replacement.
struct Replacement {
  std::uintptr_t address;
  void* wrapper;
};

struct Range {
  std::uintptr_t begin;
  std::uintptr_t end;
};

/// Searches the program and the objects loaded with it.
void* find_in_program(const char* name) {
  void* const program = real_dlopen(nullptr, RTLD_LAZY | RTLD_NOLOAD);
  return program != nullptr ? real_dlsym(program, name) : nullptr;
}

class Replacements {
 public:
  Replacements() {
    for (unsigned slot = 0; slot < static_cast<unsigned>(Slot::count); ++slot)
      add(static_cast<Slot>(slot), driver_export(static_cast<Slot>(slot)));
    sort();
    // The driver may return other addresses by name than it exports. All exported addresses are known at this
    // point.
    for (unsigned slot = 0; slot < static_cast<unsigned>(Slot::count); ++slot) {
      const Requested given = driver_request(static_cast<Slot>(slot));
      if (find(reinterpret_cast<std::uintptr_t>(given.address)) == nullptr) add(given.slot, given.address);
    }
    sort();
  }

  const Replacement* find(std::uintptr_t address) const {
    if (all_.empty() || address < all_.front().address || address > all_.back().address) return nullptr;
    const auto found = std::lower_bound(
        all_.begin(), all_.end(), address,
        [](const Replacement& each, std::uintptr_t wanted) { return each.address < wanted; });
    return found != all_.end() && found->address == address ? &*found : nullptr;
  }

 private:
  void add(Slot slot, void* address) {
    if (slot == Slot::count || address == nullptr) return;
    remember_looked_up(slot, address);
    all_.push_back({reinterpret_cast<std::uintptr_t>(address), looked_up_wrapper(slot)});
  }
  void sort() {
    std::stable_sort(all_.begin(), all_.end(),
                     [](const Replacement& a, const Replacement& b) { return a.address < b.address; });
  }

  std::vector<Replacement> all_;
};

/// Functions of the C library that are replaced by ours in later bindings.
struct OfLibc {
  const char* name;
  void* real;
  void* ours;
};

std::vector<OfLibc> functions_of_libc() {
  std::vector<OfLibc> functions;
  for (const char* const name :
       {"dlsym", "dlopen", "_exit", "_Exit", "quick_exit", "setenv", "unsetenv", "putenv", "clearenv"}) {
    void* const real = real_dlsym(RTLD_NEXT, name);
    void* const ours = own_function(name);
    if (real != nullptr && ours != nullptr) functions.push_back({name, real, ours});
  }
  return functions;
}

/// Returns the memory that is readable and writable now.
std::vector<Range> writable_memory() {
  std::vector<Range> ranges;
  std::FILE* const file = std::fopen("/proc/self/maps", "re");
  if (file == nullptr) return ranges;
  char line[512];
  while (std::fgets(line, sizeof line, file) != nullptr) {
    unsigned long begin = 0;
    unsigned long end = 0;
    char protection[5] = "";
    if (std::sscanf(line, "%lx-%lx %4s", &begin, &end, protection) == 3 && strncmp(protection, "rw", 2) == 0)
      ranges.push_back({begin, end});
  }
  std::fclose(file);
  return ranges;
}

/// True for objects that must call the driver directly: the driver, its components and its profilers.
bool stays_as_it_is(const LoadedObject& object) {
  for (const char* const prefix : {"libcuda.so", "libnvidia-", "libcupti", "libnvperf", "liblynxpp",
                                   "libc.so", "ld-linux", "linux-vdso"}) {
    if (strncmp(object.base_name(), prefix, strlen(prefix)) == 0) return true;
  }
  return object.contains(&lynxpp_is_in_this_process);
}

void bind_imports(const LoadedObject& object, const Replacements& of_driver,
                  const std::vector<OfLibc>& of_libc) {
  object.for_each_import_slot([&](const char* name, void** slot) {
    // Not bound yet: the slot points to the object's own stub, which makes the dynamic linker bind it.
    const bool is_lazy = object.contains(*slot) && !object.exports(name);
    if (const Replacement* const found = of_driver.find(reinterpret_cast<std::uintptr_t>(*slot))) {
      *slot = found->wrapper;
      return;
    }
    if (const Slot of_name = slot_of_export(name); is_lazy && of_name != Slot::count) {
      const auto exported = reinterpret_cast<std::uintptr_t>(driver_export(of_name));
      if (const Replacement* const found = of_driver.find(exported)) *slot = found->wrapper;
      return;
    }
    for (const OfLibc& each : of_libc) {
      if ((*slot == each.real || is_lazy) && strcmp(name, each.name) == 0) *slot = each.ours;
    }
  });
}

/// Replaces entries in tables of functions, which runtimes keep in their data.
void replace_words(const LoadedObject& object, const Replacements& replacements,
                   const std::vector<Range>& writable) {
  object.for_each_data_range([&](std::uintptr_t data_begin, std::uintptr_t data_end) {
    for (const Range& range : writable) {
      const std::uintptr_t begin = (std::max(range.begin, data_begin) + 7) & ~std::uintptr_t{7};
      const std::uintptr_t end = std::min(range.end, data_end);
      for (std::uintptr_t at = begin; at + sizeof(void*) <= end; at += sizeof(void*)) {
        auto* const word = reinterpret_cast<std::uintptr_t*>(at);
        const Replacement* const found = replacements.find(__atomic_load_n(word, __ATOMIC_RELAXED));
        if (found == nullptr) continue;
        __atomic_store_n(word, reinterpret_cast<std::uintptr_t>(found->wrapper), __ATOMIC_RELEASE);
      }
    }
  });
}

/// Binds objects that were not loaded at one of these addresses.
void bind_others(const std::vector<std::uintptr_t>& bases) {
  const Replacements of_driver;
  const std::vector<OfLibc> of_libc = functions_of_libc();
  const std::vector<Range> writable = writable_memory();
  for_each_loaded_object([&](const LoadedObject& object) {
    if (stays_as_it_is(object) || std::ranges::find(bases, object.base()) != bases.end()) return false;
    bind_imports(object, of_driver, of_libc);
    replace_words(object, of_driver, writable);
    return false;
  });
}

void begin_late() {
  bind_others({});
  if (settings.specifications != nullptr) attached_flag.store(1, std::memory_order_relaxed);
}

}  // namespace

void* open_and_bind(const char* name, int flags) {
  std::vector<std::uintptr_t> before;
  try {
    for_each_loaded_object([&](const LoadedObject& object) {
      before.push_back(object.base());
      return false;
    });
    void* const handle = real_dlopen(name, flags);
    if (handle == nullptr) return nullptr;
    const Passthrough passthrough;
    bind_others(before);
    dlerror();  // failed look-ups are not errors of the program
    return handle;
  } catch (...) {
    // Out of memory: the library is bound as it requests.
    return real_dlopen(name, flags);
  }
}

bool has_search_path(const void* address) {
  bool has_one = false;
  for_each_loaded_object([&](const LoadedObject& object) {
    if (!object.contains(address)) return false;
    has_one = object.has_search_path();
    return true;
  });
  return has_one;
}

bool is_loaded_with_program() {
  enum : int { unknown, with_program, later };
  static std::atomic<int> known = unknown;
  if (known.load(std::memory_order_relaxed) == unknown) {
    // Before the C library itself is initialized there is no other possible reason.
    const bool is_early =
        environ == nullptr || find_in_program("lynxpp_is_in_this_process") == &lynxpp_is_in_this_process;
    known.store(is_early ? with_program : later, std::memory_order_relaxed);
  }
  return known.load(std::memory_order_relaxed) == with_program;
}

bool is_second_copy() {
  void* const first = find_in_program("lynxpp_is_in_this_process");
  return first != nullptr && first != &lynxpp_is_in_this_process;
}

}  // namespace lynxpp::preload

/// Returns 1 on success.
LYNXPP_EXPORT int InitializeInjection() {
  using namespace lynxpp::preload;  // NOLINT(google-build-using-namespace): its code, under a C name
  static std::atomic<bool> has_begun = false;
  if (has_raised_rights || is_loaded_with_program() || is_second_copy() || has_begun.exchange(true)) return 1;
  const Passthrough passthrough;
  try {
    begin_late();
  } catch (...) {
    say("out of memory: the program runs uninstrumented");
  }
  return 1;
}
