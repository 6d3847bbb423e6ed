// em: clustering by expectation maximization. Points of `dimensions` coordinates are assumed to come from a
// mixture of `clusters` normal distributions with diagonal covariances. A step computes the probability of
// each cluster for every point (expectation: the responsibilities), and from these the sums that determine
// the weights, means and variances of the next step (maximization). A thread block iterates over chunks of
// one point per thread: a thread has one point in the expectation and one pair of cluster and coordinate in
// the maximization. Blocks write partial sums, which the host adds.
//
// em_v1 keeps in shared memory the chunk's coordinates, its responsibilities, the clusters' offsets and, for
// each thread, the confidence: the sum of its points' greatest responsibilities, which is used twice per
// chunk. The means and inverse variances are read from device memory for every point. em_v2 keeps these two
// in shared memory, read from device memory once per block, and the confidence in device memory: with all six
// arrays, a multiprocessor of 228 KiB would hold fewer thread blocks. Both compute identical bits.
//
// usage: em [POINTS [CHUNKS OF A BLOCK]]
#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "example.h"

constexpr int clusters = 8;
constexpr int dimensions = 16;
constexpr int threads = clusters * dimensions;
constexpr int usual_chunks = 4;
constexpr int steps = 3;

/// Input of a step. Pointers to device memory in a kernel, to host memory in main.
struct Model {
  const float* means;              // [cluster][dimension]
  const float* inverse_variances;  // [cluster][dimension]
  const float* offsets;            // [cluster]: logarithm of weight and norm
};

/// Output of a step, per block. Pairs are pairs of cluster and coordinate.
struct Sums {
  float* weights;     // [block][cluster]: of the responsibilities
  float* shifts;      // [block][pair]: responsibility times distance from the mean
  float* squares;     // [block][pair]: responsibility times its square
  float* confidence;  // [block][thread]
};

/// Returns e to the power of x ≤ 0, by a polynomial: identical bits on the host and on every device.
__host__ __device__ float exponential(float x) {
  x = fmaxf(x, -80.0f);
  const float whole = rintf(x * 1.44269504f);
  float rest = fmaf(whole, -0.693145752f, x);
  rest = fmaf(whole, -1.42860677e-6f, rest);
  float power = 1.0f / 720;
  const float factors[] = {1.0f / 120, 1.0f / 24, 1.0f / 6, 0.5f, 1.0f, 1.0f};
  for (const float factor : factors) power = fmaf(power, rest, factor);
  return ldexpf(power, static_cast<int>(whole));
}

__host__ __device__ float squared_distance(const float* point, const float* mean,
                                           const float* inverse_variance) {
  float sum = 0.0f;
  for (int d = 0; d < dimensions; ++d) {
    const float away = point[d] - mean[d];
    sum = fmaf(away * away, inverse_variance[d], sum);
  }
  return sum;
}

/// Converts the logarithms in `values` to responsibilities that add up to one; returns the greatest.
__host__ __device__ float normalise(float* values) {
  float greatest = values[0], sum = 0.0f;
  for (int k = 1; k < clusters; ++k) greatest = fmaxf(greatest, values[k]);
  for (int k = 0; k < clusters; ++k) sum += values[k] = exponential(values[k] - greatest);
  for (int k = 0; k < clusters; ++k) values[k] = values[k] / sum;
  return 1.0f / sum;
}

using Chunk = float[threads];

/// Computes the responsibilities of the thread's point and returns the greatest; fills `chunk`.
__device__ float expect_point(const float* points, int n, int i, const float* means,
                              const float* inverse_variances, const float* offsets, Chunk* chunk,
                              Chunk* responsibilities) {
  float point[dimensions], values[clusters], greatest = 0.0f;
  for (int d = 0; d < dimensions; ++d) {
    point[d] = i < n ? points[static_cast<std::size_t>(d) * n + i] : 0.0f;
    chunk[d][threadIdx.x] = point[d];
  }
  if (i < n) {
    for (int k = 0; k < clusters; ++k) {
      values[k] = fmaf(squared_distance(point, means + k * dimensions, inverse_variances + k * dimensions),
                       -0.5f, offsets[k]);
    }
    greatest = normalise(values);
  }
  for (int k = 0; k < clusters; ++k) responsibilities[k][threadIdx.x] = i < n ? values[k] : 0.0f;
  return greatest;
}

/// The growing sums of a pair of cluster and coordinate, and of the cluster's weight.
struct PairSums {
  float weight, shift, square;
};

__host__ __device__ void add(PairSums& sums, float responsibility, float coordinate, float mean) {
  const float away = coordinate - mean;
  sums.weight += responsibility;
  sums.shift = fmaf(responsibility, away, sums.shift);
  sums.square = fmaf(responsibility * away, away, sums.square);
}

__device__ void add_chunk(PairSums& sums, const Chunk& responsibilities, const Chunk& coordinates,
                          float mean) {
  for (int j = 0; j < threads; ++j) add(sums, responsibilities[j], coordinates[j], mean);
}

__device__ void write_sums(const Sums& to, const PairSums& sums) {
  const int pair = blockIdx.x * threads + threadIdx.x;
  if (threadIdx.x % dimensions == 0) to.weights[pair / dimensions] = sums.weight;
  to.shifts[pair] = sums.shift;
  to.squares[pair] = sums.square;
}

__global__ void em_v1(const float* points, int n, Model model, Sums to) {
  __shared__ Chunk chunk[dimensions], responsibilities[clusters];
  __shared__ float offsets[clusters], confidence[threads];
  const int cluster = threadIdx.x / dimensions, dimension = threadIdx.x % dimensions;
  if (threadIdx.x < clusters) offsets[threadIdx.x] = model.offsets[threadIdx.x];
  PairSums sums = {};
  confidence[threadIdx.x] = 0.0f;
  for (int first = blockIdx.x * threads; first < n; first += gridDim.x * threads) {
    __syncthreads();
    confidence[threadIdx.x] += expect_point(points, n, first + threadIdx.x, model.means,
                                            model.inverse_variances, offsets, chunk, responsibilities);
    __syncthreads();
    add_chunk(sums, responsibilities[cluster], chunk[dimension], model.means[threadIdx.x]);
  }
  write_sums(to, sums);
  to.confidence[blockIdx.x * threads + threadIdx.x] = confidence[threadIdx.x];
}

__global__ void em_v2(const float* points, int n, Model model, Sums to) {
  __shared__ Chunk chunk[dimensions], responsibilities[clusters];
  __shared__ float offsets[clusters], means[threads], inverse_variances[threads];
  const int cluster = threadIdx.x / dimensions, dimension = threadIdx.x % dimensions;
  if (threadIdx.x < clusters) offsets[threadIdx.x] = model.offsets[threadIdx.x];
  PairSums sums = {};
  means[threadIdx.x] = model.means[threadIdx.x];
  inverse_variances[threadIdx.x] = model.inverse_variances[threadIdx.x];
  float& confidence = to.confidence[blockIdx.x * threads + threadIdx.x];
  confidence = 0.0f;
  for (int first = blockIdx.x * threads; first < n; first += gridDim.x * threads) {
    __syncthreads();
    confidence += expect_point(points, n, first + threadIdx.x, means, inverse_variances, offsets, chunk,
                               responsibilities);
    __syncthreads();
    add_chunk(sums, responsibilities[cluster], chunk[dimension], means[threadIdx.x]);
  }
  write_sums(to, sums);
}

/// A model in host memory, and the results of a step.
struct HostModel {
  std::vector<float> means, inverse_variances, offsets;
};

struct HostSums {
  explicit HostSums(int blocks)
      : weights(blocks * clusters),
        shifts(blocks * threads),
        squares(blocks * threads),
        confidence(blocks * threads) {}
  std::vector<float> weights, shifts, squares, confidence;
};

/// Computes the result of both kernels, in the same order.
HostSums sums_on_host(const std::vector<float>& points, int n, int blocks, const HostModel& model) {
  HostSums result(blocks);
  std::vector<PairSums> sums(blocks * threads);
  std::vector<float> point(dimensions), values(clusters);
  for (int i = 0; i < n; ++i) {
    const int block = i / threads % blocks;
    for (int d = 0; d < dimensions; ++d) point[d] = points[static_cast<std::size_t>(d) * n + i];
    for (int k = 0; k < clusters; ++k) {
      const float distance = squared_distance(point.data(), &model.means[k * dimensions],
                                              &model.inverse_variances[k * dimensions]);
      values[k] = std::fmaf(distance, -0.5f, model.offsets[k]);
    }
    result.confidence[block * threads + i % threads] += normalise(values.data());
    for (int pair = 0; pair < threads; ++pair) {
      add(sums[block * threads + pair], values[pair / dimensions], point[pair % dimensions],
          model.means[pair]);
    }
  }
  for (int pair = 0; pair < blocks * threads; ++pair) {
    result.weights[pair / dimensions] = sums[pair].weight;
    result.shifts[pair] = sums[pair].shift;
    result.squares[pair] = sums[pair].square;
  }
  return result;
}

/// Computes the model of the next step.
void maximise(HostModel& model, const HostSums& sums, int n) {
  for (int k = 0; k < clusters; ++k) {
    double weight = 1e-6;
    for (std::size_t at = k; at < sums.weights.size(); at += clusters) weight += sums.weights[at];
    double logarithm = std::log(weight / n);
    for (int pair = k * dimensions; pair < (k + 1) * dimensions; ++pair) {
      double shift = 0, square = 0;
      for (std::size_t at = pair; at < sums.shifts.size(); at += threads) {
        shift += sums.shifts[at];
        square += sums.squares[at];
      }
      const double variance = std::max(square / weight - shift / weight * (shift / weight), 1e-3);
      model.means[pair] = static_cast<float>(model.means[pair] + shift / weight);
      model.inverse_variances[pair] = static_cast<float>(1 / variance);
      logarithm -= 0.5 * std::log(variance);
    }
    model.offsets[k] = static_cast<float>(logarithm);
  }
}

using Kernel = void (*)(const float*, int, Model, Sums);

/// Runs one step on the device; returns true if the result is `expected`.
bool step_on_device(const char* name, Kernel kernel, const example::DeviceArray<float>& points, int n,
                    const HostModel& model, const HostSums& expected) {
  const example::DeviceArray<float> means(model.means), inverse_variances(model.inverse_variances),
      offsets(model.offsets), weights(expected.weights.size()), shifts(expected.shifts.size()),
      squares(expected.squares.size()), confidence(expected.confidence.size());
  const int blocks = static_cast<int>(expected.shifts.size()) / threads;
  const auto launch = [&] {
    kernel<<<blocks, threads>>>(points.get(), n, Model{means.get(), inverse_variances.get(), offsets.get()},
                                Sums{weights.get(), shifts.get(), squares.get(), confidence.get()});
  };
  launch();
  CUDA_CHECK(cudaGetLastError());
  bool right = example::same("weights", weights.download(), expected.weights);
  right = example::same("shifts", shifts.download(), expected.shifts) && right;
  right = example::same("squares", squares.download(), expected.squares) && right;
  right = example::same("confidence", confidence.download(), expected.confidence) && right;
  example::measure(name, launch);
  return right;
}

int main(int argc, char** argv) {
  const int n = example::size_argument(std::min(argc, 2), argv, 6 * usual_chunks * threads, 1 << 20);
  const int chunks = argc > 2 ? std::max(std::atoi(argv[2]), 1) : usual_chunks;
  const int blocks = example::ceil_div(n, chunks * threads);
  example::Random random(22);
  HostModel model{std::vector<float>(threads), std::vector<float>(threads, 4.0f),
                  std::vector<float>(clusters)};
  std::vector<float> centres(threads), points(static_cast<std::size_t>(dimensions) * n);
  for (float& centre : centres) centre = 1.5f * random.unit();
  for (int i = 0; i < n; ++i) {
    const int cluster = random.below(clusters);
    for (int d = 0; d < dimensions; ++d) {
      const float noise = random.unit() + random.unit() - 1.0f;
      points[static_cast<std::size_t>(d) * n + i] = centres[cluster * dimensions + d] + noise;
    }
  }
  for (int pair = 0; pair < threads; ++pair) model.means[pair] = centres[pair] + random.unit() - 0.5f;

  const example::DeviceArray<float> device_points(points);
  bool right = true;
  std::uint64_t checksum = example::fnv1a(points);
  for (int step = 0; step < steps; ++step) {
    const HostSums sums = sums_on_host(points, n, blocks, model);
    right = step_on_device("em_v1", em_v1, device_points, n, model, sums) && right;
    right = step_on_device("em_v2", em_v2, device_points, n, model, sums) && right;
    maximise(model, sums, n);
    double confidence = 0;
    for (const float value : sums.confidence) confidence += value;
    std::printf("em: step %d of %d points, mean confidence %.3f\n", step, n, confidence / n);
    checksum = example::fnv1a(sums.confidence, example::fnv1a(sums.squares, checksum));
  }
  return example::finish("em", right, checksum);
}
