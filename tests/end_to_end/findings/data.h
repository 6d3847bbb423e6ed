// Device arrays for the programs of findings.
#pragma once

#include <cuda_runtime.h>

#include <cstdio>
#include <vector>

template <typename T>
T* on_device(const std::vector<T>& values) {
  T* array = nullptr;
  cudaMalloc(&array, values.size() * sizeof(T));
  cudaMemcpy(array, values.data(), values.size() * sizeof(T), cudaMemcpyHostToDevice);
  return array;
}

template <typename T>
T* zeros(std::size_t count) {
  return on_device(std::vector<T>(count));
}

inline int finish() {
  const cudaError_t error = cudaDeviceSynchronize();
  std::printf("%s\n", cudaGetErrorName(error));
  return error == cudaSuccess ? 0 : 1;
}
