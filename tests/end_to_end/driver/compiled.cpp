// Compiles the kernel of examples/apps/vecadd.cu with NVRTC and launches it.
#include <nvrtc.h>

#include "program.h"

int main() {
  const char* const source =
      "extern \"C\" __global__ void vecadd(const float* a, const float* b, float* sum, int n) {\n"
      "  const int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
      "  if (i < n) sum[i] = a[i] + b[i];\n"
      "}\n";
  nvrtcProgram program = nullptr;
  const char* const options[] = {"--gpu-architecture=compute_75"};
  std::size_t bytes = 0;
  if (nvrtcCreateProgram(&program, source, "vecadd.cu", 0, nullptr, nullptr) != NVRTC_SUCCESS ||
      nvrtcCompileProgram(program, 1, options) != NVRTC_SUCCESS ||
      nvrtcGetPTXSize(program, &bytes) != NVRTC_SUCCESS) {
    return 2;
  }
  std::string ptx(bytes, '\0');
  if (nvrtcGetPTX(program, ptx.data()) != NVRTC_SUCCESS) return 2;
  CUcontext context = nullptr;
  CUmodule module = nullptr;
  CUfunction vecadd = nullptr;
  CHECK_CALL(cuInit(0));
  CHECK_CALL(cuDevicePrimaryCtxRetain(&context, 0));
  CHECK_CALL(cuCtxSetCurrent(context));
  CHECK_CALL(cuModuleLoadData(&module, ptx.c_str()));
  CHECK_CALL(cuModuleGetFunction(&vecadd, module, "vecadd"));
  const driver_program::Functions driver{cuMemAlloc,  cuMemFree,      cuMemcpyHtoD,    cuMemcpyDtoH,
                                         cuMemsetD32, cuLaunchKernel, cuCtxSynchronize};
  const bool right = driver_program::add_vectors(driver, vecadd, nullptr);
  CHECK_CALL(cuModuleUnload(module));
  CHECK_CALL(cuDevicePrimaryCtxRelease(0));
  return right ? 0 : 1;
}
