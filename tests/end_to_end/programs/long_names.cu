// Launches kernels with long names, each from a thread with a small stack, as in servers.
//   long_names KIB: the size of the stacks
#include <cuda_runtime.h>
#include <pthread.h>

#include <cstdio>
#include <cstdlib>

#define TEN(x) x##x##x##x##x##x##x##x##x##x
#define TEN_OF(x) TEN(x)
#define AND(x, y) x##y
#define BOTH(x, y) AND(x, y)
/// 300 letters and a different last one, so that "(a+)+$" divides the others in every possible way.
#define LETTERS BOTH(TEN_OF(TEN(aaa)), b)

template <typename T, int Tens>
struct PointerTo {
  using type = typename PointerTo<T**********, Tens - 1>::type;
};
template <typename T>
struct PointerTo<T, 0> {
  using type = T;
};

/// The name has this number of stars: a demangler recurses for each.
template <typename T>
__global__ void pointed(T, int* value) {
  *value += 1;
}

extern "C" __global__ void LETTERS(int* value) { *value += 1; }

namespace {

int* value = nullptr;

void* launch_letters(void*) {
  LETTERS<<<1, 1>>>(value);
  return nullptr;
}

void* launch_pointed(void*) {
  pointed<PointerTo<int, 30>::type><<<1, 1>>>(nullptr, value);
  return nullptr;
}

void run_with_stack(void* (*body)(void*), std::size_t bytes) {
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, bytes);
  pthread_t thread;
  if (pthread_create(&thread, &attributes, body, nullptr) != 0) std::exit(4);
  pthread_join(thread, nullptr);
}

}  // namespace

int main(int count, char** values) {
  const std::size_t bytes = (count > 1 ? std::strtoul(values[1], nullptr, 10) : 64) << 10;
  if (cudaMalloc(&value, sizeof *value) != cudaSuccess) return 2;
  cudaMemset(value, 0, sizeof *value);
  run_with_stack(launch_letters, bytes);
  run_with_stack(launch_pointed, bytes);
  int result = 0;
  if (cudaMemcpy(&result, value, sizeof result, cudaMemcpyDeviceToHost) != cudaSuccess) return 3;
  std::printf("long names: %d\n", result);
  return 0;
}
