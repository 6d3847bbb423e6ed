// Shared by the programs in this folder: pairs of a kernel with one performance problem, `slow`, and the same
// kernel mended by hand, `mended`. scripts/gpu/limits_pairs.py compares what mending gains with what
// `lynxpp limits` predicts; pairs.csv says which operation is at fault in each, and in which line.
//
//   PROGRAM slow 20            launches the slow kernel 20 times and prints the checksum of its result
//   PROGRAM mended 20          the same with the mended kernel
//   PROGRAM both 20            compares the results, then times 20 launches of both in turn (on stderr)
//   PROGRAM both 20 4096       the same for another size, whose meaning is the program's
//
// stdout and the exit status follow the contract in examples/apps/example.h: 1 if the results differ.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <string>
#include <vector>

#include "examples/apps/example.h"

namespace pair {

constexpr int multiprocessors = 132;  // of the GPU for which the usual sizes are chosen, an H200

/// Returns a value after 2 * `rounds` dependent instructions, which the compiler cannot combine.
template <int rounds, unsigned seed = 0x9e3779b9u>
__device__ unsigned mixed(unsigned value) {
#pragma unroll 16
  for (int k = 0; k < rounds; ++k) value = (value ^ seed) * 69069u;
  return value;
}

template <typename T>
std::vector<T> integers(std::size_t count, std::uint32_t limit, std::uint64_t seed) {
  example::Random random(seed);
  std::vector<T> values(count);
  for (T& value : values) value = static_cast<T>(random.below(limit));
  return values;
}

/// The command line: PROGRAM slow|mended|both LAUNCHES [SIZE].
class Command {
 public:
  /// Exits with 2 if the command line is wrong.
  Command(int argc, char** argv, int usual_size) : size_(usual_size) {
    const bool is_valid =
        (argc == 3 || argc == 4) && read(argv[2], launches_) && (argc == 3 || read(argv[3], size_));
    if (is_valid) mode_ = argv[1];
    if (mode_ == "slow" || mode_ == "mended" || mode_ == "both") return;
    std::fprintf(stderr, "usage: %s slow|mended|both LAUNCHES [SIZE, default %d]\n", argv[0], usual_size);
    std::exit(2);
  }
  /// Returns a multiple of `step`, at least one.
  int size(int step = 1) const { return std::max(size_ / step, 1) * step; }

  /// Runs the chosen kernels; returns main's exit status. The results of `slow` and `mended`, functions that
  /// launch a kernel each, may differ by `tolerance`, relative to numbers above 1.
  template <typename T, typename Slow, typename Mended>
  int run(const char* name, const example::DeviceArray<T>& result, Slow slow, Mended mended,
          double tolerance = 0) const {
    return run_reading(
        name, result, slow, mended, [&] { return result.download(); }, tolerance);
  }
  /// The same for a result that `read` computes from `memory`, an array that is cleared first.
  template <typename T, typename Slow, typename Mended, typename Read>
  int run_reading(const char* name, const example::DeviceArray<T>& memory, Slow slow, Mended mended,
                  Read read, double tolerance = 0) const {
    const std::size_t bytes = memory.size() * sizeof(T);
    const auto result_of = [&](auto&& launch, int launches) {
      for (int i = 0; i < launches; ++i) {
        // A small result may be a sum: cleared, it does not depend on the number of launches.
        if (i == 0 || bytes <= small_bytes) CUDA_CHECK(cudaMemsetAsync(memory.get(), 0, bytes));
        launch();
      }
      CUDA_CHECK(cudaGetLastError());
      CUDA_CHECK(cudaDeviceSynchronize());
      return read();
    };
    if (mode_ != "both") {
      const auto values = mode_ == "slow" ? result_of(slow, launches_) : result_of(mended, launches_);
      return example::finish(name, has_result(values), checksum(values));
    }
    const auto of_slow = result_of(slow, 1), of_mended = result_of(mended, 1);
    time(slow, mended);
    return example::finish(name, has_result(of_slow) && agree(of_slow, of_mended, tolerance),
                           checksum(of_slow));
  }

 private:
  static bool read(const char* text, int& number) {
    char* end = nullptr;
    const long value = std::strtol(text, &end, 10);
    number = static_cast<int>(value);
    return *text != '\0' && *end == '\0' && value >= 1 && value <= 1 << 30;
  }
  /// Hashes eight bytes at a time, since results are large.
  template <typename T>
  static std::uint64_t checksum(const std::vector<T>& values) {
    const auto* const bytes = reinterpret_cast<const unsigned char*>(values.data());
    const std::size_t size = values.size() * sizeof(T);
    std::uint64_t hash = example::fnv1a(bytes, size % 8);
    for (std::size_t at = size % 8; at < size; at += 8) {
      std::uint64_t word;
      std::memcpy(&word, bytes + at, sizeof(word));
      hash = (hash ^ word) * 0x100000001b3ull;
      hash ^= hash >> 32;
    }
    return hash;
  }
  /// Returns false if all elements are 0, as if nothing had been computed.
  template <typename T>
  static bool has_result(const std::vector<T>& values) {
    return std::any_of(values.begin(), values.end(), [](T value) { return value != T(); });
  }
  template <typename T>
  static bool agree(const std::vector<T>& slow, const std::vector<T>& mended, double tolerance) {
    if (tolerance == 0) return example::same("mended", mended, slow);
    for (std::size_t i = 0; i < slow.size(); ++i) {
      const double value = static_cast<double>(slow[i]), other = static_cast<double>(mended[i]);
      if (std::fabs(value - other) <= tolerance * std::max(1.0, std::fabs(value))) continue;
      std::fprintf(stderr, "mended[%zu]: %.9g, slow is %.9g\n", i, other, value);
      return false;
    }
    return true;
  }
  /// Prints "<kernel>_ms <median> <lower quartile> <upper quartile>" of both kernels, which run in turn, so
  /// that changes of the clock affect both.
  template <typename Slow, typename Mended>
  void time(Slow slow, Mended mended) const {
    std::array<std::vector<float>, 2> times;
    cudaEvent_t begin, end;
    CUDA_CHECK(cudaEventCreate(&begin));
    CUDA_CHECK(cudaEventCreate(&end));
    for (int i = 0; i < 2 * launches_; ++i) {
      CUDA_CHECK(cudaEventRecord(begin));
      if (i % 2 == 0) {
        slow();
      } else {
        mended();
      }
      CUDA_CHECK(cudaEventRecord(end));
      CUDA_CHECK(cudaEventSynchronize(end));
      float milliseconds = 0;
      CUDA_CHECK(cudaEventElapsedTime(&milliseconds, begin, end));
      times[i % 2].push_back(milliseconds);
    }
    CUDA_CHECK(cudaEventDestroy(begin));
    CUDA_CHECK(cudaEventDestroy(end));
    for (const int which : {0, 1}) {
      std::sort(times[which].begin(), times[which].end());
      const auto quantile = [&](std::size_t quarters) {
        return static_cast<double>(times[which][(times[which].size() - 1) * quarters / 4]);
      };
      std::fprintf(stderr, "%s_ms %.6f %.6f %.6f\n", which == 0 ? "slow" : "mended", quantile(2), quantile(1),
                   quantile(3));
    }
  }

  static constexpr std::size_t small_bytes = 4096;

  std::string mode_;
  int launches_ = 1;
  int size_;
};

}  // namespace pair
