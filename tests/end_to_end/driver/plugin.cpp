// Opens the program of linked.cpp as a library that prefers its own symbols (RTLD_DEEPBIND), or in a separate
// namespace. Arguments: the PTX of examples/apps/vecadd.cu, the library, "deep" or "apart".
#include <dlfcn.h>

#include <cstring>

int main(int count, char** arguments) {
  if (count != 4) return 2;
  void* const library = std::strcmp(arguments[3], "apart") == 0
                            ? dlmopen(LM_ID_NEWLM, arguments[2], RTLD_NOW | RTLD_LOCAL)
                            : dlopen(arguments[2], RTLD_NOW | RTLD_LOCAL | RTLD_DEEPBIND);
  if (library == nullptr || dlerror() != nullptr) return 3;
  const auto run = reinterpret_cast<int (*)(int, char**)>(dlsym(library, "run_as_plugin"));
  return run != nullptr ? run(count, arguments) : 4;
}
