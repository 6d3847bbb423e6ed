// The same access to an array of structures as in array_of_structures, before so much arithmetic that
// mending it gains nothing.
#include "examples/limits/pair.h"

constexpr int threads = 256, terms = 1024;

struct Particle {
  float x, y, z, mass, velocity[3], charge;
};

__device__ float series(float x) {
  float sum = 0;
#pragma unroll 32
  for (int k = 0; k < terms; ++k) sum = fmaf(sum, x, 0.5f);
  return sum;
}

__global__ void slow(const Particle* particles, float* out) {
  const int i = blockIdx.x * threads + threadIdx.x;
  out[i] = series(particles[i].mass);  // fault
}

__global__ void mended(const float* mass, float* out) {
  const int i = blockIdx.x * threads + threadIdx.x;
  out[i] = series(mass[i]);
}

int main(int argc, char** argv) {
  const pair::Command command(argc, argv, 1 << 21);  // particles
  const int n = command.size(threads);
  auto masses = pair::integers<float>(n, 1000, 9);
  for (float& mass : masses) mass /= 1000;
  std::vector<Particle> values(n);
  for (int i = 0; i < n; ++i) values[i].mass = masses[i];
  const example::DeviceArray<Particle> particles(values);
  const example::DeviceArray<float> mass(masses), out(n);
  return command.run(
      "structures_hidden", out, [&] { slow<<<n / threads, threads>>>(particles.get(), out.get()); },
      [&] { mended<<<n / threads, threads>>>(mass.get(), out.get()); });
}
