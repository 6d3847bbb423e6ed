// streams: several streams, asynchronous copies and events; the same kernel many times with other arguments
// and other shapes, from several host threads too. Every launch must keep its own results apart.
#include <memory>
#include <thread>

#include "example.h"

__global__ void advance(unsigned* values, int n, unsigned factor, int rounds) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  unsigned value = values[i];
  for (int round = 0; round < rounds + i % 3; ++round) value = value * factor + static_cast<unsigned>(i) + 1u;
  values[i] = value;
}

__global__ void combine(const unsigned* a, const unsigned* b, unsigned* out, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = a[i] ^ (b[i] << 1);
}

__global__ void nothing() {}

static void expect_advance(std::vector<unsigned>& values, unsigned factor, int rounds) {
  for (std::size_t i = 0; i < values.size(); ++i) {
    for (int round = 0; round < rounds + static_cast<int>(i % 3); ++round) {
      values[i] = values[i] * factor + static_cast<unsigned>(i) + 1u;
    }
  }
}

int main(int argc, char** argv) {
  const int n = example::size_argument(argc, argv, 1500, 1 << 24);
  constexpr int stream_count = 4;
  cudaDeviceProp properties;
  int device = 0;
  CUDA_CHECK(cudaGetDevice(&device));
  CUDA_CHECK(cudaGetDeviceProperties(&properties, device));
  bool right = properties.warpSize == 32;

  cudaStream_t streams[stream_count];
  cudaEvent_t done[stream_count];
  std::vector<std::vector<unsigned>> host(stream_count), expected(stream_count);
  std::vector<unsigned*> pinned(stream_count);
  std::vector<std::unique_ptr<example::DeviceArray<unsigned>>> buffers;
  for (int s = 0; s < stream_count; ++s) {
    CUDA_CHECK(cudaStreamCreate(&streams[s]));
    CUDA_CHECK(cudaEventCreateWithFlags(&done[s], cudaEventDisableTiming));
    CUDA_CHECK(cudaMallocHost(reinterpret_cast<void**>(&pinned[s]), n * sizeof(unsigned)));
    buffers.push_back(std::make_unique<example::DeviceArray<unsigned>>(n));
    for (int i = 0; i < n; ++i) pinned[s][i] = static_cast<unsigned>(i * (s + 3));
    expected[s].assign(pinned[s], pinned[s] + n);
  }

  // Copies and launches interleaved over the streams.
  for (int s = 0; s < stream_count; ++s) {
    CUDA_CHECK(cudaMemcpyAsync(buffers[s]->get(), pinned[s], n * sizeof(unsigned), cudaMemcpyHostToDevice,
                               streams[s]));
  }
  for (int launch = 0; launch < 3; ++launch) {
    for (int s = 0; s < stream_count; ++s) {
      const int block = 32 * (launch + 1) + s;  // 32, 33, 34, 35, 64, …
      advance<<<example::ceil_div(n, block), block, 0, streams[s]>>>(buffers[s]->get(), n, 5u + 2u * s,
                                                                     launch + s);
      expect_advance(expected[s], 5u + 2u * s, launch + s);
    }
  }
  nothing<<<1, 1, 0, streams[0]>>>();
  CUDA_CHECK(cudaGetLastError());
  for (int s = 0; s < stream_count; ++s) CUDA_CHECK(cudaEventRecord(done[s], streams[s]));

  // Stream 0 waits for stream 1, then combines both.
  CUDA_CHECK(cudaStreamWaitEvent(streams[0], done[1], 0));
  example::DeviceArray<unsigned> combined(n);
  combine<<<example::ceil_div(n, 128), 128, 0, streams[0]>>>(buffers[0]->get(), buffers[1]->get(),
                                                             combined.get(), n);
  for (int s = 0; s < stream_count; ++s) {
    CUDA_CHECK(cudaMemcpyAsync(pinned[s], buffers[s]->get(), n * sizeof(unsigned), cudaMemcpyDeviceToHost,
                               streams[s]));
    CUDA_CHECK(cudaStreamSynchronize(streams[s]));
    right = example::same("stream", std::vector<unsigned>(pinned[s], pinned[s] + n), expected[s]) && right;
  }
  std::vector<unsigned> expected_combined(n);
  for (int i = 0; i < n; ++i) expected_combined[i] = expected[0][i] ^ (expected[1][i] << 1);
  const std::vector<unsigned> result = combined.download();
  right = example::same("combined", result, expected_combined) && right;

  // Two host threads on two streams.
  const auto work = [&](int s) {
    CUDA_CHECK(cudaSetDevice(device));
    for (int launch = 0; launch < 5; ++launch) {
      advance<<<example::ceil_div(n, 96), 96, 0, streams[s]>>>(buffers[s]->get(), n, 9u, 2);
    }
    CUDA_CHECK(cudaStreamSynchronize(streams[s]));
  };
  std::thread first(work, 2), second(work, 3);
  first.join();
  second.join();
  std::uint64_t checksum = example::fnv1a(result);
  for (int s = 2; s < 4; ++s) {
    for (int launch = 0; launch < 5; ++launch) expect_advance(expected[s], 9u, 2);
    const std::vector<unsigned> values = buffers[s]->download();
    right = example::same("thread", values, expected[s]) && right;
    checksum = example::fnv1a(values, checksum);
  }
  std::printf("streams: %d values on %d streams\n", n, stream_count);

  example::measure("advance",
                   [&] { advance<<<example::ceil_div(n, 96), 96>>>(buffers[0]->get(), n, 9u, 2); });
  for (int s = 0; s < stream_count; ++s) {
    CUDA_CHECK(cudaEventDestroy(done[s]));
    CUDA_CHECK(cudaStreamDestroy(streams[s]));
    CUDA_CHECK(cudaFreeHost(pinned[s]));
  }
  return example::finish("streams", right, checksum);
}
