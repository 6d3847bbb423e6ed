// The launching thread's cost of a launch through the driver: its processor time for many launches of an
// empty kernel, per launch. Prints nanoseconds. With AT_A_TIME: the elapsed time, including the wait after so
// many launches.
//   launch_rate_driver LAUNCHES THREADS [AT_A_TIME]
#include <cuda.h>
#include <dlfcn.h>

#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <thread>
#include <vector>

namespace {

const char empty_kernel[] =
    ".version 8.0\n.target sm_75\n.address_size 64\n.visible .entry empty(.param .u32 a) { ret; }\n";

void* library = nullptr;

template <typename Function>
void find(Function& function, const char* name) {
  function = reinterpret_cast<Function>(dlsym(library, name));
  if (function == nullptr) std::exit(2);
}

/// Functions of the driver.
struct Driver {
  decltype(&::cuInit) init = nullptr;
  decltype(&::cuDevicePrimaryCtxRetain) retain = nullptr;
  decltype(&::cuCtxSetCurrent) set_current = nullptr;
  decltype(&::cuModuleLoadData) load = nullptr;
  decltype(&::cuModuleGetFunction) get_function = nullptr;
  decltype(&::cuStreamCreate) create_stream = nullptr;
  decltype(&::cuStreamSynchronize) wait = nullptr;
  decltype(&::cuLaunchKernel) launch = nullptr;
} driver;

void open_driver() {
  library = dlopen("libcuda.so.1", RTLD_NOW);
  if (library == nullptr) std::exit(2);
  find(driver.init, "cuInit");
  find(driver.retain, "cuDevicePrimaryCtxRetain");
  find(driver.set_current, "cuCtxSetCurrent");
  find(driver.load, "cuModuleLoadData");
  find(driver.get_function, "cuModuleGetFunction");
  find(driver.create_stream, "cuStreamCreate");
  find(driver.wait, "cuStreamSynchronize");
  find(driver.launch, "cuLaunchKernel");
}

void check(CUresult result) {
  if (result == CUDA_SUCCESS) return;
  std::fprintf(stderr, "launch_rate_driver: error %d\n", static_cast<int>(result));
  std::exit(1);
}

double nanoseconds_of(clockid_t clock) {
  timespec now{};
  clock_gettime(clock, &now);
  return static_cast<double>(now.tv_sec) * 1e9 + static_cast<double>(now.tv_nsec);
}

/// Returns the time of a launch for a thread with its own stream. `completed`: launches before each wait,
/// which is measured too; 0: it is not measured, and the stream is never full.
double nanoseconds_of_launch(CUcontext context, CUfunction kernel, int launches, int completed) {
  const int at_a_time = completed != 0 ? completed : 512;
  const clockid_t clock = completed != 0 ? CLOCK_MONOTONIC : CLOCK_THREAD_CPUTIME_ID;
  CUstream stream = nullptr;
  check(driver.set_current(context));
  check(driver.create_stream(&stream, CU_STREAM_NON_BLOCKING));
  unsigned value = 0;
  void* parameters[] = {&value};
  double time = 0;
  int made = -(512 + at_a_time - 1) / at_a_time * at_a_time;  // the first ones are not measured
  for (; made < launches; made += at_a_time) {
    const double begin = nanoseconds_of(clock);
    for (int i = 0; i < at_a_time; ++i)
      check(driver.launch(kernel, 1, 1, 1, 32, 1, 1, 0, stream, parameters, nullptr));
    const double enqueued = nanoseconds_of(clock);
    check(driver.wait(stream));
    if (made >= 0) time += (completed != 0 ? nanoseconds_of(clock) : enqueued) - begin;
  }
  return time / made;
}

}  // namespace

int main(int count, char** arguments) {
  const int launches = std::atoi(arguments[1]);
  const int completed = count > 3 ? std::atoi(arguments[3]) : 0;
  open_driver();
  CUcontext context = nullptr;
  CUmodule module = nullptr;
  CUfunction empty = nullptr;
  check(driver.init(0));
  check(driver.retain(&context, 0));
  check(driver.set_current(context));
  check(driver.load(&module, empty_kernel));
  check(driver.get_function(&empty, module, "empty"));
  std::vector<double> times(static_cast<std::size_t>(std::atoi(arguments[2])));
  std::vector<std::thread> threads;
  for (double& time : times)
    threads.emplace_back(
        [&, &slot = time] { slot = nanoseconds_of_launch(context, empty, launches, completed); });
  for (std::thread& each : threads) each.join();
  double sum = 0;
  for (const double time : times) sum += time;
  std::printf("%.1f\n", sum / static_cast<double>(times.size()));
  return 0;
}
