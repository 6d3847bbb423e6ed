// Each device squares its own numbers, in its own thread; the last one's are copied to the first by a peer
// copy, and a kernel there adds them up, which also reads the last device's memory. Prints the number of
// devices and the sum.
#include <cstdio>
#include <cstdlib>
#include <thread>
#include <vector>

namespace {

constexpr int count = 1000;

__device__ int first_number;

__global__ void square(unsigned* numbers) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) numbers[i] = static_cast<unsigned>((first_number + i) * (first_number + i));
}

__global__ void add(const unsigned* copied, const unsigned* there, unsigned long long* sum) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) atomicAdd(sum, static_cast<unsigned long long>(copied[i]) + there[i]);
}

void check(cudaError_t error, const char* call) {
  if (error == cudaSuccess) return;
  std::fprintf(stderr, "%s: %s\n", call, cudaGetErrorString(error));
  std::exit(1);
}
#define CHECK(call) check(call, #call)

unsigned* squares_of(int device) {
  CHECK(cudaSetDevice(device));
  const int first = device * 7;
  CHECK(cudaMemcpyToSymbol(first_number, &first, sizeof first));
  unsigned* numbers = nullptr;
  CHECK(cudaMalloc(&numbers, count * sizeof *numbers));
  cudaStream_t stream = nullptr;
  CHECK(cudaStreamCreate(&stream));
  for (int i = 0; i <= device; ++i) square<<<(count + 127) / 128, 128, 0, stream>>>(numbers);
  CHECK(cudaGetLastError());
  CHECK(cudaStreamSynchronize(stream));
  return numbers;
}

}  // namespace

int main() {
  int devices = 0;
  CHECK(cudaGetDeviceCount(&devices));
  std::vector<unsigned*> numbers(devices);
  std::vector<std::thread> threads;
  for (int device = 0; device < devices; ++device)
    threads.emplace_back([&numbers, device] { numbers[device] = squares_of(device); });
  for (std::thread& thread : threads) thread.join();

  const int last = devices - 1;
  CHECK(cudaSetDevice(0));
  unsigned* copied = nullptr;
  unsigned long long* sum = nullptr;
  CHECK(cudaMalloc(&copied, count * sizeof *copied));
  CHECK(cudaMallocManaged(&sum, sizeof *sum));
  CHECK(cudaMemcpyPeer(copied, 0, numbers[last], last, count * sizeof *copied));
  if (last != 0) CHECK(cudaDeviceEnablePeerAccess(last, 0));
  *sum = 0;
  add<<<(count + 127) / 128, 128>>>(copied, numbers[last], sum);
  CHECK(cudaDeviceSynchronize());
  std::printf("%d devices, sum %llu\n", devices, *sum);
}
