// Two kernels for the fatbinary tests; with MAIN also a program, never run.
__constant__ float scale[4];

__global__ void scale_add(const float* a, const float* b, float* c, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) c[i] = a[i] * scale[i & 3] + b[i];
}

__global__ void fill(int* a) { a[threadIdx.x] = 1; }

#ifdef BY_ARCHITECTURE
__global__ void architecture(int* a) { a[0] = __CUDA_ARCH__; }
#endif

#ifdef MAIN
int main() {
  fill<<<1, 32>>>(nullptr);
  return cudaDeviceSynchronize();
}
#endif
