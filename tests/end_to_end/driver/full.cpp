// Allocates all of the device's memory, launches a kernel, frees some memory and launches again. Prints the
// kernel's count each time.
#include "program.h"

namespace {

const char counting_kernel[] =
    ".version 8.0\n.target sm_75\n.address_size 64\n.visible .entry count(.param .u64 counted) {\n"
    ".reg .u64 %rd;\nld.param.u64 %rd, [counted];\nred.global.add.u32 [%rd], 1;\nret;\n}\n";

unsigned launch_and_read(CUfunction kernel, CUdeviceptr counted) {
  unsigned value = 0;
  void* parameters[] = {&counted};
  CHECK_CALL(cuLaunchKernel(kernel, 1, 1, 1, 32, 1, 1, 0, nullptr, parameters, nullptr));
  CHECK_CALL(cuMemcpyDtoH(&value, counted, sizeof value));
  return value;
}

}  // namespace

int main() {
  CUcontext context = nullptr;
  CUmodule module = nullptr;
  CUfunction kernel = nullptr;
  CUdeviceptr counted = 0;
  CHECK_CALL(cuInit(0));
  CHECK_CALL(cuDevicePrimaryCtxRetain(&context, 0));
  CHECK_CALL(cuCtxSetCurrent(context));
  CHECK_CALL(cuModuleLoadData(&module, counting_kernel));
  CHECK_CALL(cuModuleGetFunction(&kernel, module, "count"));
  CHECK_CALL(cuMemAlloc(&counted, sizeof(unsigned)));
  CHECK_CALL(cuMemsetD8(counted, 0, sizeof(unsigned)));
  // The memory is never written, so that it does not occupy the machine's.
  std::vector<CUdeviceptr> taken;
  for (std::size_t bytes = std::size_t{1} << 34; bytes >= 256;) {
    CUdeviceptr address = 0;
    if (cuMemAlloc(&address, bytes) == CUDA_SUCCESS) {
      taken.push_back(address);
    } else {
      bytes /= 2;
    }
  }
  const unsigned full = launch_and_read(kernel, counted);
  for (const CUdeviceptr each : taken) CHECK_CALL(cuMemFree(each));
  std::printf("%u %u\n", full, launch_and_read(kernel, counted));
  return 0;
}
