// The distances of points to the means of clusters (expectation maximization): means and inverse variances
// are read from global memory for each point. Mended: from shared memory. (The first case study of the
// GMProf paper.)
#include "examples/limits/pair.h"

constexpr int clusters = 8, dimensions = 16, threads = clusters * dimensions, chunks = 8;

__device__ float least_distance(const float* point, const float* means, const float* inverse_variances) {
  float least = 1e30f;
#pragma unroll 1
  for (int k = 0; k < clusters; ++k) {
    float sum = 0;
    for (int d = 0; d < dimensions; ++d) {
      const float away = point[d] - means[k * dimensions + d];              // fault
      sum = fmaf(away * away, inverse_variances[k * dimensions + d], sum);  // fault
    }
    least = fminf(least, sum);
  }
  return least;
}

__device__ void measure_points(const float* points, const float* means, const float* inverse_variances,
                               float* out) {
  const int n = gridDim.x * chunks * threads;
  for (int chunk = 0; chunk < chunks; ++chunk) {
    const int i = (blockIdx.x * chunks + chunk) * threads + threadIdx.x;
    float point[dimensions];
    for (int d = 0; d < dimensions; ++d) point[d] = points[d * n + i];
    out[i] = least_distance(point, means, inverse_variances);
  }
}

__global__ void slow(const float* points, const float* means, const float* inverse_variances, float* out) {
  measure_points(points, means, inverse_variances, out);
}

__global__ void mended(const float* points, const float* means, const float* inverse_variances, float* out) {
  __shared__ float shared_means[threads], shared_variances[threads];
  shared_means[threadIdx.x] = means[threadIdx.x];
  shared_variances[threadIdx.x] = inverse_variances[threadIdx.x];
  __syncthreads();
  measure_points(points, shared_means, shared_variances, out);
}

int main(int argc, char** argv) {
  const pair::Command command(argc, argv, 16 * pair::multiprocessors);  // blocks
  const int blocks = command.size();
  const int n = blocks * chunks * threads;
  const example::DeviceArray<float> points(
      pair::integers<float>(static_cast<std::size_t>(n) * dimensions, 256, 32));
  const example::DeviceArray<float> means(pair::integers<float>(threads, 256, 33)), out(n);
  const example::DeviceArray<float> variances(pair::integers<float>(threads, 4, 34));
  return command.run(
      "em", out, [&] { slow<<<blocks, threads>>>(points.get(), means.get(), variances.get(), out.get()); },
      [&] { mended<<<blocks, threads>>>(points.get(), means.get(), variances.get(), out.get()); });
}
