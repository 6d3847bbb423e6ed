// Launches a kernel three times while a library's constructor launches another one: before main if the
// library is linked, otherwise while another thread opens it. AS_LIBRARY: builds that library. Arguments: the
// library to open; none: it is linked. "attach": also attaches the specification meanwhile, and does not wait
// for anything.
#include <dlfcn.h>

#include <atomic>
#include <chrono>
#include <future>
#include <thread>

#include "program.h"

namespace {

constexpr int launches = 3;

CUfunction load(const std::string& name) {
  const std::string ptx =
      ".version 8.0\n.target sm_75\n.address_size 64\n.visible .entry " + name + "() { ret; }\n";
  CUcontext context = nullptr;
  CUmodule module = nullptr;
  CUfunction kernel = nullptr;
  CHECK_CALL(cuInit(0));
  CHECK_CALL(cuDevicePrimaryCtxRetain(&context, 0));
  CHECK_CALL(cuCtxSetCurrent(context));
  CHECK_CALL(cuModuleLoadData(&module, ptx.c_str()));
  CHECK_CALL(cuModuleGetFunction(&kernel, module, name.c_str()));
  return kernel;
}

void launch(CUfunction kernel) {
  for (int i = 0; i < launches; ++i)
    CHECK_CALL(cuLaunchKernel(kernel, 1, 1, 1, 32, 1, 1, 0, nullptr, nullptr, nullptr));
  CHECK_CALL(cuCtxSynchronize());
}

}  // namespace

extern "C" [[gnu::visibility("default"), gnu::weak]] void constructor_runs();

#ifdef AS_LIBRARY

[[gnu::constructor]] static void construct() {
  const CUfunction kernel = load("of_library");
  if (constructor_runs != nullptr) constructor_runs();
  launch(kernel);
}
/// Makes the linker keep the library among the program's dependencies.
extern "C" [[gnu::visibility("default")]] int of_library() { return 0; }

#else

#ifdef IS_LINKED
extern "C" int of_library();

int main() {
  launch(load("of_program"));
  return of_library();
}
#else
namespace {
std::promise<void> running;
std::atomic<bool> is_over = false;
}  // namespace

/// Holds the dynamic linker's lock while it runs in the library's thread. The program's first launch, which
/// opens the engine, happens meanwhile.
extern "C" void constructor_runs() {
  running.set_value();
  std::this_thread::sleep_for(std::chrono::milliseconds(500));
  is_over = true;
}

int main(int count, char** arguments) {
  const bool attaches = count > 2;
  const CUfunction kernel = load("of_program");
  if (attaches) launch(kernel);
  const std::string specification = getenv("LYNXPP_SPEC");
  if (attaches) unsetenv("LYNXPP_SPEC");
  void* library = nullptr;
  std::thread opening([&] { library = dlopen(arguments[1], RTLD_NOW | RTLD_LOCAL); });
  running.get_future().wait();
  if (attaches) {
    setenv("LYNXPP_SPEC", specification.c_str(), 1);
  } else {
    launch(kernel);
  }
  const bool has_waited = is_over;
  opening.join();
  if (attaches && has_waited) return 4;
  return library != nullptr ? 0 : 3;
}
#endif
#endif
