// Launches a kernel three times, or the number of times given by the argument, and does not wait.
#include "program.h"

int main(int count, char** arguments) {
  const int launches = count > 1 ? std::atoi(arguments[1]) : 3;
  CUcontext context = nullptr;
  CUmodule module = nullptr;
  CUfunction kernel = nullptr;
  CHECK_CALL(cuInit(0));
  CHECK_CALL(cuDevicePrimaryCtxRetain(&context, 0));
  CHECK_CALL(cuCtxSetCurrent(context));
  CHECK_CALL(cuModuleLoadData(
      &module, ".version 8.0\n.target sm_75\n.address_size 64\n.visible .entry nothing() { ret; }\n"));
  CHECK_CALL(cuModuleGetFunction(&kernel, module, "nothing"));
  for (int i = 0; i < launches; ++i)
    CHECK_CALL(cuLaunchKernel(kernel, 1, 1, 1, 32, 1, 1, 0, nullptr, nullptr, nullptr));
  std::printf("done\n");
  return 0;
}
