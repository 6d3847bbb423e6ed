// A different kernel for each architecture.
extern "C" __global__ void architecture(int* a) { a[0] = __CUDA_ARCH__; }
