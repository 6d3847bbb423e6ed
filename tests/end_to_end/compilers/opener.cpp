// Opens linked.cpp as a library, like Python opens its modules. Arguments: the library, and those of
// linked.cpp.
#include <dlfcn.h>

int main(int count, char** arguments) {
  if (count < 2) return 2;
  void* const library = dlopen(arguments[1], RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return 3;
  const auto run = reinterpret_cast<int (*)(int, char**)>(dlsym(library, "run_as_plugin"));
  return run != nullptr ? run(count - 1, arguments + 1) : 4;
}
