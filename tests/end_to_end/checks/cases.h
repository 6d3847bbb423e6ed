// Helpers of the programs with seeded faults: each program runs the cases that its arguments name.
#pragma once

#include <cuda_runtime.h>

#include <cstdio>
#include <cstring>

class Cases {
 public:
  Cases(int count, char** arguments) : count_(count), arguments_(arguments) {}

  bool has(const char* name) const {
    for (int i = 1; i < count_; ++i) {
      if (std::strcmp(arguments_[i], name) == 0) return true;
    }
    return false;
  }
  /// Prints the device's status. Returns 0 always, since faults are expected.
  int finish() const {
    std::printf("%s\n", cudaGetErrorName(cudaDeviceSynchronize()));
    return 0;
  }

 private:
  int count_;
  char** arguments_;
};

inline int* zeroed(int count) {
  int* array = nullptr;
  cudaMalloc(&array, count * sizeof(int));
  cudaMemset(array, 0, count * sizeof(int));
  return array;
}
