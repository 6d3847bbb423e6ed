// Kernels that differ in what they read and write, launched `trials N` times each.
//
//   copies       reads one array and writes another
//   increments   updates an array in place
//   sums         adds to one word atomically
//   follows      writes through pointers in memory
//   on_streams   like copies, on two streams in turn
//   in_graph     twice in a graph that is launched N times: updates an array in place
#include <cstdio>
#include <cstdlib>

#define CHECK(call)                                            \
  do {                                                         \
    const cudaError_t error = (call);                          \
    if (error != cudaSuccess) {                                \
      std::printf("%s: %s\n", #call, cudaGetErrorName(error)); \
      std::exit(1);                                            \
    }                                                          \
  } while (0)

constexpr int size = 4096;
constexpr int threads = 128;

__global__ void copies(const unsigned* in, unsigned* out) {
  __shared__ unsigned tile[threads];
  const int i = blockIdx.x * threads + threadIdx.x;
  tile[threadIdx.x] = in[i];
  __syncthreads();
  out[i] = 3 * tile[threads - 1 - threadIdx.x] + 1;
}

__global__ void increments(unsigned* values) {
  const int i = blockIdx.x * threads + threadIdx.x;
  values[i] = 2 * values[i] + i;
}

__global__ void in_graph(unsigned* values) { values[blockIdx.x * threads + threadIdx.x] *= 3; }

__global__ void sums(const unsigned* values, unsigned* total) {
  atomicAdd(total, values[blockIdx.x * threads + threadIdx.x]);
}

__global__ void follows(unsigned* const* rows) { rows[blockIdx.x][threadIdx.x] += threadIdx.x; }

/// Prints a hash of the array.
static void print(const char* name, const unsigned* values, int count) {
  static unsigned host[size];
  CHECK(cudaMemcpy(host, values, count * sizeof(unsigned), cudaMemcpyDeviceToHost));
  unsigned hash = 2166136261u;
  for (int i = 0; i < count; ++i) hash = (hash ^ host[i]) * 16777619u;
  std::printf("%s: %08x\n", name, hash);
}

int main(int count, char** arguments) {
  const int launches = count > 1 ? std::atoi(arguments[1]) : 1;
  unsigned *in, *out, *values, *total, **rows;
  CHECK(cudaMalloc(&in, size * sizeof(unsigned)));
  CHECK(cudaMalloc(&out, size * sizeof(unsigned)));
  CHECK(cudaMalloc(&values, size * sizeof(unsigned)));
  CHECK(cudaMalloc(&total, sizeof(unsigned)));
  CHECK(cudaMalloc(&rows, 4 * sizeof(unsigned*)));
  static unsigned start[size];
  for (unsigned i = 0; i < size; ++i) start[i] = i * 2654435761u;
  unsigned* const row_addresses[4] = {values, values + 128, values + 1024, values + 2048};
  CHECK(cudaMemcpy(in, start, sizeof start, cudaMemcpyHostToDevice));
  CHECK(cudaMemcpy(values, start, sizeof start, cudaMemcpyHostToDevice));
  CHECK(cudaMemcpy(rows, row_addresses, sizeof row_addresses, cudaMemcpyHostToDevice));
  CHECK(cudaMemset(total, 0, sizeof(unsigned)));
  CHECK(cudaMemset(out, 0, size * sizeof(unsigned)));

  for (int i = 0; i < launches; ++i) copies<<<size / threads, threads>>>(in, out);
  print("copies", out, size);
  for (int i = 0; i < launches; ++i) increments<<<size / threads, threads>>>(values);
  print("increments", values, size);
  for (int i = 0; i < launches; ++i) sums<<<size / threads, threads>>>(values, total);
  print("sums", total, 1);
  for (int i = 0; i < launches; ++i) follows<<<4, threads>>>(rows);
  print("follows", values, size);

  cudaStream_t streams[2];
  for (cudaStream_t& stream : streams) CHECK(cudaStreamCreate(&stream));
  unsigned* const halves[2] = {out, out + size / 2};
  for (int i = 0; i < launches; ++i)
    copies<<<size / 2 / threads, threads, 0, streams[i % 2]>>>(in + i % 7, halves[i % 2]);
  CHECK(cudaDeviceSynchronize());
  print("on_streams", out, size);

  cudaGraph_t graph;
  cudaGraphExec_t executable;
  CHECK(cudaStreamBeginCapture(streams[0], cudaStreamCaptureModeGlobal));
  in_graph<<<size / threads, threads, 0, streams[0]>>>(values);
  in_graph<<<size / threads, threads, 0, streams[0]>>>(values);
  CHECK(cudaStreamEndCapture(streams[0], &graph));
  CHECK(cudaGraphInstantiate(&executable, graph, 0));
  for (int i = 0; i < launches; ++i) CHECK(cudaGraphLaunch(executable, streams[0]));
  CHECK(cudaDeviceSynchronize());
  print("in_graph", values, size);
  return 0;
}
