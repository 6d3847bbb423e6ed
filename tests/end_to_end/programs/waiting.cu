// Programs that wait in every way that CUDA supports, and one that uses features missing on the cpu device.
//   waiting host       a kernel waits for a flag that the host sets after the launch
//   waiting blocks     a barrier across all blocks that can be resident
//   waiting forever    a kernel does not end, and the process is interrupted while waiting for it
//   waiting print      output of kernels appears when the host waits for them
//   waiting graph      a captured graph is launched, in which a kernel runs twice
//   waiting refused    textures, a capture into a graph, and a capture of a call that cannot be captured;
//                      ignores errors
#include <csignal>
#include <cstdio>
#include <cstring>
#include <thread>

#include <unistd.h>

#define CHECK(call)                                            \
  do {                                                         \
    const cudaError_t error = (call);                          \
    if (error != cudaSuccess) {                                \
      std::printf("%s: %s\n", #call, cudaGetErrorName(error)); \
      return 1;                                                \
    }                                                          \
  } while (0)

__global__ void wait_for_host(volatile int* flag, int* out) {
  while (*flag == 0) {}
  atomicAdd(out, 1);
}

__device__ unsigned arrived;

__global__ void meet(unsigned rounds) {
  for (unsigned round = 1; round <= rounds; ++round) {
    __syncthreads();
    if (threadIdx.x == 0) {
      __threadfence();
      atomicAdd(&arrived, 1);
      while (atomicAdd(&arrived, 0) < round * gridDim.x) {}
    }
    __syncthreads();
  }
}

__global__ void add_one(int* out) { atomicAdd(out, 1); }

static int host() {
  int* shared;
  CHECK(cudaMallocManaged(&shared, 2 * sizeof(int)));
  shared[0] = shared[1] = 0;
  wait_for_host<<<1, 32>>>(shared, shared + 1);
  CHECK(cudaGetLastError());
  const cudaError_t busy = cudaStreamQuery(nullptr);
  *static_cast<volatile int*>(shared) = 1;
  CHECK(cudaDeviceSynchronize());
  std::printf("waiting: %s, %d\n", cudaGetErrorName(busy), shared[1]);
  return 0;
}

static int blocks() {
  cudaDeviceProp properties;
  int each = 0;
  CHECK(cudaGetDeviceProperties(&properties, 0));
  CHECK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&each, meet, 256, 0));
  const int all = each * properties.multiProcessorCount;
  meet<<<all, 256>>>(3);
  unsigned count = 0;
  CHECK(cudaMemcpyFromSymbol(&count, arrived, sizeof count));
  std::printf("waiting: %s\n", count == 3u * all ? "all met" : "wrong");
  return 0;
}

static int forever() {
  int* shared;
  CHECK(cudaMallocManaged(&shared, 2 * sizeof(int)));
  shared[0] = 0;
  wait_for_host<<<1, 32>>>(shared, shared + 1);
  CHECK(cudaGetLastError());
  std::puts("waiting: launched");
  std::fflush(stdout);
  std::thread([] { kill(getpid(), SIGINT); }).detach();
  CHECK(cudaDeviceSynchronize());
  return 1;
}

__global__ void say(volatile int* done) {
  printf("device\n");
  *done = 1;
}

static int print() {
  int* done;
  CHECK(cudaMallocManaged(&done, sizeof *done));
  *done = 0;
  say<<<1, 1>>>(done);
  while (*static_cast<volatile int*>(done) == 0) {}
  std::puts("host");
  CHECK(cudaDeviceSynchronize());
  std::puts("end");
  return 0;
}

static int graph() {
  int* out;
  cudaStream_t stream;
  cudaGraph_t captured = nullptr;
  cudaGraphExec_t executable = nullptr;
  CHECK(cudaMallocManaged(&out, sizeof *out));
  *out = 0;
  CHECK(cudaStreamCreate(&stream));
  CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
  for (int i = 0; i < 2; ++i) add_one<<<1, 1, 0, stream>>>(out);
  CHECK(cudaStreamEndCapture(stream, &captured));
  CHECK(cudaGraphInstantiate(&executable, captured, 0));
  add_one<<<1, 1, 0, stream>>>(out);
  for (int i = 0; i < 3; ++i) CHECK(cudaGraphLaunch(executable, stream));
  CHECK(cudaStreamSynchronize(stream));
  std::printf("%d\n", *out);
  return 0;
}

static int refused() {
  cudaIpcMemHandle_t handle;
  std::printf("%s", cudaGetErrorName(cudaIpcGetMemHandle(&handle, nullptr)));
  std::printf(" %s", cudaGetErrorName(cudaGetLastError()));
  int* out;
  cudaStream_t stream;
  CHECK(cudaMallocManaged(&out, sizeof *out));
  *out = 0;
  CHECK(cudaStreamCreate(&stream));
  cudaGraph_t graph = nullptr;
  cudaStreamBeginCaptureToGraph(stream, graph, nullptr, nullptr, 0, cudaStreamCaptureModeGlobal);
  cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal);
  cudaStreamSynchronize(stream);
  add_one<<<1, 1, 0, stream>>>(out);
  cudaStreamEndCapture(stream, &graph);
  std::printf(" %s", cudaGetErrorName(cudaGetLastError()));
  CHECK(cudaDeviceSynchronize());
  std::printf(" %d\n", *out);
  return 0;
}

int main(int count, char** arguments) {
  const char* const what = count > 1 ? arguments[1] : "";
  if (std::strcmp(what, "host") == 0) return host();
  if (std::strcmp(what, "blocks") == 0) return blocks();
  if (std::strcmp(what, "forever") == 0) return forever();
  if (std::strcmp(what, "print") == 0) return print();
  if (std::strcmp(what, "graph") == 0) return graph();
  return refused();
}
