// Four threads together launch a kernel the given number of times, each waiting for every eighth launch.
//   launching kill N      kills itself after the last launch, while the threads continue
//   launching fork N      meanwhile creates children, which end at once
#include <cuda_runtime.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>
#include <vector>

__global__ void count(int* launches) {
  if (threadIdx.x == 0) atomicAdd(launches, 1);
}

namespace {

constexpr int thread_count = 4;
std::atomic<int> started{0};
std::atomic<int> launched{0};
std::atomic<bool> goes_on{false};

void launch_some(int* launches, int most) {
  cudaStream_t stream;
  if (cudaStreamCreate(&stream) != cudaSuccess) std::exit(2);
  for (int i = 1; started++ < most || goes_on; ++i) {
    count<<<1, 32, 0, stream>>>(launches);
    if (cudaGetLastError() != cudaSuccess) std::exit(2);
    if (i % 8 == 0 && cudaStreamSynchronize(stream) != cudaSuccess) std::exit(2);
    ++launched;
  }
  if (cudaStreamSynchronize(stream) != cudaSuccess) std::exit(2);
}

/// Returns the number of children.
int make_children(int most) {
  int children = 0;
  while (launched < most && children < 50) {
    const pid_t child = fork();
    if (child == 0) _exit(0);
    int status = -1;
    if (waitpid(child, &status, 0) != child || status != 0) std::exit(3);
    ++children;
  }
  return children;
}

}  // namespace

int main(int, char** arguments) {
  const bool kills = std::strcmp(arguments[1], "kill") == 0;
  const int most = std::atoi(arguments[2]);
  int* launches = nullptr;
  if (cudaMallocManaged(&launches, sizeof *launches) != cudaSuccess) return 2;
  *launches = 0;
  goes_on = kills;
  std::vector<std::thread> threads;
  for (int i = 0; i < thread_count; ++i) threads.emplace_back(launch_some, launches, most);
  int children = 0;
  if (kills) {
    while (launched < most) std::this_thread::yield();
    raise(SIGKILL);
  } else {
    children = make_children(most);
  }
  for (std::thread& thread : threads) thread.join();
  std::printf("launching: %d of %d, %s\n", *launches, most,
              children > 0 ? "with children" : "without a child");
  return *launches == most ? 0 : 1;
}
