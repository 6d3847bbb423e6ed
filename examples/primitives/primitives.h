// Parallel primitives in several implementations, compared with a sequential one on the host. ADD_PRIMITIVE
// enters an implementation (a function) into a list; main.cpp runs those selected on the command line.
#pragma once

#include <cuda_runtime.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string>
#include <vector>

namespace primitives {

using Value = std::uint32_t;
using Values = std::vector<Value>;

inline void check(cudaError_t status, const char* call) {
  if (status == cudaSuccess) return;
  std::fprintf(stderr, "%s: %s\n", call, cudaGetErrorString(status));
  std::exit(2);
}
#define PRIMITIVES_CHECK(call) ::primitives::check((call), #call)

/// Input of the primitives; identical for equal sizes.
struct Problem {
  Values values;              ///< less than 1000
  Values keys;                ///< ascending, with runs of equal keys
  Values offsets;             ///< beginnings of the runs, and the number of values at the end
  Values permutation;         ///< of all positions
  Values flags;               ///< 0 or 1
  Values sorted_a, sorted_b;  ///< ascending, without duplicates
};
Problem make_problem(std::size_t size);

/// Times both sides of a primitive and compares the results.
class Trial {
 public:
  Trial(const char* primitive, const char* implementation)
      : primitive_(primitive), implementation_(implementation) {}

  /// Runs `work` on the device in the NVTX range PRIMITIVE/IMPLEMENTATION.
  void device(const std::function<void()>& work);

  /// Runs `work`, the sequential implementation.
  template <typename Work>
  auto host(const Work& work) {
    const auto begin = std::chrono::steady_clock::now();
    auto result = work();
    host_ms_ = std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin).count();
    return result;
  }

  void compare(const Values& found, const Values& wanted);
  void compare(Value found, Value wanted) { compare(Values{found}, Values{wanted}); }

  double error() const { return error_; }  ///< the greatest difference; infinite if sizes differ
  double device_ms() const { return device_ms_; }
  double host_ms() const { return host_ms_; }

 private:
  const char* primitive_;
  const char* implementation_;
  double device_ms_ = 0;
  double host_ms_ = 0;
  double error_ = 0;
};

struct Primitive {
  const char* name;
  const char* implementation;
  void (*run)(const Problem& problem, Trial& trial);
};

std::vector<Primitive>& all();

struct Adder {
  explicit Adder(const Primitive& primitive) { all().push_back(primitive); }
};

#define ADD_PRIMITIVE(name, implementation)                                                        \
  static void run_##name##_##implementation(const ::primitives::Problem&, ::primitives::Trial&);   \
  static const ::primitives::Adder add_##name##_##implementation(                                  \
      {#name, #implementation, &run_##name##_##implementation});                                   \
  static void run_##name##_##implementation([[maybe_unused]] const ::primitives::Problem& problem, \
                                            ::primitives::Trial& trial)

/// Device memory, freed at the end of its scope.
template <typename T>
class Device {
 public:
  explicit Device(std::size_t size) : size_(size) {
    PRIMITIVES_CHECK(
        cudaMalloc(reinterpret_cast<void**>(&data_), std::max<std::size_t>(size, 1) * sizeof(T)));
  }
  explicit Device(const std::vector<T>& values) : Device(values.size()) {
    PRIMITIVES_CHECK(cudaMemcpy(data_, values.data(), values.size() * sizeof(T), cudaMemcpyHostToDevice));
  }
  ~Device() { cudaFree(data_); }
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;

  T* get() const { return data_; }
  std::size_t size() const { return size_; }
  std::vector<T> download(std::size_t count) const {
    std::vector<T> values(count);
    PRIMITIVES_CHECK(cudaMemcpy(values.data(), data_, count * sizeof(T), cudaMemcpyDeviceToHost));
    return values;
  }
  std::vector<T> download() const { return download(size_); }

 private:
  T* data_ = nullptr;
  std::size_t size_;
};

}  // namespace primitives
