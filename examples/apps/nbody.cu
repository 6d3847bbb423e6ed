// nbody: gravity between all bodies, tile by tile through shared memory: mostly multiply-adds, square roots
// and divisions, in single precision, with a double-precision energy at the end.
#include <cmath>

#include "example.h"

constexpr int block_size = 64;

__global__ void accelerate(const float4* bodies, float4* accelerations, int n) {
  __shared__ float4 tile[block_size];
  const int i = blockIdx.x * block_size + threadIdx.x;
  const float4 self = i < n ? bodies[i] : make_float4(0.0f, 0.0f, 0.0f, 0.0f);
  float ax = 0.0f, ay = 0.0f, az = 0.0f;
  for (int begin = 0; begin < n; begin += block_size) {
    const int j = begin + threadIdx.x;
    tile[threadIdx.x] = j < n ? bodies[j] : make_float4(0.0f, 0.0f, 0.0f, 0.0f);
    __syncthreads();
    const int count = min(block_size, n - begin);
    for (int k = 0; k < count; ++k) {
      const float4 other = tile[k];
      const float dx = other.x - self.x, dy = other.y - self.y, dz = other.z - self.z;
      const float square = fmaf(dx, dx, fmaf(dy, dy, fmaf(dz, dz, 0.01f)));
      const float factor = other.w / fmaf(square, sqrtf(square), 0.0f);
      ax = fmaf(dx, factor, ax);
      ay = fmaf(dy, factor, ay);
      az = fmaf(dz, factor, az);
    }
    __syncthreads();
  }
  if (i < n) accelerations[i] = make_float4(ax, ay, az, 0.0f);
}

__global__ void kinetic(const float4* accelerations, double* energies, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const double x = accelerations[i].x, y = accelerations[i].y, z = accelerations[i].z;
  energies[i] = 0.5 * fma(x, x, fma(y, y, fma(z, z, 0.0)));
}

int main(int argc, char** argv) {
  const int n = example::size_argument(argc, argv, 200, 1 << 20);
  example::Random random(8);
  std::vector<float4> bodies(n);
  for (float4& body : bodies) {
    body =
        make_float4(random.unit() - 0.5f, random.unit() - 0.5f, random.unit() - 0.5f, random.unit() + 0.25f);
  }
  const example::DeviceArray<float4> device_bodies(bodies);
  example::DeviceArray<float4> device_accelerations(n);
  example::DeviceArray<double> device_energies(n);
  const int grid = example::ceil_div(n, block_size);
  accelerate<<<grid, block_size>>>(device_bodies.get(), device_accelerations.get(), n);
  kinetic<<<grid, block_size>>>(device_accelerations.get(), device_energies.get(), n);
  CUDA_CHECK(cudaGetLastError());
  const std::vector<float4> accelerations = device_accelerations.download();
  const std::vector<double> energies = device_energies.download();

  bool right = true;
  const int step = n > 2000 ? n / 500 : 1;
  for (int i = 0; i < n && right; i += step) {
    float ax = 0.0f, ay = 0.0f, az = 0.0f;
    for (int j = 0; j < n; ++j) {
      const float dx = bodies[j].x - bodies[i].x, dy = bodies[j].y - bodies[i].y,
                  dz = bodies[j].z - bodies[i].z;
      const float square = std::fmaf(dx, dx, std::fmaf(dy, dy, std::fmaf(dz, dz, 0.01f)));
      const float factor = bodies[j].w / std::fmaf(square, std::sqrt(square), 0.0f);
      ax = std::fmaf(dx, factor, ax);
      ay = std::fmaf(dy, factor, ay);
      az = std::fmaf(dz, factor, az);
    }
    const double x = ax, y = ay, z = az;
    const double energy = 0.5 * std::fma(x, x, std::fma(y, y, std::fma(z, z, 0.0)));
    right = example::same("acceleration", {accelerations[i].x, accelerations[i].y, accelerations[i].z},
                          std::vector<float>{ax, ay, az});
    right = example::same("energy", {energies[i]}, std::vector<double>{energy}) && right;
  }
  std::printf("nbody: %d bodies\n", n);

  example::measure("accelerate", [&] {
    accelerate<<<grid, block_size>>>(device_bodies.get(), device_accelerations.get(), n);
  });
  return example::finish("nbody", right, example::fnv1a(energies, example::fnv1a(accelerations)));
}
