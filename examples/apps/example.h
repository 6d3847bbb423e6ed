// Shared by all example programs: error checks, device arrays, the checksum of a result, and optional
// timing.
//
// Output contract (tests rely on it): stdout is the same for every run of a program with the same arguments,
// its last line is "<name>: ok, checksum 0x…" and the exit status is 0; a wrong result prints "<name>:
// WRONG, …" and exits with 1, a CUDA error exits with 2. Timing goes to stderr, and only if EXAMPLE_REPEAT
// is set.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#define CUDA_CHECK(call) ::example::check((call), #call, __FILE__, __LINE__)

namespace example {

inline void check(cudaError_t status, const char* call, const char* file, int line) {
  if (status == cudaSuccess) return;
  std::fprintf(stderr, "%s:%d: %s: %s (%s)\n", file, line, call, cudaGetErrorString(status),
               cudaGetErrorName(status));
  std::exit(2);
}

/// Returns the 64-bit FNV-1a of the raw bytes; chain several arrays through `seed`.
inline std::uint64_t fnv1a(const void* data, std::size_t bytes, std::uint64_t seed = 0xcbf29ce484222325ull) {
  const auto* byte = static_cast<const unsigned char*>(data);
  std::uint64_t hash = seed;
  for (std::size_t i = 0; i < bytes; ++i) hash = (hash ^ byte[i]) * 0x100000001b3ull;
  return hash;
}

template <typename T>
std::uint64_t fnv1a(const std::vector<T>& values, std::uint64_t seed = 0xcbf29ce484222325ull) {
  return fnv1a(values.data(), values.size() * sizeof(T), seed);
}

/// A small generator with the same sequence everywhere (xorshift64*).
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed * 0x9e3779b97f4a7c15ull + 1) {}
  std::uint32_t next() {
    state_ ^= state_ >> 12;
    state_ ^= state_ << 25;
    state_ ^= state_ >> 27;
    return static_cast<std::uint32_t>((state_ * 0x2545f4914f6cdd1dull) >> 32);
  }
  std::uint32_t below(std::uint32_t limit) { return next() % limit; }
  /// Returns a multiple of 2^-16 in [0, 1).
  float unit() { return static_cast<float>(next() >> 16) / 65536.0f; }

 private:
  std::uint64_t state_;
};

/// Device memory of `size` elements, freed at the end of its scope.
template <typename T>
class DeviceArray {
 public:
  explicit DeviceArray(std::size_t size) : size_(size) {
    CUDA_CHECK(cudaMalloc(reinterpret_cast<void**>(&data_), size * sizeof(T)));
  }
  explicit DeviceArray(const std::vector<T>& values) : DeviceArray(values.size()) { upload(values); }
  ~DeviceArray() { cudaFree(data_); }
  DeviceArray(const DeviceArray&) = delete;
  DeviceArray& operator=(const DeviceArray&) = delete;

  T* get() const { return data_; }
  std::size_t size() const { return size_; }
  void upload(const std::vector<T>& values) {
    CUDA_CHECK(cudaMemcpy(data_, values.data(), values.size() * sizeof(T), cudaMemcpyHostToDevice));
  }
  void clear() { CUDA_CHECK(cudaMemset(data_, 0, size_ * sizeof(T))); }
  std::vector<T> download() const {
    std::vector<T> values(size_);
    CUDA_CHECK(cudaMemcpy(values.data(), data_, size_ * sizeof(T), cudaMemcpyDeviceToHost));
    return values;
  }

 private:
  T* data_ = nullptr;
  std::size_t size_;
};

/// Returns the problem size: the first argument, or `standard`. Exits unless it is a number in [1, limit].
inline int size_argument(int argc, char** argv, int standard, int limit) {
  if (argc < 2) return standard;
  char* end = nullptr;
  const long value = std::strtol(argv[1], &end, 10);
  if (argc > 2 || *argv[1] == '\0' || *end != '\0' || value < 1 || value > limit) {
    std::fprintf(stderr, "usage: %s [size from 1 to %d, default %d]\n", argv[0], limit, standard);
    std::exit(2);
  }
  return static_cast<int>(value);
}

/// Returns the threads per block for programs whose work does not depend on it: EXAMPLE_BLOCK, a multiple of
/// 32 up to 512, or `standard`.
inline int block_threads(int standard) {
  const char* setting = std::getenv("EXAMPLE_BLOCK");
  const int threads = setting != nullptr ? std::atoi(setting) : standard;
  if (threads >= 32 && threads <= 512 && threads % 32 == 0) return threads;
  std::fprintf(stderr, "EXAMPLE_BLOCK must be a multiple of 32 from 32 to 512\n");
  std::exit(2);
}

/// Returns the blocks per grid for programs whose work does not depend on it: EXAMPLE_GRID, or `standard`.
inline int grid_blocks(int standard) {
  const char* setting = std::getenv("EXAMPLE_GRID");
  const int blocks = setting != nullptr ? std::atoi(setting) : standard;
  if (blocks >= 1 && blocks <= 65535) return blocks;
  std::fprintf(stderr, "EXAMPLE_GRID must be a number from 1 to 65535\n");
  std::exit(2);
}

inline int ceil_div(int a, int b) { return (a + b - 1) / b; }

/// Times `launch` if EXAMPLE_REPEAT=N is set: N launches after a few warm-up launches, each between its own
/// two events, as lynxpp times instrumented launches; prints "kernel_ms <kernel> <mean>" on stderr. Call it
/// after reading the results, because the kernels run again on the same data.
template <typename Launch>
void measure(const char* kernel, Launch&& launch) {
  const char* setting = std::getenv("EXAMPLE_REPEAT");
  const int repeat = setting != nullptr ? std::atoi(setting) : 0;
  if (repeat <= 0) return;
  std::vector<cudaEvent_t> events(2 * static_cast<std::size_t>(repeat));
  for (cudaEvent_t& event : events) CUDA_CHECK(cudaEventCreate(&event));
  for (int i = 0; i < 3; ++i) launch();
  for (int i = 0; i < repeat; ++i) {
    CUDA_CHECK(cudaEventRecord(events[2 * i], nullptr));
    launch();
    CUDA_CHECK(cudaEventRecord(events[2 * i + 1], nullptr));
  }
  CUDA_CHECK(cudaDeviceSynchronize());
  double sum = 0;
  for (int i = 0; i < repeat; ++i) {
    float milliseconds = 0;
    CUDA_CHECK(cudaEventElapsedTime(&milliseconds, events[2 * i], events[2 * i + 1]));
    sum += milliseconds;
  }
  std::fprintf(stderr, "kernel_ms %s %.6f\n", kernel, sum / repeat);
  for (const cudaEvent_t event : events) CUDA_CHECK(cudaEventDestroy(event));
}

/// Returns true if both hold the same bytes; prints the first difference on stderr.
template <typename T>
bool same(const char* what, const std::vector<T>& actual, const std::vector<T>& expected) {
  if (actual.size() != expected.size()) {
    std::fprintf(stderr, "%s: %zu elements, expected %zu\n", what, actual.size(), expected.size());
    return false;
  }
  for (std::size_t i = 0; i < actual.size(); ++i) {
    if (std::memcmp(&actual[i], &expected[i], sizeof(T)) == 0) continue;
    std::fprintf(stderr, "%s[%zu]: %.9g, expected %.9g\n", what, i, static_cast<double>(actual[i]),
                 static_cast<double>(expected[i]));
    return false;
  }
  return true;
}

/// Prints the verdict; returns main's exit status.
inline int finish(const char* name, bool right, std::uint64_t checksum) {
  std::printf("%s: %s, checksum 0x%016llx\n", name, right ? "ok" : "WRONG",
              static_cast<unsigned long long>(checksum));
  std::fflush(stdout);  // lynxpp's output at exit comes last
  return right ? 0 : 1;
}

}  // namespace example
