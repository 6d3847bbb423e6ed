// Linked with libcuda.so.1. Argument: the PTX of examples/apps/vecadd.cu. With AS_PLUGIN, a library.
#include <cstdio>

#include "program.h"

#ifdef AS_PLUGIN
extern "C" [[gnu::visibility("default")]] int run_as_plugin(int, char** arguments) {
#else
int main(int, char** arguments) {
#endif
  const std::string ptx = driver_program::read_file(arguments[1]);
  CUdevice device = 0;
  CUcontext context = nullptr;
  CUmodule module = nullptr;
  CUfunction vecadd = nullptr;
  CUstream stream = nullptr;
  CHECK_CALL(cuInit(0));
  CHECK_CALL(cuDeviceGet(&device, 0));
  CHECK_CALL(cuCtxCreate(&context, nullptr, 0, device));
  char log[1024] = "";
  CUjit_option options[] = {CU_JIT_INFO_LOG_BUFFER, CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES};
  void* values[] = {log, reinterpret_cast<void*>(sizeof log)};
  CHECK_CALL(cuModuleLoadDataEx(&module, ptx.c_str(), 2, options, values));
  CHECK_CALL(cuModuleGetFunction(&vecadd, module, "_Z6vecaddPKfS0_Pfi"));
  CHECK_CALL(cuStreamCreate(&stream, CU_STREAM_DEFAULT));
  const driver_program::Functions driver{cuMemAlloc,  cuMemFree,      cuMemcpyHtoD,    cuMemcpyDtoH,
                                         cuMemsetD32, cuLaunchKernel, cuCtxSynchronize};
  const bool right = driver_program::add_vectors(driver, vecadd, stream);
  CHECK_CALL(cuStreamDestroy(stream));
  CHECK_CALL(cuModuleUnload(module));
  CHECK_CALL(cuCtxDestroy(context));
  std::fflush(stdout);  // the C library of a separate namespace is not flushed on exit
  return right ? 0 : 1;
}
