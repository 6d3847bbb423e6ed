// Host and device code as in a user's program. The host code that nvcc generates calls the table's functions
// (program_shim.cpp).
#include <cstdio>
#include <cstring>

#include "tests/device_runtime/program.h"

__constant__ float coefficients[4];
__device__ int counter = 7;
__managed__ int managed_value = 40;
static __device__ int hidden_counter;

#define CHECK(call)                                                                                          \
  do {                                                                                                       \
    const cudaError_t error = (call);                                                                        \
    if (error != cudaSuccess) {                                                                              \
      std::snprintf(message, sizeof message, "line %d: %s: %s", __LINE__, #call, cudaGetErrorString(error)); \
      return message;                                                                                        \
    }                                                                                                        \
  } while (0)
#define EXPECT(condition)                                                              \
  do {                                                                                 \
    if (!(condition)) {                                                                \
      std::snprintf(message, sizeof message, "line %d: not %s", __LINE__, #condition); \
      return message;                                                                  \
    }                                                                                  \
  } while (0)

namespace {

char message[256];

struct Pair {
  float scale;
  double offset;
};

template <typename T>
__global__ void polynomial(T* out, const T* in, int n, Pair pair) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  T value = 0;
  for (int k = 3; k >= 0; --k) value = value * in[i] + coefficients[k];
  out[i] = value * pair.scale + static_cast<T>(pair.offset);
  atomicAdd(&counter, 1);
  atomicAdd(&hidden_counter, 2);
}

__global__ void bump_managed() { managed_value += 2; }

}  // namespace

static cudaError_t set_up() {
  const float values[4] = {1, 2, 3, 4};
  const int seven = 7, zero = 0;
  cudaMemcpyToSymbol(counter, &seven, sizeof seven);
  cudaMemcpyToSymbol(hidden_counter, &zero, sizeof zero);
  return cudaMemcpyToSymbol(coefficients, values, sizeof values);
}

const char* run_polynomial() {
  int first = 0;
  CHECK(cudaMemcpyFromSymbol(&first, counter, sizeof first));
  EXPECT(first >= 7);  // the initial value
  constexpr int n = 1000;
  static float in[n], out[n];
  for (int i = 0; i < n; ++i) in[i] = static_cast<float>(i % 5);
  CHECK(set_up());
  float *device_in = nullptr, *device_out = nullptr;
  CHECK(cudaMalloc(&device_in, sizeof in));
  CHECK(cudaMalloc(&device_out, sizeof out));
  CHECK(cudaMemcpy(device_in, in, sizeof in, cudaMemcpyHostToDevice));
  cudaStream_t stream;
  CHECK(cudaStreamCreate(&stream));
  polynomial<<<(n + 127) / 128, 128, 0, stream>>>(device_out, device_in, n, Pair{2, 0.5});
  CHECK(cudaGetLastError());
  CHECK(cudaMemcpyAsync(out, device_out, sizeof out, cudaMemcpyDeviceToHost, stream));
  CHECK(cudaStreamSynchronize(stream));
  for (int i = 0; i < n; ++i) {
    const float x = in[i];
    EXPECT(out[i] == (((4 * x + 3) * x + 2) * x + 1) * 2 + 0.5F);
  }
  int count = 0, hidden = 0;
  CHECK(cudaMemcpyFromSymbol(&count, counter, sizeof count));
  CHECK(cudaMemcpyFromSymbol(&hidden, hidden_counter, sizeof hidden));
  EXPECT(count == 7 + n);
  EXPECT(hidden == 2 * n);
  CHECK(cudaFree(device_in));
  CHECK(cudaFree(device_out));
  CHECK(cudaStreamDestroy(stream));
  return nullptr;
}

const char* run_managed() {
  EXPECT(managed_value >= 40);
  managed_value = 60;
  bump_managed<<<1, 1>>>();
  CHECK(cudaDeviceSynchronize());
  EXPECT(managed_value == 62);
  return nullptr;
}

const char* run_extended_launch() {
  CHECK(set_up());
  int blocks = 0, threads = 0;
  CHECK(cudaOccupancyMaxPotentialBlockSize(&blocks, &threads, polynomial<double>));
  EXPECT(blocks > 0 && threads > 0 && threads % 32 == 0);
  double* data = nullptr;
  CHECK(cudaMallocManaged(&data, sizeof(double)));
  *data = 2;
  cudaLaunchConfig_t configuration = {};
  configuration.gridDim = 1;
  configuration.blockDim = 32;
  CHECK(cudaLaunchKernelEx(&configuration, polynomial<double>, data, static_cast<const double*>(data), 1,
                           Pair{1, 1}));
  CHECK(cudaDeviceSynchronize());
  EXPECT(*data == ((4 * 2 + 3) * 2 + 2) * 2 + 1 + 1);
  CHECK(cudaFree(data));
  return nullptr;
}

const char* run_bad_launch() {
  bump_managed<<<1, 2048>>>();
  EXPECT(cudaGetLastError() == cudaErrorInvalidConfiguration);
  CHECK(cudaGetLastError());
  return nullptr;
}
