// Launches on command: each line on standard input makes one launch, waits for it and reports it on standard
// output. "one" and "two" are kernels; "fork" creates a child, which prints its process id and waits.
#include <cuda_runtime.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstring>

__global__ void one(int* value) { atomicAdd(value, 1); }
__global__ void two(int* value) { atomicAdd(value, 1); }

static pid_t make_child() {
  const pid_t child = fork();
  if (child == 0) {
    for (;;) pause();
  }
  return child;
}

int main() {
  int* value = nullptr;
  if (cudaMalloc(&value, sizeof(int)) != cudaSuccess || cudaMemset(value, 0, sizeof(int)) != cudaSuccess)
    return 2;
  std::puts("ready");
  std::fflush(stdout);
  pid_t child = 0;
  int launches = 0;
  char line[64];
  while (std::fgets(line, sizeof line, stdin) != nullptr) {
    if (std::strcmp(line, "fork\n") == 0) {
      child = make_child();
      std::printf("child %d\n", static_cast<int>(child));
    } else {
      if (std::strcmp(line, "two\n") == 0) {
        two<<<2, 40>>>(value);
      } else {
        one<<<2, 40>>>(value);
      }
      if (cudaDeviceSynchronize() != cudaSuccess) return 2;
      std::printf("launched %d\n", ++launches);
    }
    std::fflush(stdout);
  }
  if (child > 0) {
    kill(child, SIGKILL);
    waitpid(child, nullptr, 0);
  }
  int result = 0;
  if (cudaMemcpy(&result, value, sizeof result, cudaMemcpyDeviceToHost) != cudaSuccess) return 2;
  return result == 80 * launches ? 0 : 1;
}
