// Adds vectors once by a launch, six times by a graph built from nodes, with a child graph, and twice by a
// captured graph. Argument: the PTX of examples/apps/vecadd.cu.
#include "program.h"

int main(int, char** arguments) {
  const std::string ptx = driver_program::read_file(arguments[1]);
  CUdevice device = 0;
  CUcontext context = nullptr;
  CUmodule module = nullptr;
  CUfunction vecadd = nullptr;
  CUstream stream = nullptr;
  CHECK_CALL(cuInit(0));
  CHECK_CALL(cuDeviceGet(&device, 0));
  CHECK_CALL(cuDevicePrimaryCtxRetain(&context, device));
  CHECK_CALL(cuCtxSetCurrent(context));
  CHECK_CALL(cuModuleLoadData(&module, ptx.c_str()));
  CHECK_CALL(cuModuleGetFunction(&vecadd, module, "_Z6vecaddPKfS0_Pfi"));
  CHECK_CALL(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));

  // Computes sum += a, on the device alone.
  int n = 1000;
  std::vector<float> values(static_cast<std::size_t>(n), 3.0f);
  const std::size_t bytes = values.size() * sizeof(float);
  CUdeviceptr a = 0, sum = 0;
  CHECK_CALL(cuMemAlloc(&a, bytes));
  CHECK_CALL(cuMemAlloc(&sum, bytes));
  CHECK_CALL(cuMemcpyHtoD(a, values.data(), bytes));
  CHECK_CALL(cuMemsetD32(sum, 0, values.size()));
  void* parameters[] = {&a, &sum, &sum, &n};
  bool right = true;
  const auto expect = [&](float expected) {
    CHECK_CALL(cuStreamSynchronize(stream));
    CHECK_CALL(cuMemcpyDtoH(values.data(), sum, bytes));
    for (const float value : values) right = right && value == expected;
  };
  CHECK_CALL(cuLaunchKernel(vecadd, 4, 1, 1, 256, 1, 1, 0, stream, parameters, nullptr));
  expect(3);

  const CUDA_KERNEL_NODE_PARAMS add{vecadd, 4, 1, 1, 256, 1, 1, 0, parameters, nullptr, nullptr, context};
  CUgraph child = nullptr, graph = nullptr;
  CUgraphNode first = nullptr, set = nullptr, second = nullptr;
  CHECK_CALL(cuGraphCreate(&child, 0));
  CHECK_CALL(cuGraphAddKernelNode(&first, child, nullptr, 0, &add));
  CHECK_CALL(cuGraphCreate(&graph, 0));
  const CUDA_MEMSET_NODE_PARAMS zero{sum, 0, 0, 4, values.size(), 1};
  CHECK_CALL(cuGraphAddMemsetNode(&set, graph, nullptr, 0, &zero, context));
  CHECK_CALL(cuGraphAddKernelNode(&first, graph, &set, 1, &add));
  CHECK_CALL(cuGraphAddChildGraphNode(&second, graph, &first, 1, child));
  CUgraphExec executable = nullptr;
  CHECK_CALL(cuGraphInstantiate(&executable, graph, 0));
  CHECK_CALL(cuGraphDestroy(graph));
  CHECK_CALL(cuGraphDestroy(child));
  for (int i = 0; i < 3; ++i) CHECK_CALL(cuGraphLaunch(executable, stream));
  expect(6);
  CHECK_CALL(cuGraphExecDestroy(executable));

  CHECK_CALL(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
  CHECK_CALL(cuLaunchKernel(vecadd, 4, 1, 1, 256, 1, 1, 0, stream, parameters, nullptr));
  CHECK_CALL(cuStreamEndCapture(stream, &graph));
  expect(6);
  CHECK_CALL(cuGraphInstantiate(&executable, graph, 0));
  for (int i = 0; i < 2; ++i) CHECK_CALL(cuGraphLaunch(executable, stream));
  expect(12);
  std::printf("%s\n", right ? "ok" : "wrong sums");
  return right ? 0 : 1;
}
