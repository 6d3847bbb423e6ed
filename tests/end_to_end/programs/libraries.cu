// Kernels of an image that the program loads, launched through every API. Arguments: images built from
// library_part.cu; each is loaded, used and unloaded.
#include <cuda_runtime.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

__global__ void own(int* values) { values[threadIdx.x] += 1; }

#define CHECK(call)                                             \
  if (const cudaError_t error = (call); error != cudaSuccess) { \
    std::printf("%s: %s\n", #call, cudaGetErrorName(error));    \
    std::exit(1);                                               \
  }

namespace {

constexpr int count = 256;

void demand(const char* what, bool holds) {
  if (holds) return;
  std::printf("wrong: %s\n", what);
  std::exit(1);
}

void refuses(cudaLibrary_t library) {
  cudaKernel_t kernel = nullptr;
  void* address = nullptr;
  size_t bytes = 0;
  demand("an unknown kernel", cudaLibraryGetKernel(&kernel, library, "nothing") == cudaErrorSymbolNotFound);
  demand("an unknown variable",
         cudaLibraryGetGlobal(&address, &bytes, library, "nothing") == cudaErrorSymbolNotFound);
  demand("a variable that is not managed",
         cudaLibraryGetManaged(&address, &bytes, library, "total") == cudaErrorSymbolNotFound);
  demand("a function of the host",
         cudaLibraryGetUnifiedFunction(&address, library, "twice") == cudaErrorSymbolNotFound);
  static_cast<void>(cudaGetLastError());
}

void enumerate(cudaLibrary_t library) {
  unsigned kernels = 0;
  CHECK(cudaLibraryGetKernelCount(&kernels, library));
  demand("the number of kernels", kernels == 2);
  std::vector<cudaKernel_t> handles(kernels);
  CHECK(cudaLibraryEnumerateKernels(handles.data(), kernels, library));
  for (const cudaKernel_t handle : handles) {
    const char* name = nullptr;
    CHECK(cudaFuncGetName(&name, handle));
    cudaKernel_t same = nullptr;
    CHECK(cudaLibraryGetKernel(&same, library, name));
    demand("one handle for a kernel", same == handle);
  }
}

/// Launches through cudaLaunchKernel, cudaLaunchKernelExC and cudaLaunchCooperativeKernel.
void launch_each_way(const void* kernel, void** arguments) {
  CHECK(cudaLaunchKernel(kernel, dim3(2), dim3(count / 2), arguments, 0, nullptr));
  cudaLaunchConfig_t configuration{};
  configuration.gridDim = dim3(4);
  configuration.blockDim = dim3(count / 4);
  CHECK(cudaLaunchKernelExC(&configuration, kernel, arguments));
  CHECK(cudaLaunchCooperativeKernel(kernel, dim3(1), dim3(count), arguments, 0, nullptr));
}

/// Launches as an explicitly added node, and as a captured node.
void launch_in_graphs(void* kernel, void** arguments) {
  cudaGraph_t graph = nullptr;
  cudaGraphNode_t node = nullptr;
  cudaGraphExec_t executable = nullptr;
  CHECK(cudaGraphCreate(&graph, 0));
  cudaKernelNodeParams parameters{};
  parameters.func = kernel;
  parameters.gridDim = dim3(2);
  parameters.blockDim = dim3(count / 2);
  parameters.kernelParams = arguments;
  CHECK(cudaGraphAddKernelNode(&node, graph, nullptr, 0, &parameters));
  CHECK(cudaGraphInstantiate(&executable, graph, 0));
  CHECK(cudaGraphLaunch(executable, nullptr));
  CHECK(cudaGraphLaunch(executable, nullptr));
  CHECK(cudaDeviceSynchronize());
  CHECK(cudaGraphExecDestroy(executable));
  CHECK(cudaGraphDestroy(graph));

  cudaStream_t stream = nullptr;
  CHECK(cudaStreamCreate(&stream));
  CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
  CHECK(cudaLaunchKernel(kernel, dim3(1), dim3(count), arguments, 0, stream));
  CHECK(cudaStreamEndCapture(stream, &graph));
  CHECK(cudaGraphInstantiate(&executable, graph, 0));
  CHECK(cudaGraphLaunch(executable, stream));
  CHECK(cudaStreamSynchronize(stream));
  CHECK(cudaGraphExecDestroy(executable));
  CHECK(cudaGraphDestroy(graph));
  CHECK(cudaStreamDestroy(stream));
}

void use(cudaLibrary_t library, int* values) {
  cudaKernel_t add = nullptr, twice = nullptr;
  CHECK(cudaLibraryGetKernel(&add, library, "add"));
  CHECK(cudaLibraryGetKernel(&twice, library, "twice"));
  CHECK(cudaKernelSetAttributeForDevice(twice, cudaFuncAttributeMaxDynamicSharedMemorySize, 64 * 1024, 0));
  cudaFuncAttributes attributes{};
  CHECK(cudaFuncGetAttributes(&attributes, twice));
  demand("the attribute that was set", attributes.maxDynamicSharedSizeBytes == 64 * 1024);
  void *total = nullptr, *scale = nullptr;
  size_t bytes = 0;
  CHECK(cudaLibraryGetGlobal(&total, &bytes, library, "total"));
  demand("a variable's size", bytes == sizeof(int));
  CHECK(cudaLibraryGetManaged(&scale, &bytes, library, "scale"));
  *static_cast<int*>(scale) = 3;

  for (int i = 0; i < count; ++i) values[i] = i;
  int number = count;
  void* arguments[] = {&values, &number};
  launch_each_way(twice, arguments);
  launch_in_graphs(twice, arguments);
  CHECK(cudaLaunchKernel(add, dim3(2), dim3(count / 2), arguments, 0, nullptr));
  CHECK(cudaDeviceSynchronize());
  int sum = 0;
  CHECK(cudaMemcpy(&sum, total, sizeof sum, cudaMemcpyDeviceToHost));
  std::printf("last %d, sum %d\n", values[count - 1], sum);
}

}  // namespace

int main(int arguments, char** paths) {
  int* values = nullptr;
  CHECK(cudaMallocManaged(&values, count * sizeof *values));
  std::memset(values, 0, count * sizeof *values);
  cudaKernel_t kernel = nullptr;
  CHECK(cudaGetKernel(&kernel, reinterpret_cast<const void*>(own)));
  void* argument[] = {&values};
  CHECK(cudaLaunchKernel(reinterpret_cast<const void*>(kernel), dim3(1), dim3(count), argument, 0, nullptr));
  CHECK(cudaDeviceSynchronize());
  demand("the program's own kernel by its handle", values[count - 1] == 1);
  for (int i = 1; i < arguments; ++i) {
    cudaLibrary_t library = nullptr;
    CHECK(cudaLibraryLoadFromFile(&library, paths[i], nullptr, nullptr, 0, nullptr, nullptr, 0));
    refuses(library);
    enumerate(library);
    use(library, values);
    CHECK(cudaLibraryUnload(library));
    demand("an unloaded library", cudaLibraryUnload(library) == cudaErrorInvalidResourceHandle);
    static_cast<void>(cudaGetLastError());

    std::ifstream file(paths[i], std::ios::binary);
    const std::string image(std::istreambuf_iterator<char>(file), {});
    CHECK(cudaLibraryLoadData(&library, image.c_str(), nullptr, nullptr, 0, nullptr, nullptr, 0));
    use(library, values);
    CHECK(cudaLibraryUnload(library));
  }
  cudaLibrary_t none = nullptr;
  char log[256] = "";
  cudaJitOption options[] = {cudaJitErrorLogBuffer, cudaJitErrorLogBufferSizeBytes};
  void* sizes[] = {log, reinterpret_cast<void*>(sizeof log)};
  demand("an image that is not one",
         cudaLibraryLoadData(&none, ".version 8.0\n.target sm_90\n.visible .entry (\n", options, sizes, 2,
                             nullptr, nullptr, 0) != cudaSuccess &&
             log[0] != '\0');
  demand("a file that is not there", cudaLibraryLoadFromFile(&none, "/no/such/file", nullptr, nullptr, 0,
                                                             nullptr, nullptr, 0) == cudaErrorFileNotFound);
  return 0;
}
