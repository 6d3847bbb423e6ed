// Loads a module, launches its kernel on several streams, and unloads the module without waiting; ten times.
// Argument: the PTX of examples/apps/vecadd.cu.
#include "program.h"

namespace {

constexpr int n = 20000;
constexpr int launches = 8;
constexpr int streams = 4;

void launch_and_unload(const std::string& ptx, void** parameters) {
  CUmodule module = nullptr;
  CUfunction vecadd = nullptr;
  CUstream all[streams];
  CHECK_CALL(cuModuleLoadData(&module, ptx.c_str()));
  CHECK_CALL(cuModuleGetFunction(&vecadd, module, "_Z6vecaddPKfS0_Pfi"));
  for (CUstream& each : all) CHECK_CALL(cuStreamCreate(&each, CU_STREAM_NON_BLOCKING));
  for (int i = 0; i < launches; ++i)
    CHECK_CALL(
        cuLaunchKernel(vecadd, (n + 255) / 256, 1, 1, 256, 1, 1, 0, all[i % streams], parameters, nullptr));
  CHECK_CALL(cuModuleUnload(module));
  for (CUstream each : all) CHECK_CALL(cuStreamDestroy(each));
}

}  // namespace

int main(int, char** arguments) {
  const std::string ptx = driver_program::read_file(arguments[1]);
  CUdevice device = 0;
  CUcontext context = nullptr;
  CHECK_CALL(cuInit(0));
  CHECK_CALL(cuDeviceGet(&device, 0));
  CHECK_CALL(cuCtxCreate(&context, nullptr, 0, device));
  const std::vector<float> ones(n, 1.0f);
  std::vector<float> sums(n);
  CUdeviceptr a = 0, sum = 0;
  CHECK_CALL(cuMemAlloc(&a, n * sizeof(float)));
  CHECK_CALL(cuMemAlloc(&sum, n * sizeof(float)));
  CHECK_CALL(cuMemcpyHtoD(a, ones.data(), n * sizeof(float)));
  int count = n;
  void* parameters[] = {&a, &a, &sum, &count};
  for (int i = 0; i < 10; ++i) launch_and_unload(ptx, parameters);
  CHECK_CALL(cuCtxSynchronize());
  CHECK_CALL(cuMemcpyDtoH(sums.data(), sum, n * sizeof(float)));
  bool right = true;
  for (const float each : sums) right = right && each == 2.0f;
  CHECK_CALL(cuCtxDestroy(context));
  std::printf("%s\n", right ? "ok" : "wrong sums");
  return right ? 0 : 1;
}
