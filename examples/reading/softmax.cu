// Softmax of rows, one thread for each, as in collections of ported benchmarks, and with the changes that
// `lynxpp limits` advises.
//
//   softmax all|slow|global-access|special-function LAUNCHES [ROWS]
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

constexpr int columns = 256;
constexpr int threads = 128;

__global__ void softmax_slow(const float* input, float* output, int rows) {
  const int row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= rows) return;
  const float* const from = input + static_cast<size_t>(row) * columns;
  float* const to = output + static_cast<size_t>(row) * columns;
  float greatest = from[0];
  for (int i = 1; i < columns; ++i) greatest = fmaxf(greatest, from[i]);
  float sum = 0;
  for (int i = 0; i < columns; ++i) sum += expf(from[i] - greatest);
  for (int i = 0; i < columns; ++i) to[i] = expf(from[i] - greatest) / sum;
}

__global__ void softmax_approximated(const float* input, float* output, int rows) {
  const int row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= rows) return;
  const float* const from = input + static_cast<size_t>(row) * columns;
  float* const to = output + static_cast<size_t>(row) * columns;
  float greatest = from[0];
  for (int i = 1; i < columns; ++i) greatest = fmaxf(greatest, from[i]);
  float sum = 0;
  for (int i = 0; i < columns; ++i) sum += __expf(from[i] - greatest);
  for (int i = 0; i < columns; ++i) to[i] = __fdividef(__expf(from[i] - greatest), sum);
}

// A warp for each row: its lanes access consecutive addresses.
__global__ void softmax_by_warps(const float* input, float* output, int rows) {
  constexpr int each = columns / 32;
  const int row = (blockIdx.x * blockDim.x + threadIdx.x) / 32;
  const int lane = threadIdx.x % 32;
  if (row >= rows) return;
  float values[each];
  float greatest = -INFINITY, sum = 0;
#pragma unroll
  for (int i = 0; i < each; ++i) {
    values[i] = input[static_cast<size_t>(row) * columns + i * 32 + lane];
    greatest = fmaxf(greatest, values[i]);
  }
  for (int step = 16; step > 0; step /= 2)
    greatest = fmaxf(greatest, __shfl_xor_sync(0xffffffff, greatest, step));
#pragma unroll
  for (int i = 0; i < each; ++i) {
    values[i] = expf(values[i] - greatest);
    sum += values[i];
  }
  for (int step = 16; step > 0; step /= 2) sum += __shfl_xor_sync(0xffffffff, sum, step);
#pragma unroll
  for (int i = 0; i < each; ++i) output[static_cast<size_t>(row) * columns + i * 32 + lane] = values[i] / sum;
}

namespace {

constexpr std::array<const char*, 3> names = {"slow", "special-function", "global-access"};

void launch(int variant, const float* input, float* output, int rows) {
  const int blocks = (rows + threads - 1) / threads;
  if (variant == 0) softmax_slow<<<blocks, threads>>>(input, output, rows);
  if (variant == 1) softmax_approximated<<<blocks, threads>>>(input, output, rows);
  if (variant == 2) softmax_by_warps<<<(32 * rows + threads - 1) / threads, threads>>>(input, output, rows);
}

}  // namespace

int main(int argc, char** argv) {
  const char* const which = argc > 1 ? argv[1] : "slow";
  const int launches = argc > 2 ? std::atoi(argv[2]) : 1, rows = argc > 3 ? std::atoi(argv[3]) : 1 << 16;
  const size_t count = static_cast<size_t>(rows) * columns, bytes = count * sizeof(float);
  std::vector<float> values(count), first(count), result(count);
  unsigned state = 1;
  for (float& value : values) {
    state = state * 1664525u + 1013904223u;
    value = static_cast<float>(state >> 16) / 8192;
  }
  float *input = nullptr, *output = nullptr;
  cudaMalloc(&input, bytes);
  cudaMalloc(&output, bytes);
  cudaMemcpy(input, values.data(), bytes, cudaMemcpyHostToDevice);
  const bool all = std::strcmp(which, "all") == 0;
  bool equal = true;
  if (all) {
    std::array<std::vector<float>, names.size()> times;
    cudaEvent_t begin, end;
    cudaEventCreate(&begin);
    cudaEventCreate(&end);
    for (int i = 0; i < launches * static_cast<int>(names.size()); ++i) {
      const int variant = i % static_cast<int>(names.size());
      cudaEventRecord(begin);
      launch(variant, input, output, rows);
      cudaEventRecord(end);
      cudaEventSynchronize(end);
      float milliseconds = 0;
      cudaEventElapsedTime(&milliseconds, begin, end);
      times[variant].push_back(milliseconds);
      if (i >= static_cast<int>(names.size())) continue;
      std::vector<float>& target = variant == 0 ? first : result;
      cudaMemcpy(target.data(), output, bytes, cudaMemcpyDeviceToHost);
      for (size_t k = 0; variant > 0 && k < count; ++k)
        equal = equal && std::fabs(result[k] - first[k]) <= 1e-4f * first[k] + 1e-9f;
    }
    for (size_t variant = 0; variant < names.size(); ++variant) {
      std::vector<float>& each = times[variant];
      std::sort(each.begin(), each.end());
      const size_t last = each.size() - 1;
      std::fprintf(stderr, "%s ms %.6f %.6f %.6f\n", names[variant], each[last / 2], each[last / 4],
                   each[last * 3 / 4]);
    }
  } else {
    int variant = 0;
    for (int k = 0; k < static_cast<int>(names.size()); ++k)
      variant = std::strcmp(which, names[k]) == 0 ? k : variant;
    for (int i = 0; i < launches; ++i) launch(variant, input, output, rows);
    cudaMemcpy(result.data(), output, bytes, cudaMemcpyDeviceToHost);
    double total = 0;
    for (size_t k = 0; k < count; ++k) total += static_cast<double>(k % 97) * result[k];
    std::printf("%.9g ", total);
  }
  std::printf("%s %s\n", equal ? "equal" : "DIFFERENT", cudaGetErrorString(cudaGetLastError()));
  return equal && cudaGetLastError() == cudaSuccess ? 0 : 1;
}
