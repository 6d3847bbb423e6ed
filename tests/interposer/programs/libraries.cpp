// Small shared libraries for dlsym_program, one per macro.
#include <dlfcn.h>
#include <unistd.h>

#define EXPORT extern "C" [[gnu::visibility("default")]]

#if defined(LIBRARY_FIRST)
EXPORT int which() { return 1 + 10 * reinterpret_cast<int (*)()>(dlsym(RTLD_NEXT, "which"))(); }
#elif defined(LIBRARY_SECOND)
EXPORT int which() { return 2; }
#elif defined(LIBRARY_OPENER)
EXPORT void* open_hidden() {
  // volatile: a tail call would make the program the caller
  void* volatile handle = dlopen("libhidden.so", RTLD_NOW);
  return handle;
}
#elif defined(LIBRARY_HIDDEN)
EXPORT int hidden() { return 1; }
#elif defined(LIBRARY_OTHER_PRELOAD)
// Another preload, which wraps a function of the C library.
EXPORT uid_t getuid() { return 1000 + reinterpret_cast<uid_t (*)()>(dlsym(RTLD_NEXT, "getuid"))(); }
#elif defined(LIBRARY_OTHER_DLSYM)
// Another preload, which interposes dlsym with an answer of its own. Compiled with -O2: its last call is a
// jump.
#include <cstring>
EXPORT void* dlsym(void* handle, const char* name) noexcept {
  static int answer = 42;
  if (strcmp(name, "answer_of_other_preload") == 0) return &answer;
  static const auto next =
      reinterpret_cast<void* (*)(void*, const char*) noexcept>(dlvsym(RTLD_NEXT, "dlsym", "GLIBC_2.34"));
  return next(handle, name);
}
#elif defined(LIBRARY_PROFILER)
// Like a profiler's injection library: wraps dlsym and dlopen with the C library's own functions, and
// mistakes a library in the global scope that has a driver function for the driver.
#include <cstring>
namespace {
void* find_in_libc(const char* name) { return dlvsym(RTLD_NEXT, name, "GLIBC_2.34"); }
}  // namespace
EXPORT void* dlsym(void* handle, const char* name) noexcept {
  static const auto next = reinterpret_cast<void* (*)(void*, const char*) noexcept>(find_in_libc("dlsym"));
  return next(handle, name);
}
EXPORT void* dlopen(const char* name, int flags) noexcept {
  static const auto next = reinterpret_cast<void* (*)(const char*, int) noexcept>(find_in_libc("dlopen"));
  static const auto look_up = reinterpret_cast<void* (*)(void*, const char*)>(find_in_libc("dlsym"));
  void* const opened = next(name, flags);
  Dl_info info = {};
  void* const known = look_up(RTLD_DEFAULT, "cuGetProcAddress");
  if (name == nullptr || strcmp(name, "libcuda.so.1") != 0 || known == nullptr || dladdr(known, &info) == 0)
    return opened;
  return next(info.dli_fname, RTLD_NOW);
}
#endif
