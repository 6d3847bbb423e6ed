// The other file of relocatable.cu.
#include <cstdio>

__device__ int factor = 3;
static __device__ int own = 20;

__device__ int scaled(int value) { return value * factor; }

__global__ void other(int* value) {
  *value = scaled(own);
  printf("second file, %d\n", own);
}

void launch_other(int* value) { other<<<1, 1>>>(value); }
