// Launches every kernel of a PTX file once through the driver, with zero arguments, and prints the
// result: a kernel may fail when it runs, but not because an instruction is missing.
//
// usage: launch_ptx FILE      prints "KERNEL RESULT", one line each
#include <cuda.h>

#include <cstdio>
#include <fstream>
#include <regex>
#include <sstream>
#include <string>

int main(int count, char** arguments) {
  if (count != 2) return 2;
  std::stringstream content;
  content << std::ifstream(arguments[1]).rdbuf();
  const std::string ptx = content.str();
  CUdevice device = 0;
  CUcontext context = nullptr;
  CUmodule module = nullptr;
  if (cuInit(0) != CUDA_SUCCESS || cuDeviceGet(&device, 0) != CUDA_SUCCESS ||
      cuDevicePrimaryCtxRetain(&context, device) != CUDA_SUCCESS || cuCtxSetCurrent(context) != CUDA_SUCCESS)
    return 3;
  if (cuModuleLoadData(&module, ptx.c_str()) != CUDA_SUCCESS) return 4;
  static std::byte zeros[4096];
  void* parameters[64];
  for (void*& each : parameters) each = zeros;
  const std::regex entry("\\.entry\\s+([\\w$]+)");
  for (std::sregex_iterator each(ptx.begin(), ptx.end(), entry), end; each != end; ++each) {
    const std::string name = (*each)[1];
    CUfunction kernel = nullptr;
    int threads = 0;
    if (cuModuleGetFunction(&kernel, module, name.c_str()) != CUDA_SUCCESS) return 5;
    cuFuncGetAttribute(&threads, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, kernel);
    // Dynamic shared memory has the maximum size that such kernels use.
    cuFuncSetAttribute(kernel, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 160 << 10);
    CUresult result = cuLaunchKernel(kernel, 1, 1, 1, static_cast<unsigned>(threads), 1, 1, 160 << 10,
                                     nullptr, parameters, nullptr);
    if (result == CUDA_SUCCESS) result = cuCtxSynchronize();
    const char* text = "?";
    cuGetErrorName(result, &text);
    std::printf("%s %s\n", name.c_str(), text);
  }
  return 0;
}
