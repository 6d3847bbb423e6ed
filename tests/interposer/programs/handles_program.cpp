// Looks up functions of the driver through every kind of handle that a program can hold, with the program's
// dlsym and with the C library's own. Prints one line per check.
#include <dlfcn.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace {

using Dlsym = void* (*)(void*, const char*);
using State = int (*)(int, unsigned*, int*);
using Answer = int (*)();

constexpr char hooked[] = "cuLaunchKernel";
constexpr char not_hooked[] = "cuDevicePrimaryCtxGetState";
constexpr char newer[] = "cuNewerThanLynxpp";  // of a later CUDA version than any that is known here

void check(const char* what, const char* how, bool holds) {
  printf("%s by %s: %s\n", what, how, holds ? "ok" : "WRONG");
}

bool reaches_driver(void* function) {
  int is_active = 0;
  return function != nullptr && reinterpret_cast<State>(function)(0, nullptr, &is_active) == 0 &&
         is_active == 1;
}

/// Returns the library that contains a function, found in the way that tools do.
void* library_of(void* function) {
  Dl_info info = {};
  return function != nullptr && dladdr(function, &info) != 0 ? dlopen(info.dli_fname, RTLD_NOW | RTLD_NOLOAD)
                                                             : nullptr;
}

/// With `knows_newer`, functions that lynxpp does not know are also found.
void check_handle(const char* what, void* handle, const char* how, Dlsym look_up, bool knows_newer) {
  check(
      what, how,
      handle != nullptr && look_up(handle, hooked) != nullptr && reaches_driver(look_up(handle, not_hooked)));
  void* const latest = handle != nullptr ? look_up(handle, newer) : nullptr;
  if (knows_newer) check("the newest", how, latest != nullptr && reinterpret_cast<Answer>(latest)() == 77);
}

void check_scope(const char* what, void* handle, const char* how, Dlsym look_up, bool is_there) {
  void* const found = look_up(handle, not_hooked);
  check(what, how, is_there ? reaches_driver(found) : found == nullptr);
}

}  // namespace

int main() {
  const auto of_libc = reinterpret_cast<Dlsym>(dlvsym(RTLD_DEFAULT, "dlsym", "GLIBC_2.34"));
  check_scope("the scope without a driver", RTLD_DEFAULT, "dlsym", dlsym, false);
  check_scope("after the program without a driver", RTLD_NEXT, "dlsym", dlsym, false);
  check_scope("the program without a driver", dlopen(nullptr, RTLD_NOW), "dlsym", dlsym, false);
  check("no such function", "dlsym", dlsym(RTLD_DEFAULT, newer) == nullptr);

  void* const driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  void* const again = library_of(dlsym(driver, hooked));
  void* const of_state = library_of(dlsym(driver, not_hooked));
  check_handle("the driver", driver, "dlsym", dlsym, true);
  check_handle("the driver", driver, "the C library's", of_libc, true);
  check_handle("the library of a function", again, "dlsym", dlsym, true);
  check_handle("the library of a function", again, "the C library's", of_libc, false);
  check_handle("the library of another function", of_state, "dlsym", dlsym, true);
  void* const apart = dlmopen(LM_ID_NEWLM, "libcuda.so.1", RTLD_NOW);
  check_handle("a driver apart", apart, "dlsym", dlsym, true);
  check("no version", "dlvsym", dlvsym(driver, not_hooked, "CUDA_1") == nullptr);

  dlopen("libcuda.so.1", RTLD_NOW | RTLD_GLOBAL);
  check_scope("the scope", RTLD_DEFAULT, "dlsym", dlsym, true);
  check_scope("the scope", RTLD_DEFAULT, "the C library's", of_libc, true);
  check_scope("the program", dlopen(nullptr, RTLD_NOW), "dlsym", dlsym, true);
  return 0;
}
