// Common parts of the programs in this folder: the vector addition of examples/apps/vecadd.cu through driver
// functions, however these were found.
#pragma once

#include <cuda.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

namespace driver_program {

inline void check_call(CUresult result, const char* call) {
  if (result == CUDA_SUCCESS) return;
  std::fprintf(stderr, "%s: error %d\n", call, static_cast<int>(result));
  std::exit(1);
}
#define CHECK_CALL(call) driver_program::check_call(call, #call)

inline std::string read_file(const char* path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

/// The functions that launching needs.
struct Functions {
  decltype(&::cuMemAlloc) allocate = nullptr;
  decltype(&::cuMemFree) free = nullptr;
  decltype(&::cuMemcpyHtoD) copy_to_device = nullptr;
  decltype(&::cuMemcpyDtoH) copy_to_host = nullptr;
  decltype(&::cuMemsetD32) fill = nullptr;
  decltype(&::cuLaunchKernel) launch = nullptr;
  decltype(&::cuCtxSynchronize) synchronize = nullptr;
};

/// Launches the kernel with the five shapes of examples/apps/vecadd.cu. Returns true if every sum is exactly
/// right.
inline bool add_vectors(const Functions& driver, CUfunction vecadd, CUstream stream) {
  constexpr int n = 20000;
  std::vector<float> a(n), b(n), sum(n);
  for (int i = 0; i < n; ++i) {
    a[i] = static_cast<float>(i) / 3;
    b[i] = static_cast<float>(n - i) / 7;
  }
  const std::size_t bytes = n * sizeof(float);
  CUdeviceptr device_a = 0, device_b = 0, device_sum = 0;
  CHECK_CALL(driver.allocate(&device_a, bytes));
  CHECK_CALL(driver.allocate(&device_b, bytes));
  CHECK_CALL(driver.allocate(&device_sum, bytes));
  CHECK_CALL(driver.copy_to_device(device_a, a.data(), bytes));
  CHECK_CALL(driver.copy_to_device(device_b, b.data(), bytes));
  bool right = true;
  for (const int block : {1, 31, 32, 256, 1024}) {
    int part = block == 1 ? 97 : block < 256 ? 3001 : n;
    CHECK_CALL(driver.fill(device_sum, 0, n));
    void* parameters[] = {&device_a, &device_b, &device_sum, &part};
    const auto grid = static_cast<unsigned>((part + block - 1) / block);
    CHECK_CALL(driver.launch(vecadd, grid, 1, 1, static_cast<unsigned>(block), 1, 1, 0, stream, parameters,
                             nullptr));
    CHECK_CALL(driver.synchronize());
    CHECK_CALL(driver.copy_to_host(sum.data(), device_sum, bytes));
    for (int i = 0; i < n; ++i) right = right && sum[i] == (i < part ? a[i] + b[i] : 0.0f);
  }
  for (const CUdeviceptr each : {device_a, device_b, device_sum}) CHECK_CALL(driver.free(each));
  std::printf("%s\n", right ? "ok" : "wrong sums");
  return right;
}

}  // namespace driver_program
