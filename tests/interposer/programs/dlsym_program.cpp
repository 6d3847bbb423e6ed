// Shows that dlsym and dlopen behave as if they were not interposed. Prints one line per check.
#include <dlfcn.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>

// The same dlsym under the two versions that binaries import.
extern "C" void* dlsym_2_2_5(void* handle, const char* name);
extern "C" void* dlsym_2_34(void* handle, const char* name);
__asm__(".symver dlsym_2_2_5, dlsym@GLIBC_2.2.5");
__asm__(".symver dlsym_2_34, dlsym@GLIBC_2.34");

extern "C" int which(void);  // defined by libfirst.so and libsecond.so, linked in this order

namespace {

void check(const char* what, bool holds) { printf("%s: %s\n", what, holds ? "ok" : "WRONG"); }

}  // namespace

int main() {
  using Which = int (*)();
  check("linked function", which() == 21);  // first's looks up second's through RTLD_NEXT: 1 + 2 * 10

  void* const library = dlopen("libsecond.so", RTLD_NOW | RTLD_NOLOAD);
  check("handle", library != nullptr && reinterpret_cast<Which>(dlsym(library, "which"))() == 2);
  check("both versions",
        dlsym_2_2_5 == dlsym_2_34 && dlsym_2_34(library, "which") == dlsym_2_2_5(library, "which"));
  check("default scope", reinterpret_cast<Which>(dlsym(RTLD_DEFAULT, "which"))() == 21);

  dlerror();
  check("missing name", dlsym(RTLD_DEFAULT, "no_such_function") == nullptr && dlerror() != nullptr);
  check("missing name in a handle", dlsym(library, "curious_missing") == nullptr && dlerror() != nullptr);
  check("short names", dlsym(RTLD_DEFAULT, "") == nullptr && dlsym(RTLD_DEFAULT, "c") == nullptr);
  check("a name of ours without a driver", dlsym(RTLD_DEFAULT, "cuLaunchKernel") == nullptr);
  check("the same in the program's scope", dlsym(dlopen(nullptr, RTLD_NOW), "cuLaunchKernel") == nullptr);
  check("the same after the caller", dlsym(RTLD_NEXT, "cuLaunchKernel") == nullptr);
  check("versioned look-up", dlvsym(RTLD_DEFAULT, "dlsym", "GLIBC_2.2.5") != nullptr);
  check("getuid", getuid() == reinterpret_cast<uid_t (*)()>(dlsym(RTLD_DEFAULT, "getuid"))());

  // LYNXPP_TEST_OTHER_DLSYM: another preload, before or after us, interposes dlsym too and is still called.
  const bool other = getenv("LYNXPP_TEST_OTHER_DLSYM") != nullptr;
  check("other preload", (dlsym(RTLD_DEFAULT, "answer_of_other_preload") != nullptr) == other);

  // libopener.so finds libhidden.so by its own RUNPATH only; the program has no such path.
  void* const opener = dlopen("libopener.so", RTLD_NOW);
  const auto open_hidden =
      opener != nullptr ? reinterpret_cast<void* (*)()>(dlsym(opener, "open_hidden")) : nullptr;
  check("caller's RUNPATH", open_hidden != nullptr && open_hidden() != nullptr);
  dlerror();
  check("not the program's", dlopen("libhidden.so.0", RTLD_NOW) == nullptr && dlerror() != nullptr);
  return 0;
}
