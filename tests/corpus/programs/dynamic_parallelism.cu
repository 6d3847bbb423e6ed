// Kernels that launch kernels (relocatable device code).
__global__ void leaf(int* data, int depth) { atomicAdd(data + depth, 1); }

__global__ void child(int* data, int depth) {
  data[threadIdx.x] += depth;
  if (threadIdx.x == 0 && depth > 0) {
    cudaStream_t stream;
    cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);
    leaf<<<2, 32, 0, stream>>>(data, depth);
    cudaStreamDestroy(stream);
  }
}

__global__ void parent(int* data, int depth) {
  if (threadIdx.x == 0 && depth > 0) {
    child<<<1, 32, 0, cudaStreamTailLaunch>>>(data, depth - 1);
    if (cudaPeekAtLastError() != cudaSuccess) data[1] = -1;
  }
}

extern __device__ int defined_elsewhere(int x);
__device__ int table[4] = {1, 2, 3, 4};
__global__ void calls_another_module(int* out) { out[0] = defined_elsewhere(table[out[1] & 3]); }
