// Processes that fork, as servers and data loaders do.
//   forks before ENDING    the parent launches nothing; three workers launch once, twice and three times
//   forks after ENDING     the parent launches twice, creates workers without launches, launches three times
//   forks idle ENDING      as `before`, but the first worker queries the device and launches nothing
//   forks nested ENDING    a worker launches twice and creates a child that tries to
//   forks busy ENDING      a worker is created while a kernel of the parent runs, and ends before the kernel
// ENDING: _exit, exit, return, SIGTERM
#include <cuda_runtime.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>

__global__ void work(int* out) { out[threadIdx.x] = threadIdx.x; }

__global__ void wait_for_host(volatile int* goes_on) {
  while (*goes_on == 0) {}
}

namespace {

constexpr int threads = 64;

cudaError_t launch(int launches) {
  int* out = nullptr;
  if (const cudaError_t error = cudaMalloc(&out, threads * sizeof *out); error != cudaSuccess) return error;
  for (int i = 0; i < launches; ++i) work<<<1, threads>>>(out);
  return cudaDeviceSynchronize();
}

/// Returns only if the ending is `return`.
int end(const char* ending) {
  if (std::strcmp(ending, "_exit") == 0) _exit(0);
  if (std::strcmp(ending, "exit") == 0) std::exit(0);
  if (std::strcmp(ending, "SIGTERM") == 0) std::raise(SIGTERM);
  return 0;
}

void await_children() {
  while (wait(nullptr) > 0) {}
}

int make_nested(const char* ending) {
  if (fork() != 0) return await_children(), 0;
  if (launch(2) != cudaSuccess) return 3;
  if (fork() == 0) {
    std::fprintf(stderr, "the child of a worker: %s\n", cudaGetErrorName(launch(1)));
    return end(ending);
  }
  await_children();
  return end(ending);
}

int make_busy(const char* ending) {
  int* goes_on = nullptr;
  if (cudaMallocManaged(&goes_on, sizeof *goes_on) != cudaSuccess) return 3;
  *goes_on = 0;
  wait_for_host<<<1, 1>>>(goes_on);
  if (fork() == 0) return end(ending);
  await_children();
  *goes_on = 1;
  return cudaDeviceSynchronize() == cudaSuccess ? 0 : 3;
}

}  // namespace

int main(int, char** arguments) {
  const char* const when = arguments[1];
  const char* const ending = arguments[2];
  if (std::strcmp(when, "nested") == 0) return make_nested(ending);
  if (std::strcmp(when, "busy") == 0) return make_busy(ending);
  const bool is_after = std::strcmp(when, "after") == 0;
  const bool is_idle = std::strcmp(when, "idle") == 0;
  if (is_after && launch(2) != cudaSuccess) return 3;
  for (int worker = 0; worker < 3; ++worker) {
    if (fork() != 0) continue;
    const int launches = is_idle && worker == 0 ? 0 : worker + 1;
    if (!is_after && launch(launches) != cudaSuccess) return 3;
    return end(ending);
  }
  await_children();
  if (is_after && launch(3) != cudaSuccess) return 3;
  std::puts("forks: all workers have ended");
}
