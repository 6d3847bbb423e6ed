// A small framework: compiles a kernel to machine code once and caches it, as CuPy does, in the folder
// that CUPY_CACHE_DIR names (else below HOME); later runs load it. Arguments: the kernel's name, and
// "compile" to exit before it is launched.
#include <nvrtc.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "program.h"

namespace {

std::filesystem::path cache_folder() {
  if (const char* const named = std::getenv("CUPY_CACHE_DIR")) return named;
  return std::filesystem::path(std::getenv("HOME")) / ".cupy" / "kernel_cache";
}

std::string compiled(const std::string& kernel) {
  const std::string source = "extern \"C\" __global__ void " + kernel +
                             "(const float* a, const float* b, float* sum, int n) {\n"
                             "  const int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
                             "  if (i < n) sum[i] = a[i] + b[i];\n"
                             "}\n";
  nvrtcProgram program = nullptr;
  const char* const options[] = {"--gpu-architecture=sm_90"};
  std::size_t bytes = 0;
  if (nvrtcCreateProgram(&program, source.c_str(), "kernel.cu", 0, nullptr, nullptr) != NVRTC_SUCCESS ||
      nvrtcCompileProgram(program, 1, options) != NVRTC_SUCCESS ||
      nvrtcGetCUBINSize(program, &bytes) != NVRTC_SUCCESS) {
    std::exit(2);
  }
  std::string cubin(bytes, '\0');
  if (nvrtcGetCUBIN(program, cubin.data()) != NVRTC_SUCCESS) std::exit(2);
  return cubin;
}

/// Returns the kernel's machine code from the cache, after storing it there if necessary.
std::string machine_code(const std::string& kernel) {
  const std::filesystem::path path = cache_folder() / (kernel + ".cubin");
  std::ifstream kept(path, std::ios::binary);
  std::puts(kept ? "loaded" : "compiled");
  if (kept) return {std::istreambuf_iterator<char>(kept), {}};
  const std::string cubin = compiled(kernel);
  std::filesystem::create_directories(path.parent_path());
  std::ofstream(path, std::ios::binary) << cubin;
  return cubin;
}

}  // namespace

int main(int count, char** arguments) {
  const std::string cubin = machine_code(arguments[1]);
  if (count > 2) return 0;
  CUcontext context = nullptr;
  CUmodule module = nullptr;
  CUfunction kernel = nullptr;
  CHECK_CALL(cuInit(0));
  CHECK_CALL(cuDevicePrimaryCtxRetain(&context, 0));
  CHECK_CALL(cuCtxSetCurrent(context));
  CHECK_CALL(cuModuleLoadData(&module, cubin.c_str()));
  CHECK_CALL(cuModuleGetFunction(&kernel, module, arguments[1]));
  const driver_program::Functions driver{cuMemAlloc,  cuMemFree,      cuMemcpyHtoD,    cuMemcpyDtoH,
                                         cuMemsetD32, cuLaunchKernel, cuCtxSynchronize};
  const bool right = driver_program::add_vectors(driver, kernel, nullptr);
  CHECK_CALL(cuModuleUnload(module));
  CHECK_CALL(cuDevicePrimaryCtxRelease(0));
  return right ? 0 : 1;
}
