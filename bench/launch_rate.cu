// The host's cost of a launch: the time of many launches of an empty kernel, per launch. Prints nanoseconds.
//   launch_rate [launches]
#include <chrono>
#include <cstdio>
#include <cstdlib>

__global__ void empty(int) {}

int main(int argc, char** argv) {
  const int launches = argc > 1 ? std::atoi(argv[1]) : 200000;
  for (int i = 0; i < 1000; ++i) empty<<<1, 32>>>(i);
  if (cudaDeviceSynchronize() != cudaSuccess) {
    std::fprintf(stderr, "launch_rate: %s\n", cudaGetErrorString(cudaGetLastError()));
    return 1;
  }
  const auto begin = std::chrono::steady_clock::now();
  for (int i = 0; i < launches; ++i) empty<<<1, 32>>>(i);
  const std::chrono::duration<double, std::nano> host = std::chrono::steady_clock::now() - begin;
  cudaDeviceSynchronize();
  std::printf("%.1f\n", host.count() / launches);
  return 0;
}
