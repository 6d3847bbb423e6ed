// Device code that libraries.cu loads.
extern "C" __device__ int total = 0;
extern "C" __managed__ int scale = 1;

extern "C" __global__ void add(const int* values, int count) {
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i < count) atomicAdd(&total, values[i] * scale);
}

extern "C" __global__ void twice(int* values, int count) {
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i < count) values[i] *= 2;
}
