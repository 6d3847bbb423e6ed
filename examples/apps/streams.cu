// streams: several streams, asynchronous copies and events; many launches of the same kernel with different
// arguments and shapes, also from several host threads. The results of all launches must stay separate.
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

constexpr int stream_count = 4;

struct Stream {
  cudaStream_t handle = nullptr;
  cudaEvent_t done = nullptr;
  unsigned* pinned = nullptr;
  std::unique_ptr<example::DeviceArray<unsigned>> buffer;
  std::vector<unsigned> expected;
};
using Streams = std::vector<Stream>;

static Streams create_streams(int n) {
  Streams streams(stream_count);
  for (int s = 0; s < stream_count; ++s) {
    Stream& stream = streams[s];
    CUDA_CHECK(cudaStreamCreate(&stream.handle));
    CUDA_CHECK(cudaEventCreateWithFlags(&stream.done, cudaEventDisableTiming));
    CUDA_CHECK(cudaMallocHost(reinterpret_cast<void**>(&stream.pinned), n * sizeof(unsigned)));
    stream.buffer = std::make_unique<example::DeviceArray<unsigned>>(n);
    for (int i = 0; i < n; ++i) stream.pinned[i] = static_cast<unsigned>(i * (s + 3));
    stream.expected.assign(stream.pinned, stream.pinned + n);
  }
  return streams;
}

static void destroy(Streams& streams) {
  for (Stream& stream : streams) {
    CUDA_CHECK(cudaEventDestroy(stream.done));
    CUDA_CHECK(cudaStreamDestroy(stream.handle));
    CUDA_CHECK(cudaFreeHost(stream.pinned));
  }
}

/// Copies and launches interleaved over the streams.
static void advance_interleaved(Streams& streams, int n) {
  for (Stream& stream : streams) {
    CUDA_CHECK(cudaMemcpyAsync(stream.buffer->get(), stream.pinned, n * sizeof(unsigned),
                               cudaMemcpyHostToDevice, stream.handle));
  }
  for (int launch = 0; launch < 3; ++launch) {
    for (int s = 0; s < stream_count; ++s) {
      const int block = 32 * (launch + 1) + s;  // 32, 33, 34, 35, 64, …
      advance<<<example::ceil_div(n, block), block, 0, streams[s].handle>>>(streams[s].buffer->get(), n,
                                                                            5u + 2u * s, launch + s);
      expect_advance(streams[s].expected, 5u + 2u * s, launch + s);
    }
  }
  nothing<<<1, 1, 0, streams[0].handle>>>();
  CUDA_CHECK(cudaGetLastError());
  for (Stream& stream : streams) CUDA_CHECK(cudaEventRecord(stream.done, stream.handle));
}

static bool download(Streams& streams, int n) {
  bool right = true;
  for (Stream& stream : streams) {
    CUDA_CHECK(cudaMemcpyAsync(stream.pinned, stream.buffer->get(), n * sizeof(unsigned),
                               cudaMemcpyDeviceToHost, stream.handle));
    CUDA_CHECK(cudaStreamSynchronize(stream.handle));
    const std::vector<unsigned> values(stream.pinned, stream.pinned + n);
    right = example::same("stream", values, stream.expected) && right;
  }
  return right;
}

/// Two host threads on two streams.
static void advance_by_threads(Streams& streams, int n, int device) {
  const auto work = [&](int s) {
    CUDA_CHECK(cudaSetDevice(device));
    for (int launch = 0; launch < 5; ++launch) {
      advance<<<example::ceil_div(n, 96), 96, 0, streams[s].handle>>>(streams[s].buffer->get(), n, 9u, 2);
    }
    CUDA_CHECK(cudaStreamSynchronize(streams[s].handle));
  };
  std::thread first(work, 2), second(work, 3);
  first.join();
  second.join();
  for (int s = 2; s < 4; ++s) {
    for (int launch = 0; launch < 5; ++launch) expect_advance(streams[s].expected, 9u, 2);
  }
}

int main(int argc, char** argv) {
  const int n = example::size_argument(argc, argv, 1500, 1 << 24);
  cudaDeviceProp properties;
  int device = 0;
  CUDA_CHECK(cudaGetDevice(&device));
  CUDA_CHECK(cudaGetDeviceProperties(&properties, device));
  bool right = properties.warpSize == 32;
  Streams streams = create_streams(n);
  advance_interleaved(streams, n);

  // Stream 0 waits for stream 1, then combines both.
  CUDA_CHECK(cudaStreamWaitEvent(streams[0].handle, streams[1].done, 0));
  example::DeviceArray<unsigned> combined(n);
  combine<<<example::ceil_div(n, 128), 128, 0, streams[0].handle>>>(
      streams[0].buffer->get(), streams[1].buffer->get(), combined.get(), n);
  right = download(streams, n) && right;
  std::vector<unsigned> expected(n);
  for (int i = 0; i < n; ++i) expected[i] = streams[0].expected[i] ^ (streams[1].expected[i] << 1);
  const std::vector<unsigned> result = combined.download();
  right = example::same("combined", result, expected) && right;

  advance_by_threads(streams, n, device);
  std::uint64_t checksum = example::fnv1a(result);
  for (int s = 2; s < 4; ++s) {
    const std::vector<unsigned> values = streams[s].buffer->download();
    right = example::same("thread", values, streams[s].expected) && right;
    checksum = example::fnv1a(values, checksum);
  }
  std::printf("streams: %d values on %d streams\n", n, stream_count);

  example::measure("advance",
                   [&] { advance<<<example::ceil_div(n, 96), 96>>>(streams[0].buffer->get(), n, 9u, 2); });
  destroy(streams);
  return example::finish("streams", right, checksum);
}
