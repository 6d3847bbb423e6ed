// Shared by the programs in this folder: the benchmarks of the CuMAPz paper (its Table IV), rewritten from
// its descriptions. Each has one source, whose variants are template arguments selected on the command line.
// Names and values are those of the description of the same name in examples/advise:
//
//   build/release/examples/cumapz/laplace fetched=4 N=256
//   lynxpp advise examples/advise/laplace.access -D fetched=4 -D N=256
//
// Each access in the description is one instruction of a warp, and no other accesses exist; the test
// end_to_end.gpu_check compares the cpu device's counters with the description. Values are small integers, so
// that floating point is exact in every order and all variants have the same result.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "examples/apps/example.h"

namespace benchmark {

/// Shared memory accesses that the compiler keeps: neighbouring ones are not merged into a vector access, and
/// values that a thread has written are read back.
__device__ inline float read(const float& from) { return *static_cast<const volatile float*>(&from); }
__device__ inline void write(float& to, float value) { *static_cast<volatile float*>(&to) = value; }

struct Parameter {
  const char* name;
  int standard;
  int least;
  int most;
};

/// NAME=VALUE arguments of the command line; unknown names and values out of range end the program.
class Parameters {
 public:
  Parameters(int argc, char** argv, std::vector<Parameter> known) : known_(std::move(known)) {
    for (const Parameter& each : known_) values_.push_back(each.standard);
    for (int i = 1; i < argc; ++i) {
      if (!set(argv[i])) usage(argv[0]);
    }
  }
  int operator[](const std::string& name) const {
    for (std::size_t i = 0; i < known_.size(); ++i) {
      if (name == known_[i].name) return values_[i];
    }
    std::abort();
  }
  /// Returns text such as "fetched=4 N=256".
  std::string text() const {
    std::string result;
    for (std::size_t i = 0; i < known_.size(); ++i)
      result += (i == 0 ? "" : " ") + std::string(known_[i].name) + "=" + std::to_string(values_[i]);
    return result;
  }

 private:
  bool set(const std::string& argument) {
    for (std::size_t i = 0; i < known_.size(); ++i) {
      const std::string begin = std::string(known_[i].name) + "=";
      if (argument.rfind(begin, 0) != 0) continue;
      char* end = nullptr;
      const char* const text = argument.c_str() + begin.size();
      const long value = std::strtol(text, &end, 10);
      values_[i] = static_cast<int>(value);
      return *text != '\0' && *end == '\0' && value >= known_[i].least && value <= known_[i].most;
    }
    return false;
  }
  void usage(const char* program) const {
    std::fprintf(stderr, "usage: %s", program);
    for (const Parameter& each : known_)
      std::fprintf(stderr, " [%s=%d to %d, default %d]", each.name, each.least, each.most, each.standard);
    std::fprintf(stderr, "\n");
    std::exit(2);
  }

  std::vector<Parameter> known_;
  std::vector<int> values_;
};

/// Calls `use(std::integral_constant<int, value>())` for a value from 0 to `count` - 1.
template <int count, typename Use>
void with_constant(int value, Use&& use) {
  if constexpr (count > 0) {
    if (value == count - 1) return use(std::integral_constant<int, count - 1>());
    with_constant<count - 1>(value, use);
  }
}

inline std::vector<float> small_integers(std::size_t count, std::uint32_t limit, std::uint64_t seed) {
  example::Random random(seed);
  std::vector<float> values(count);
  for (float& value : values) value = static_cast<float>(random.below(limit));
  return values;
}

/// Compares with `expected(i)`, which costs about `cost` operations: all elements, or a sample if that takes
/// too long. Prints the first difference on stderr.
template <typename Expected>
bool check(const char* name, const std::vector<float>& actual, std::size_t cost, Expected expected) {
  constexpr std::size_t most_operations = std::size_t{1} << 26;
  const std::size_t step = std::max<std::size_t>(actual.size() * cost / most_operations, 1) | 1;
  for (std::size_t i = 0; i < actual.size(); i += step) {
    const float wanted = expected(i);
    if (actual[i] == wanted) continue;
    std::fprintf(stderr, "%s[%zu]: %.9g, expected %.9g\n", name, i, static_cast<double>(actual[i]),
                 static_cast<double>(wanted));
    return false;
  }
  return true;
}

/// Returns the milliseconds of one of `launches` consecutive launches between two events.
template <typename Launch>
float time_of(int launches, Launch&& launch) {
  cudaEvent_t begin, end;
  CUDA_CHECK(cudaEventCreate(&begin));
  CUDA_CHECK(cudaEventCreate(&end));
  CUDA_CHECK(cudaEventRecord(begin));
  for (int i = 0; i < launches; ++i) launch();
  CUDA_CHECK(cudaEventRecord(end));
  CUDA_CHECK(cudaEventSynchronize(end));
  float milliseconds = 0;
  CUDA_CHECK(cudaEventElapsedTime(&milliseconds, begin, end));
  CUDA_CHECK(cudaEventDestroy(begin));
  CUDA_CHECK(cudaEventDestroy(end));
  return milliseconds / static_cast<float>(launches);
}

/// Times `launch` if EXAMPLE_REPEAT=N is set, after warm-up launches for 50 ms, at least three. Each of the N
/// measurements covers the launches of a millisecond, so that events and the start of a launch hardly affect
/// short kernels. Prints "kernel_ms <kernel> <median> <lower quartile> <upper quartile>" on stderr. Call it
/// after reading the results.
template <typename Launch>
void measure(const char* kernel, Launch&& launch) {
  const char* setting = std::getenv("EXAMPLE_REPEAT");
  const int repeat = setting != nullptr ? std::atoi(setting) : 0;
  if (repeat <= 0) return;
  const auto began = std::chrono::steady_clock::now();
  for (int i = 0; i < 3 || std::chrono::steady_clock::now() - began < std::chrono::milliseconds(50); ++i) {
    launch();
    CUDA_CHECK(cudaDeviceSynchronize());
  }
  const float one = std::max(time_of(3, launch), 0.001f);
  const int launches = one < 1 ? static_cast<int>(1 / one) + 1 : 1;
  std::vector<float> times;
  for (int i = 0; i < repeat; ++i) times.push_back(time_of(launches, launch));
  std::sort(times.begin(), times.end());
  const auto quantile = [&](std::size_t quarters) {
    return static_cast<double>(times[std::min(times.size() * quarters / 4, times.size() - 1)]);
  };
  std::fprintf(stderr, "kernel_ms %s %.6f %.6f %.6f\n", kernel, quantile(2), quantile(1), quantile(3));
}

}  // namespace benchmark
