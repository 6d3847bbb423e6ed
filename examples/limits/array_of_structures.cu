// One member of an array of structures of 32 bytes. Mended: the member in an array of its own.
#include "examples/limits/pair.h"

constexpr int threads = 256;

struct Particle {
  float x, y, z, mass, velocity[3], charge;
};

__global__ void slow(const Particle* particles, float* out) {
  const int i = blockIdx.x * threads + threadIdx.x;
  out[i] = 2 * particles[i].mass + 1;  // fault
}

__global__ void mended(const float* mass, float* out) {
  const int i = blockIdx.x * threads + threadIdx.x;
  out[i] = 2 * mass[i] + 1;
}

int main(int argc, char** argv) {
  const pair::Command command(argc, argv, 1 << 23);  // particles
  const int n = command.size(threads);
  const auto masses = pair::integers<float>(n, 1000, 8);
  std::vector<Particle> values(n);
  for (int i = 0; i < n; ++i) values[i].mass = masses[i];
  const example::DeviceArray<Particle> particles(values);
  const example::DeviceArray<float> mass(masses), out(n);
  return command.run(
      "array_of_structures", out, [&] { slow<<<n / threads, threads>>>(particles.get(), out.get()); },
      [&] { mended<<<n / threads, threads>>>(mass.get(), out.get()); });
}
