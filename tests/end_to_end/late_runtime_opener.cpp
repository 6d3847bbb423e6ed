// Opens a library that brings the CUDA runtime, and runs one of its kernels.
//   late_runtime_opener LIBRARY now|lazy|global|deep [TIMES]
#include <dlfcn.h>

#include <cstdio>
#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

int main(int count, char** values) {
  if (count < 3) return 2;
  const std::string way = values[2];
  const int flags = way == "lazy"     ? RTLD_LAZY | RTLD_LOCAL
                    : way == "global" ? RTLD_NOW | RTLD_GLOBAL
                    : way == "deep"   ? RTLD_NOW | RTLD_DEEPBIND
                                      : RTLD_NOW | RTLD_LOCAL;
  void* const library = dlopen(values[1], flags);
  if (library == nullptr) {
    std::printf("%s\n", dlerror());
    return 3;
  }
  const auto run = reinterpret_cast<int (*)()>(dlsym(library, "run_kernel"));
  if (run == nullptr) return 4;
  const int threads = count > 3 ? std::atoi(values[3]) : 1;
  std::vector<std::thread> running;
  for (int i = 1; i < threads; ++i) running.emplace_back(run);
  const int result = run();
  for (std::thread& each : running) each.join();
  std::printf("%s: %d\n", way.c_str(), result);
  return result < 0 ? 5 : 0;
}
