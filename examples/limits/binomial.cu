// Option prices on a binomial tree whose levels are in global memory. Mended: in shared memory. (The second
// case study of the GMProf paper.)
#include "examples/limits/pair.h"

constexpr int threads = 128, steps = 256;

__device__ float payoff(float strike, int node) {
  return fmaxf(100.0f + 2 * (node - steps / 2) - strike, 0.0f);
}

__global__ void slow(const float* strikes, float* levels, float* prices) {
  const float strike = strikes[blockIdx.x];
  float* const even = levels + blockIdx.x * 2 * (steps + 1);
  float* const odd = even + steps + 1;
  for (int j = threadIdx.x; j <= steps; j += threads) even[j] = payoff(strike, j);
  for (int level = steps; level > 0; --level) {
    __syncthreads();
    const float* const from = level % 2 == 0 ? even : odd;
    float* const to = level % 2 == 0 ? odd : even;
    for (int j = threadIdx.x; j < level; j += threads) {
      to[j] = fmaf(0.49f, from[j + 1], 0.5f * from[j]);  // fault
    }
  }
  __syncthreads();
  if (threadIdx.x == 0) prices[blockIdx.x] = even[0];
}

__global__ void mended(const float* strikes, float* prices) {
  __shared__ float levels[2][steps + 1];
  const float strike = strikes[blockIdx.x];
  for (int j = threadIdx.x; j <= steps; j += threads) levels[0][j] = payoff(strike, j);
  for (int level = steps; level > 0; --level) {
    __syncthreads();
    const float* const from = levels[level % 2];
    float* const to = levels[1 - level % 2];
    for (int j = threadIdx.x; j < level; j += threads) to[j] = fmaf(0.49f, from[j + 1], 0.5f * from[j]);
  }
  __syncthreads();
  if (threadIdx.x == 0) prices[blockIdx.x] = levels[0][0];
}

int main(int argc, char** argv) {
  const pair::Command command(argc, argv, 48 * pair::multiprocessors);  // options
  const int n = command.size();
  const example::DeviceArray<float> strikes(pair::integers<float>(n, 100, 31)), prices(n);
  const example::DeviceArray<float> levels(static_cast<std::size_t>(n) * 2 * (steps + 1));
  return command.run(
      "binomial", prices, [&] { slow<<<n, threads>>>(strikes.get(), levels.get(), prices.get()); },
      [&] { mended<<<n, threads>>>(strikes.get(), prices.get()); });
}
