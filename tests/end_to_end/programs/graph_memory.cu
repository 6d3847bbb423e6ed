// Memory that graphs allocate and free. Prints the result of each step; a GPU prints the same.
#include <cuda_runtime.h>

#include <cstdio>

__global__ void fill(int* to, int value) { to[threadIdx.x] = value + threadIdx.x; }
__global__ void add(const int* from, int* to) { to[threadIdx.x] += from[threadIdx.x]; }

namespace {

constexpr int threads = 64;
constexpr size_t bytes = threads * sizeof(int);

void say(const char* what, cudaError_t error) { std::printf("%s: %s\n", what, cudaGetErrorName(error)); }

int last_of(const int* memory) {
  int last = -1;
  cudaMemcpy(&last, memory + threads - 1, sizeof last, cudaMemcpyDeviceToHost);
  return last;
}

/// Captures cudaMallocAsync, two kernels and cudaFreeAsync.
void capture(cudaStream_t stream, int* result) {
  cudaGraph_t graph = nullptr;
  cudaGraphExec_t executable = nullptr;
  int* temporary = nullptr;
  say("begin", cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
  say("allocate", cudaMallocAsync(&temporary, bytes, stream));
  fill<<<1, threads, 0, stream>>>(temporary, 5);
  add<<<1, threads, 0, stream>>>(temporary, result);
  say("free", cudaFreeAsync(temporary, stream));
  say("end", cudaStreamEndCapture(stream, &graph));
  cudaGraphNode_t nodes[8] = {};
  size_t count = 8;
  cudaGraphGetNodes(graph, nodes, &count);
  for (size_t i = 0; i < count; ++i) {
    cudaGraphNodeType type;
    cudaGraphNodeGetType(nodes[i], &type);
    std::printf("node %d\n", static_cast<int>(type));
  }
  cudaGraph_t clone = nullptr;
  say("clone", cudaGraphClone(&clone, graph));
  say("instantiate", cudaGraphInstantiate(&executable, graph, 0));
  for (int i = 0; i < 3; ++i) say("launch", cudaGraphLaunch(executable, stream));
  say("wait", cudaStreamSynchronize(stream));
  std::printf("result %d\n", last_of(result));
  cudaGraphExecDestroy(executable);
  cudaGraphDestroy(graph);
}

/// Adds nodes one by one; the program frees the memory that the graph allocates.
void build(cudaStream_t stream, unsigned long long flags) {
  cudaGraph_t graph = nullptr;
  cudaGraphExec_t executable = nullptr;
  cudaGraphCreate(&graph, 0);
  cudaMemAllocNodeParams wanted{};
  wanted.poolProps.allocType = cudaMemAllocationTypePinned;
  wanted.poolProps.location.type = cudaMemLocationTypeDevice;
  wanted.bytesize = bytes;
  cudaGraphNode_t allocates = nullptr;
  cudaGraphNode_t fills = nullptr;
  say("add", cudaGraphAddMemAllocNode(&allocates, graph, nullptr, 0, &wanted));
  int value = 7;
  void* parameters[] = {&wanted.dptr, &value};
  cudaKernelNodeParams kernel{};
  kernel.func = reinterpret_cast<void*>(fill);
  kernel.gridDim = dim3(1);
  kernel.blockDim = dim3(threads);
  kernel.kernelParams = parameters;
  say("add", cudaGraphAddKernelNode(&fills, graph, &allocates, 1, &kernel));
  cudaMemAllocNodeParams told{};
  say("ask", cudaGraphMemAllocNodeGetParams(allocates, &told));
  std::printf("bytes %zu, same address %d\n", told.bytesize, told.dptr == wanted.dptr);
  say("instantiate", cudaGraphInstantiate(&executable, graph, flags));
  say("launch", cudaGraphLaunch(executable, stream));
  say("wait", cudaStreamSynchronize(stream));
  std::printf("filled %d\n", last_of(static_cast<int*>(wanted.dptr)));
  unsigned long long used = 0;
  cudaDeviceGetGraphMemAttribute(0, cudaGraphMemAttrUsedMemCurrent, &used);
  std::printf("some is used: %d\n", used >= bytes);
  say("launch again", cudaGraphLaunch(executable, stream));
  say("free", cudaFreeAsync(wanted.dptr, stream));
  say("launch", cudaGraphLaunch(executable, stream));
  say("free", cudaFree(wanted.dptr));
  cudaGraphExecDestroy(executable);
  cudaGraphDestroy(graph);
  say("trim", cudaDeviceGraphMemTrim(0));
}

/// One graph allocates, another one frees.
void share(cudaStream_t stream) {
  cudaGraph_t first = nullptr;
  cudaGraph_t second = nullptr;
  cudaGraphExec_t executable = nullptr;
  cudaGraphExec_t other = nullptr;
  int* memory = nullptr;
  cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal);
  cudaMallocAsync(&memory, bytes, stream);
  cudaStreamEndCapture(stream, &first);
  cudaGraphCreate(&second, 0);
  cudaGraphNode_t frees = nullptr;
  say("add", cudaGraphAddMemFreeNode(&frees, second, nullptr, 0, memory));
  void* told = nullptr;
  say("ask", cudaGraphMemFreeNodeGetParams(frees, &told));
  std::printf("same address %d\n", told == memory);
  cudaGraphInstantiate(&executable, first, 0);
  cudaGraphInstantiate(&other, second, 0);
  for (int i = 0; i < 2; ++i) {
    say("launch", cudaGraphLaunch(executable, stream));
    fill<<<1, threads, 0, stream>>>(memory, 1);
    say("launch", cudaGraphLaunch(other, stream));
  }
  say("wait", cudaStreamSynchronize(stream));
}

}  // namespace

int main() {
  cudaStream_t stream = nullptr;
  cudaStreamCreate(&stream);
  int* result = nullptr;
  cudaMalloc(&result, bytes);
  cudaMemset(result, 0, bytes);
  capture(stream, result);
  build(stream, 0);
  build(stream, cudaGraphInstantiateFlagAutoFreeOnLaunch);
  share(stream);
}
