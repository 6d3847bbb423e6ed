#include "interposer/preload/compilers/linked_compilers.h"

#include <atomic>
#include <cstring>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "interposer/owned_mutex.h"
#include "interposer/preload/compilers/compilers.h"
#include "interposer/preload/compilers/jit_linking.h"
#include "interposer/preload/loaded_object.h"

namespace lynxpp::preload {
namespace {

bool is_compiler(const char* file_name) {
  constexpr char nvrtc[] = "libnvrtc";
  constexpr char linker[] = "libnvJitLink";
  constexpr char parts_of_nvrtc[] = "libnvrtc-builtins";
  if (strncmp(file_name, linker, sizeof linker - 1) == 0) return true;
  return strncmp(file_name, nvrtc, sizeof nvrtc - 1) == 0 &&
         strncmp(file_name, parts_of_nvrtc, sizeof parts_of_nvrtc - 1) != 0;
}

bool is_watched(const char* function) {
  return strcmp(function, "nvrtcGetCUBIN") == 0 || strstr(function, "nvJitLink") != nullptr;
}

/// Returns how many objects the process has ever loaded.
unsigned long long loaded_so_far() {
  unsigned long long loaded = 0;
  dl_iterate_phdr(
      [](dl_phdr_info* info, std::size_t, void* into) {
        *static_cast<unsigned long long*>(into) = info->dlpi_adds;
        return 1;
      },
      &loaded);
  return loaded;
}

/// Uses the first library that has the function. Does not open the libraries: in our constructor that would
/// initialize libraries too early.
void* watching_function(const std::vector<LoadedObject>& libraries, const char* function) {
  for (const LoadedObject& library : libraries) {
    const auto find = [&library](const char* name) { return library.address_of(name); };
    void* found = watched_compiler_function(find, function);
    if (found == nullptr) found = watched_linker_function(find, function);
    if (found != nullptr) return found;
  }
  return nullptr;
}

void bind() {
  std::vector<LoadedObject> libraries;
  std::vector<std::pair<std::string, void*>> functions;
  for_each_loaded_object([&](const LoadedObject& object) {
    if (is_compiler(object.base_name())) libraries.push_back(object);
    if (is_compiler(object.base_name()) || !object.needs(&is_compiler)) return false;
    object.for_each_import_slot([&](const char* name, void**) {
      if (is_watched(name)) functions.emplace_back(name, nullptr);
    });
    return false;
  });
  if (libraries.empty() || functions.empty()) return;
  for (auto& [name, function] : functions) function = watching_function(libraries, name.c_str());
  for_each_loaded_object([&](const LoadedObject& object) {
    if (is_compiler(object.base_name()) || !object.needs(&is_compiler)) return false;
    object.for_each_import_slot([&](const char* name, void** slot) {
      for (const auto& [watched, function] : functions) {
        if (function != nullptr && watched == name) *slot = function;
      }
    });
    return false;
  });
}

}  // namespace

void bind_linked_compilers() {
  static constinit OwnedMutex<std::mutex> binding{LockRank::binding};
  static constinit std::atomic<unsigned long long> bound_at = 0;
  const unsigned long long loaded = loaded_so_far();
  if (bound_at.exchange(loaded) == loaded) return;
  try {
    const Lock lock(binding);
    bind();
  } catch (...) {
    // Out of memory: the compilers' output is not remembered.
  }
}

}  // namespace lynxpp::preload
