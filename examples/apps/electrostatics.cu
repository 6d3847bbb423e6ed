// electrostatics: the potential at points of a molecule's surface, of distant components as wholes and of
// near ones atom by atom (the approximation of GEM). Every thread reads the components in the same order.
#include <cmath>

#include "example.h"

constexpr int atoms_each = 5;  // per component

struct Molecule {
  const float *x, *y, *z, *charge;  ///< atoms of a component are stored consecutively
};

/// Coulomb's potential. Roots and quotients are rounded correctly, so the host computes identical bits.
__host__ __device__ inline float potential(float charge, float distance) { return charge / distance; }
__host__ __device__ inline float distance_of(float x, float y, float z) {
  return sqrtf(x * x + y * y + z * z);
}

/// Returns the potential at one point.
__device__ float potential_at(float own_x, float own_y, float own_z, Molecule components, Molecule atoms,
                              int count, float threshold) {
  float sum = 0;
  for (int c = 0; c < count; ++c) {
    const float distance =
        distance_of(components.x[c] - own_x, components.y[c] - own_y, components.z[c] - own_z);
    if (distance >= threshold) {
      sum += potential(components.charge[c], distance);
      continue;
    }
    for (int a = c * atoms_each; a < (c + 1) * atoms_each; ++a) {
      const float near = distance_of(atoms.x[a] - own_x, atoms.y[a] - own_y, atoms.z[a] - own_z);
      sum += potential(atoms.charge[a], near);
    }
  }
  return sum;
}

__global__ void electrostatics(Molecule surface, int points, Molecule components, Molecule atoms, int count,
                               float threshold, float* result) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < points; i += gridDim.x * blockDim.x)
    result[i] = potential_at(surface.x[i], surface.y[i], surface.z[i], components, atoms, count, threshold);
}

/// Coordinates are multiples of 1/8, so that sums of squares are exact and do not depend on contraction.
struct Points {
  std::vector<float> x, y, z, charge;
  void add(float px, float py, float pz, float c) {
    x.push_back(px), y.push_back(py), z.push_back(pz), charge.push_back(c);
  }
};

float coordinate(example::Random& random) { return static_cast<float>(random.below(64)) * 0.25f; }

/// Coordinates and charges stored one after the other in one array, as a program would store them.
struct DevicePoints {
  explicit DevicePoints(const Points& points) : size(points.x.size()), values(joined(points)) {}
  Molecule view() const {
    const float* const first = values.get();
    return {first, first + size, first + 2 * size, first + 3 * size};
  }
  static std::vector<float> joined(const Points& points) {
    std::vector<float> all = points.x;
    all.insert(all.end(), points.y.begin(), points.y.end());
    all.insert(all.end(), points.z.begin(), points.z.end());
    all.insert(all.end(), points.charge.begin(), points.charge.end());
    return all;
  }
  std::size_t size;
  example::DeviceArray<float> values;
};

int main(int argc, char** argv) {
  constexpr int count = 640;  // components
  const int threads = example::block_threads(128), blocks = example::grid_blocks(30);
  const int points = 30 * 32 * example::size_argument(argc, argv, 4, 4096);
  constexpr float threshold = 2.5f;
  example::Random random(8);
  Points surface, components, atoms;
  // Between the atoms' planes, so that no distance is 0.
  for (int i = 0; i < points; ++i)
    surface.add(coordinate(random) + 0.125f, coordinate(random), coordinate(random), 0);
  for (int c = 0; c < count; ++c) {
    const float x = coordinate(random), y = coordinate(random), z = coordinate(random);
    components.add(x, y, z, static_cast<float>(random.below(8)) - 4);
    for (int a = 0; a < atoms_each; ++a) {
      atoms.add(x + static_cast<float>(random.below(4)) * 0.25f, y, z, components.charge.back() / atoms_each);
    }
  }
  std::vector<float> expected(points);
  for (int i = 0; i < points; ++i) {
    for (int c = 0; c < count; ++c) {
      const auto distance = [&](const Points& of, int k) {
        return distance_of(of.x[k] - surface.x[i], of.y[k] - surface.y[i], of.z[k] - surface.z[i]);
      };
      const float whole = distance(components, c);
      if (whole >= threshold) {
        expected[i] += potential(components.charge[c], whole);
        continue;
      }
      for (int a = c * atoms_each; a < (c + 1) * atoms_each; ++a)
        expected[i] += potential(atoms.charge[a], distance(atoms, a));
    }
  }
  const DevicePoints device_surface(surface), device_components(components), device_atoms(atoms);
  const example::DeviceArray<float> result(points);
  const auto launch = [&] {
    electrostatics<<<blocks, threads>>>(device_surface.view(), points, device_components.view(),
                                        device_atoms.view(), count, threshold, result.get());
  };
  launch();
  CUDA_CHECK(cudaGetLastError());
  const std::vector<float> potentials = result.download();
  const bool right = example::same("electrostatics", potentials, expected);
  std::printf("electrostatics: %d points, %d components\n", points, count);
  example::measure("electrostatics", launch);
  return example::finish("electrostatics", right, example::fnv1a(potentials));
}
