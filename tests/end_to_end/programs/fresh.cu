// Fresh memory is 0, as on a GPU, whatever the process has freed before. Prints the number of nonzero bytes
// of each kind of memory, as read by a kernel.
//   fresh          all kinds
//   fresh read     a kernel reads memory that was never written: 0, and a finding
#include <cuda_runtime.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

__global__ void count_others(const unsigned char* bytes, size_t size, unsigned long long* others) {
  const size_t first = blockIdx.x * size_t{blockDim.x} + threadIdx.x;
  for (size_t i = first; i < size; i += size_t{gridDim.x} * blockDim.x) {
    if (bytes[i] != 0) atomicAdd(others, 1ull);
  }
}

namespace {

unsigned long long* others = nullptr;

/// Fills memory with ones through the C library and the device, then frees it.
void dirty(size_t bytes) {
  std::vector<void*> kept;
  for (int i = 0; i < 16; ++i) {
    kept.push_back(std::malloc(bytes));
    std::memset(kept.back(), 0xff, bytes);
  }
  for (void* const each : kept) std::free(each);
  for (int i = 0; i < 4; ++i) {
    void* memory = nullptr;
    cudaMalloc(&memory, bytes);
    cudaMemset(memory, 0xff, bytes);
    cudaFree(memory);
  }
}

void tell(const char* kind, const void* memory, size_t bytes) {
  *others = 0;
  count_others<<<4, 64>>>(static_cast<const unsigned char*>(memory), bytes, others);
  const cudaError_t error = cudaDeviceSynchronize();
  std::printf("%s %zu: %llu %s\n", kind, bytes, *others, cudaGetErrorName(error));
}

void tell_all(size_t bytes) {
  void* memory = nullptr;
  dirty(bytes);
  cudaMalloc(&memory, bytes);
  tell("cudaMalloc", memory, bytes);
  dirty(bytes);
  cudaMallocManaged(&memory, bytes);
  tell("cudaMallocManaged", memory, bytes);
  dirty(bytes);
  cudaMallocHost(&memory, bytes);
  tell("cudaMallocHost", memory, bytes);
  dirty(bytes);
  cudaHostAlloc(&memory, bytes, cudaHostAllocMapped);
  tell("cudaHostAlloc", memory, bytes);
  dirty(bytes);
  cudaMallocAsync(&memory, bytes, nullptr);
  tell("cudaMallocAsync", memory, bytes);
  dirty(bytes);
  size_t pitch = 0;
  cudaMallocPitch(&memory, &pitch, bytes / 4, 4);
  tell("cudaMallocPitch", memory, pitch * 4);
  dirty(bytes);
  cudaPitchedPtr box{};
  cudaMalloc3D(&box, make_cudaExtent(bytes / 4, 2, 2));
  tell("cudaMalloc3D", box.ptr, box.pitch * 4);
  dirty(bytes);
  cudaArray_t array = nullptr;
  const cudaChannelFormatDesc format = cudaCreateChannelDesc<unsigned char>();
  cudaMallocArray(&array, &format, 1024, bytes / 1024);
  std::vector<unsigned char> copy(bytes, 1);
  cudaMemcpy2DFromArray(copy.data(), 1024, array, 0, 0, 1024, bytes / 1024, cudaMemcpyDeviceToHost);
  size_t wrong = 0;
  for (const unsigned char each : copy) wrong += each != 0;
  std::printf("cudaMallocArray %zu: %zu %s\n", bytes, wrong, cudaGetErrorName(cudaGetLastError()));
}

}  // namespace

int main(int count, char** arguments) {
  cudaMallocManaged(&others, sizeof *others);
  if (count > 1 && std::strcmp(arguments[1], "read") == 0) {
    void* memory = nullptr;
    dirty(4096);
    cudaMalloc(&memory, 4096);
    tell("cudaMalloc", memory, 4096);
    return 0;
  }
  tell_all(4096);
  tell_all(3 << 20);
}
