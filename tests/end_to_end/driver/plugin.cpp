// Opens the program of linked.cpp as a library that prefers its own symbols to everybody's (RTLD_DEEPBIND).
// Arguments: the PTX of examples/apps/vecadd.cu, the library.
#include <dlfcn.h>

int main(int count, char** arguments) {
  if (count != 3) return 2;
  void* const library = dlopen(arguments[2], RTLD_NOW | RTLD_LOCAL | RTLD_DEEPBIND);
  if (library == nullptr || dlerror() != nullptr) return 3;
  const auto run = reinterpret_cast<int (*)(int, char**)>(dlsym(library, "run_as_plugin"));
  return run != nullptr ? run(count, arguments) : 4;
}
