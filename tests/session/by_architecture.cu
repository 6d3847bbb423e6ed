// Another kernel for every architecture.
extern "C" __global__ void architecture(int* a) { a[0] = __CUDA_ARCH__; }
