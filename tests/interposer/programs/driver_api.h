// The fake driver's functions, through any lookup path of a test program, and helpers shared by its actions.
#pragma once

#include <dlfcn.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

#include "tests/interposer/fake_driver/fake_driver.h"

namespace {

const char ptx_text[] =
    ".version 9.0\n.target sm_75\n.address_size 64\n.visible .entry from_ptx() { ret; }\n";

/// A fatbinary container without entries, and the wrapper that nvcc's host code has for it.
const unsigned char container_bytes[24] = {0x50, 0xed, 0x55, 0xba, 1, 0, 16, 0, 8, 0, 0, 0, 0, 0, 0, 0};
struct Wrapper {
  unsigned magic = 0x466243b1;
  unsigned version = 1;
  const void* data = container_bytes;
  const void* prelinked = nullptr;
} const wrapper_object;

/// The output of nvcc's device link step: the linked container, and a list of the relocatable containers that
/// it was made from.
const void* const prelinked_containers[] = {container_bytes, container_bytes, nullptr};
const Wrapper linked_wrapper = {0x466243b1, 2, container_bytes, prelinked_containers};

struct Api {
#define MEMBER(name, parameters) int(*name) parameters = nullptr;
  FAKE_DRIVER_FUNCTIONS(MEMBER)
#undef MEMBER
};
Api api;

void fail(const char* what) {
  fprintf(stderr, "driver_program: %s\n", what);
  exit(2);
}

void look_up_by_dlsym(void* library) {
#define LOOK_UP(name, parameters) api.name = reinterpret_cast<decltype(api.name)>(dlsym(library, #name));
  FAKE_DRIVER_FUNCTIONS(LOOK_UP)
#undef LOOK_UP
}

template <typename Ask>
void look_up_by_name(Ask ask) {
  const auto per_thread = [](const char* name) { return strstr(name, "_ptsz") != nullptr; };
  const auto base = [&](const char* name) {
    std::string result = name;
    if (per_thread(name)) result.resize(result.size() - 5);
    // A lookup by name yields the second version, as for callers of current CUDA.
    const bool of_context = result.starts_with("cuCtxDestroy") || result.starts_with("cuDevicePrimaryCtx");
    const bool is_second = result.ends_with("_v2") &&
                           (of_context || result.starts_with("cuMem") || result.starts_with("cuLink"));
    if (is_second) result.resize(result.size() - 3);
    return result;
  };
#define LOOK_UP(name, parameters) \
  api.name = reinterpret_cast<decltype(api.name)>(ask(base(#name).c_str(), per_thread(#name) ? 2 : 0));
  FAKE_DRIVER_FUNCTIONS(LOOK_UP)
#undef LOOK_UP
}

void open_door(const char* door) {
  if (strcmp(door, "linked") == 0) {
#ifdef LINKED_WITH_DRIVER
#define BIND(name, parameters) api.name = &name;
    FAKE_DRIVER_FUNCTIONS(BIND)
#undef BIND
    return;
#else
    fail("not linked with the driver");
#endif
  }
  void* const library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) fail(dlerror());
  if (strcmp(door, "dlsym") == 0) {
    look_up_by_dlsym(library);
  } else if (strcmp(door, "proc") == 0) {
    const auto get = reinterpret_cast<decltype(&cuGetProcAddress_v2)>(dlsym(library, "cuGetProcAddress_v2"));
    void* again = nullptr;
    if (get("cuGetProcAddress", &again, 12000, 0, nullptr) != 0) fail("no cuGetProcAddress");
    const auto get_again = reinterpret_cast<decltype(&cuGetProcAddress_v2)>(again);
    look_up_by_name([&](const char* name, std::uint64_t flags) {
      void* function = nullptr;
      int status = 0;
      return get_again(name, &function, 13000, flags, &status) == 0 ? function : nullptr;
    });
  } else if (strcmp(door, "proc_v1") == 0) {
    const auto get = reinterpret_cast<decltype(&cuGetProcAddress)>(dlsym(library, "cuGetProcAddress"));
    look_up_by_name([&](const char* name, std::uint64_t flags) {
      void* function = nullptr;
      return get(name, &function, 11080, flags) == 0 ? function : nullptr;
    });
  } else {
    fail("unknown door");
  }
}

void launch(void* function, unsigned grid = 1) {
  api.cuLaunchKernel(function, grid, 2, 3, 32, 4, 5, 64, reinterpret_cast<void*>(0x10), nullptr, nullptr);
}

void* loaded_function(const char* name, void** module_out = nullptr) {
  void* module = nullptr;
  void* function = nullptr;
  api.cuModuleLoadData(&module, ptx_text);
  api.cuModuleGetFunction(&function, module, name);
  if (module_out != nullptr) *module_out = module;
  return function;
}

void succeed(int result) {
  if (result != 0) fail("a call failed");
}

}  // namespace
