// Floating-point results that are NaN, infinite or denormal, in elements that the host knows: it repeats the
// computation and prints, for each line of the kernels, how many values of each kind the line produces.
#include <cuda_runtime.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <map>
#include <vector>

#define CHECK(call)                                                                \
  do {                                                                             \
    const cudaError_t status = (call);                                             \
    if (status != cudaSuccess) {                                                   \
      std::fprintf(stderr, "line %d: %s\n", __LINE__, cudaGetErrorString(status)); \
      std::exit(2);                                                                \
    }                                                                              \
  } while (false)

constexpr int n = 1000;
enum Line { quotient, root, sum, product, difference, lines };

template <typename Number>
__global__ void compute(const Number* a, const Number* b, Number* out) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const Number x = a[i], y = b[i];
  Number value = x / y;  // quotient
  out[i] = value;
  value = sqrt(value);  // root
  out[n + i] = value;
  value = value + y;  // sum
  out[2 * n + i] = value;
  value = x * y;  // product
  out[3 * n + i] = value;
  value = x - value;  // difference
  out[4 * n + i] = value;
}

struct Counts {
  int nan = 0, infinite = 0, denormal = 0, made = 0;
};

template <typename Number>
void count(Counts& counts, Number value, Number left, Number right) {
  const bool is_nan = std::isnan(value);
  counts.nan += is_nan;
  counts.infinite += std::isinf(value);
  counts.denormal += std::fpclassify(value) == FP_SUBNORMAL;
  counts.made += is_nan && !std::isnan(left) && !std::isnan(right);
}

template <typename Number>
Number number(int i) {
  using Limits = std::numeric_limits<Number>;
  const Number numbers[] = {0,
                            1,
                            -1,
                            Limits::infinity(),
                            Limits::quiet_NaN(),
                            Limits::min(),
                            Limits::denorm_min(),
                            Limits::max(),
                            -Limits::max(),
                            Number(0.5),
                            Number(-3)};
  return numbers[i % 11];
}

template <typename Number>
void run(const char* name) {
  std::vector<Number> a(n), b(n), out(lines * n);
  for (int i = 0; i < n; ++i) {
    a[i] = number<Number>(i);
    b[i] = number<Number>(i / 11);
  }
  Number *device_a, *device_b, *device_out;
  CHECK(cudaMalloc(&device_a, n * sizeof(Number)));
  CHECK(cudaMalloc(&device_b, n * sizeof(Number)));
  CHECK(cudaMalloc(&device_out, lines * n * sizeof(Number)));
  CHECK(cudaMemcpy(device_a, a.data(), n * sizeof(Number), cudaMemcpyHostToDevice));
  CHECK(cudaMemcpy(device_b, b.data(), n * sizeof(Number), cudaMemcpyHostToDevice));
  compute<Number><<<(n + 127) / 128, 128>>>(device_a, device_b, device_out);
  CHECK(cudaGetLastError());
  CHECK(cudaMemcpy(out.data(), device_out, lines * n * sizeof(Number), cudaMemcpyDeviceToHost));
  Counts counts[lines], loads;
  for (int i = 0; i < n; ++i) {
    count(loads, a[i], std::numeric_limits<Number>::quiet_NaN(), a[i]);
    count(loads, b[i], std::numeric_limits<Number>::quiet_NaN(), b[i]);
    const Number divided = a[i] / b[i], rooted = std::sqrt(divided), multiplied = a[i] * b[i];
    count(counts[quotient], divided, a[i], b[i]);
    count(counts[root], rooted, divided, Number(0));
    count(counts[sum], rooted + b[i], rooted, b[i]);
    count(counts[product], multiplied, a[i], b[i]);
    // The compiler may fuse this with the product, with one rounding less.
    count(counts[difference], out[4 * n + i], a[i], multiplied);
  }
  std::printf("%s loads %d %d %d %d\n", name, loads.nan, loads.infinite, loads.denormal, loads.made);
  const char* const names[] = {"quotient", "root", "sum", "product", "difference"};
  for (int line = 0; line < lines; ++line) {
    std::printf("%s %s %d %d %d %d\n", name, names[line], counts[line].nan, counts[line].infinite,
                counts[line].denormal, counts[line].made);
  }
}

int main() {
  run<float>("float");
  run<double>("double");
  return 0;
}
