// symbols: module variables. The host writes __constant__ and __device__ variables before and between
// launches, kernels read and change them, the host reads them back; initialized variables, pointers to other
// variables, names with and without linkage.
#include "example.h"

__constant__ int coefficients[8];                   // written by the host
__constant__ int primes[6] = {2, 3, 5, 7, 11, 13};  // initialized, visible
static __constant__ unsigned char table[4] = {1, 4, 9, 16};
__device__ int offset = 100;               // initialized, changed by the host and by kernels
__device__ long long history[16];          // written by kernels
static __device__ unsigned launches_seen;  // internal linkage
extern "C" {
__device__ int exported_counter = 5;  // a C name
}
__device__ int storage[4] = {10, 20, 30, 40};
__device__ int* selected = &storage[2];  // the initial value is an address

struct Settings {
  float scale;
  short shift;
  int pairs[2];
};
__constant__ Settings settings;

__global__ void apply(int* out, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  int value = offset + *selected;
  for (int k = 0; k < 8; ++k) value += coefficients[k] * ((i >> k) & 1);
  value += primes[i % 6] * table[i % 4];
  value += static_cast<int>(settings.scale * static_cast<float>(i % 16)) +
           (settings.pairs[i & 1] << settings.shift);
  out[i] = value;
}

__global__ void advance(int step) {
  if (threadIdx.x == 0) {
    history[launches_seen % 16] = static_cast<long long>(offset) * 1000 + step;
    ++launches_seen;
    offset += step;
    selected = &storage[launches_seen % 4];
  }
  atomicAdd(&exported_counter, 2);
}

/// The expected values of the variables.
struct Expected {
  int coefficients[8] = {};
  Settings settings = {};
  int offset = 100, selected = 30;
  std::vector<long long> history = std::vector<long long>(16, 0);
};

static void write_variables(int round, Expected& expected) {
  for (int k = 0; k < 8; ++k) expected.coefficients[k] = (round + 1) * (k * k - 5);
  CUDA_CHECK(cudaMemcpyToSymbol(coefficients, expected.coefficients, sizeof expected.coefficients));
  expected.settings = {0.5f * static_cast<float>(round), static_cast<short>(round), {round, 3 - round}};
  CUDA_CHECK(cudaMemcpyToSymbol(settings, &expected.settings, sizeof expected.settings));
  if (round == 2) {
    expected.offset = -7;
    CUDA_CHECK(cudaMemcpyToSymbol(offset, &expected.offset, sizeof expected.offset));
  }
}

static std::vector<int> expect_apply(const Expected& expected, int n) {
  const int host_primes[6] = {2, 3, 5, 7, 11, 13}, host_table[4] = {1, 4, 9, 16};
  std::vector<int> out(n);
  for (int i = 0; i < n; ++i) {
    int value = expected.offset + expected.selected;
    for (int k = 0; k < 8; ++k) value += expected.coefficients[k] * ((i >> k) & 1);
    value += host_primes[i % 6] * host_table[i % 4];
    value += static_cast<int>(expected.settings.scale * static_cast<float>(i % 16));
    value += expected.settings.pairs[i & 1] << expected.settings.shift;
    out[i] = value;
  }
  return out;
}

static void expect_advance(int round, Expected& expected) {
  const int host_storage[4] = {10, 20, 30, 40};
  expected.history[round] = expected.offset * 1000ll + round + 1;
  expected.offset += round + 1;
  expected.selected = host_storage[(round + 1) % 4];
}

/// Variables that only kernels write.
static bool check_written(const std::vector<long long>& past, const Expected& expected) {
  bool right = example::same("history", past, expected.history);
  // Reads the same variable by its address.
  void* address = nullptr;
  std::size_t bytes = 0;
  CUDA_CHECK(cudaGetSymbolAddress(&address, exported_counter));
  CUDA_CHECK(cudaGetSymbolSize(&bytes, exported_counter));
  int counter = 0;
  CUDA_CHECK(cudaMemcpy(&counter, address, bytes, cudaMemcpyDeviceToHost));
  right = example::same("exported_counter", {counter}, std::vector<int>{5 + 4 * 33 * 2}) && right;
  unsigned seen = 0;
  CUDA_CHECK(cudaMemcpyFromSymbol(&seen, launches_seen, sizeof seen));
  return example::same("launches_seen", {seen}, std::vector<unsigned>{4}) && right;
}

int main(int argc, char** argv) {
  const int n = example::size_argument(argc, argv, 1000, 1 << 24);
  bool right = true;
  std::uint64_t checksum = example::fnv1a(nullptr, 0);
  example::DeviceArray<int> out(n);

  Expected expected;
  for (int round = 0; round < 4; ++round) {
    write_variables(round, expected);
    apply<<<example::ceil_div(n, 128), 128>>>(out.get(), n);
    CUDA_CHECK(cudaGetLastError());
    const std::vector<int> result = out.download();
    right = example::same("out", result, expect_apply(expected, n)) && right;
    checksum = example::fnv1a(result, checksum);

    advance<<<1, 33>>>(round + 1);
    CUDA_CHECK(cudaGetLastError());
    expect_advance(round, expected);
    int now = 0;
    CUDA_CHECK(cudaMemcpyFromSymbol(&now, offset, sizeof now));
    right = example::same("offset", {now}, std::vector<int>{expected.offset}) && right;
    std::printf("symbols: round %d, offset %d\n", round, now);
  }

  std::vector<long long> past(16);
  CUDA_CHECK(cudaMemcpyFromSymbol(past.data(), history, sizeof(long long) * 16));
  right = check_written(past, expected) && right;
  checksum = example::fnv1a(past, checksum);

  example::measure("apply", [&] { apply<<<example::ceil_div(n, 128), 128>>>(out.get(), n); });
  return example::finish("symbols", right, checksum);
}
