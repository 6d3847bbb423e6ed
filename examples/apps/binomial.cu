// binomial: prices of European call options on a binomial tree. At expiry, level `steps`, a node's value is
// the payoff of exercising the option; each earlier level has one node fewer, and a node's value is the
// discounted mean of its two successors' values. Level 0 is the price. Each thread block prices one option.
//
// binomial_v1 keeps the levels in two arrays in device memory, even levels in one and odd levels in the
// other: a node is written once and read by its two predecessors. binomial_v2 keeps one level in device
// memory and goes down by up to `tile_steps` levels in shared memory, in tiles that overlap by the same
// number of nodes, again between two arrays. Both compute identical bits.
#include <cmath>

#include "example.h"

constexpr int steps = 368;
constexpr int threads = 128;
constexpr int tile = 256;
constexpr int tile_steps = 48;

/// The price at node j of the last level is lowest · ratio^j; up and down are discounted probabilities.
struct Option {
  float lowest, ratio, strike, up, down;
};

__host__ __device__ float value_at_expiry(const Option& option, int node) {
  float power = 1.0f, square = option.ratio;
  for (int rest = node; rest > 0; rest /= 2) {
    if (rest % 2 == 1) power *= square;
    square *= square;
  }
  return fmaxf(fmaf(option.lowest, power, -option.strike), 0.0f);
}

__host__ __device__ float value_before(const Option& option, float value_down, float value_up) {
  return fmaf(option.up, value_up, option.down * value_down);
}

/// Computes the first `count` nodes of the level before `from`.
__device__ void step_back(const Option& option, const float* from, float* to, int count) {
  for (int j = threadIdx.x; j < count; j += threads) to[j] = value_before(option, from[j], from[j + 1]);
}

__global__ void binomial_v1(const Option* options, float* even_levels, float* odd_levels, float* prices) {
  const Option option = options[blockIdx.x];
  float* const even = even_levels + blockIdx.x * (steps + 1);
  float* const odd = odd_levels + blockIdx.x * steps;
  for (int j = threadIdx.x; j <= steps; j += threads) even[j] = value_at_expiry(option, j);
  static_assert(steps % 2 == 0, "level 0 is in the even array");
  for (int level = steps; level > 0; level -= 2) {
    __syncthreads();
    step_back(option, even, odd, level);
    __syncthreads();
    step_back(option, odd, even, level - 1);
  }
  __syncthreads();
  if (threadIdx.x == 0) prices[blockIdx.x] = even[0];
}

__global__ void binomial_v2(const Option* options, float* levels, float* prices) {
  __shared__ float even[tile], odd[tile];
  const Option option = options[blockIdx.x];
  float* const values = levels + blockIdx.x * (steps + 1);
  for (int j = threadIdx.x; j <= steps; j += threads) values[j] = value_at_expiry(option, j);
  static_assert(steps % 2 == 0 && tile_steps % 2 == 0, "a tile ends in the even array");
  for (int level = steps; level > 0; level -= tile_steps) {
    const int depth = min(tile_steps, level), nodes_left = level - depth + 1;
    for (int first = 0; first < nodes_left; first += tile - tile_steps) {
      // Compute `count` nodes of the level `depth` earlier from `count + depth` nodes of this level.
      const int count = min(tile - tile_steps, nodes_left - first);
      __syncthreads();
      for (int j = threadIdx.x; j < count + depth; j += threads) even[j] = values[first + j];
      for (int left = depth; left > 0; left -= 2) {
        __syncthreads();
        step_back(option, even, odd, count + left - 1);
        __syncthreads();
        step_back(option, odd, even, count + left - 2);
      }
      __syncthreads();
      for (int j = threadIdx.x; j < count; j += threads) values[first + j] = even[j];
    }
  }
  __syncthreads();
  if (threadIdx.x == 0) prices[blockIdx.x] = values[0];
}

/// Inputs of the option's parameters; today's price is 100.
struct Terms {
  double strike, years, volatility, interest;
};

Option option_of(const Terms& terms) {
  const double time = terms.years / steps, up = std::exp(terms.volatility * std::sqrt(time));
  const double growth = std::exp(terms.interest * time), probability = (growth - 1 / up) / (up - 1 / up);
  return {static_cast<float>(100 * std::pow(up, -steps)), static_cast<float>(up * up),
          static_cast<float>(terms.strike), static_cast<float>(probability / growth),
          static_cast<float>((1 - probability) / growth)};
}

/// Returns the limit of the tree's price for many steps (Black and Scholes).
double limit_price(const Terms& terms) {
  const auto normal = [](double x) { return 0.5 * std::erfc(-x / std::sqrt(2.0)); };
  const double spread = terms.volatility * std::sqrt(terms.years);
  const double upper = (std::log(100 / terms.strike) + terms.interest * terms.years) / spread + spread / 2;
  return 100 * normal(upper) -
         terms.strike * std::exp(-terms.interest * terms.years) * normal(upper - spread);
}

float price_on_host(const Option& option) {
  std::vector<float> values(steps + 1);
  for (int j = 0; j <= steps; ++j) values[j] = value_at_expiry(option, j);
  for (int level = steps; level > 0; --level) {
    for (int j = 0; j < level; ++j) values[j] = value_before(option, values[j], values[j + 1]);
  }
  return values[0];
}

int main(int argc, char** argv) {
  const int n = example::size_argument(argc, argv, 6, 1 << 16);
  example::Random random(23);
  std::vector<Option> options;
  std::vector<float> expected;
  bool right = true;
  for (int i = 0; i < n; ++i) {
    const Terms terms{80 + 40.0 * random.unit(), 0.25 + random.unit(), 0.1 + 0.3 * random.unit(),
                      0.05 * random.unit()};
    options.push_back(option_of(terms));
    expected.push_back(price_on_host(options.back()));
    if (std::fabs(expected.back() - limit_price(terms)) > 0.05) {
      std::fprintf(stderr, "option %d: %g on the tree, %g in the limit\n", i, expected.back(),
                   limit_price(terms));
      right = false;
    }
  }

  const example::DeviceArray<Option> device_options(options);
  const std::size_t nodes = static_cast<std::size_t>(n) * (steps + 1);
  const example::DeviceArray<float> even(nodes), odd(nodes - n), levels(nodes), prices_v1(n), prices_v2(n);
  const auto v1 = [&] {
    binomial_v1<<<n, threads>>>(device_options.get(), even.get(), odd.get(), prices_v1.get());
  };
  const auto v2 = [&] { binomial_v2<<<n, threads>>>(device_options.get(), levels.get(), prices_v2.get()); };
  v1();
  v2();
  CUDA_CHECK(cudaGetLastError());
  right = example::same("binomial_v1", prices_v1.download(), expected) && right;
  right = example::same("binomial_v2", prices_v2.download(), expected) && right;
  std::printf("binomial: %d options, %d steps, the first costs %.3f\n", n, steps, expected[0]);
  example::measure("binomial_v1", v1);
  example::measure("binomial_v2", v2);
  return example::finish("binomial", right, example::fnv1a(expected));
}
