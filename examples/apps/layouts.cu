// layouts: the same particles moved as an array of structures and as a structure of arrays, and read through
// a pointer to shared or global memory (generic loads and stores).
#include "example.h"

#include <algorithm>
#include <cmath>

struct Particle {
  float x, y, z, speed_x, speed_y, speed_z;
};

__global__ void move_structures(Particle* particles, float time, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  Particle& one = particles[i];
  one.x = __fmaf_rn(one.speed_x, time, one.x);
  one.y = __fmaf_rn(one.speed_y, time, one.y);
  one.z = __fmaf_rn(one.speed_z, time, one.z);
}

__global__ void move_arrays(float* position, const float* speed, float time, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  for (int axis = 0; axis < 3; ++axis) {
    position[axis * n + i] = __fmaf_rn(speed[axis * n + i], time, position[axis * n + i]);
  }
}

// Even blocks work in shared memory, odd blocks in global memory, through one pointer.
__global__ void reverse_blocks(float* values, float* scratch, int n) {
  __shared__ float tile[128];
  const int first = blockIdx.x * blockDim.x;
  const int count = n - first < static_cast<int>(blockDim.x) ? n - first : static_cast<int>(blockDim.x);
  const int i = threadIdx.x;
  float* const place = blockIdx.x % 2 == 0 ? tile : scratch + first;
  if (i < count) place[i] = values[first + i];
  __syncthreads();
  if (i < count) values[first + i] = place[count - 1 - i];
}

int main(int argc, char** argv) {
  const int n = example::size_argument(argc, argv, 3001, 1 << 24);
  constexpr int block = 128;
  constexpr float time = 0.25f;
  const int blocks = example::ceil_div(n, block);
  example::Random random(10);
  std::vector<Particle> particles(n);
  std::vector<float> position(3 * static_cast<std::size_t>(n)), speed(position.size());
  for (int i = 0; i < n; ++i) {
    Particle& one = particles[i];
    float* const fields[] = {&one.x, &one.y, &one.z, &one.speed_x, &one.speed_y, &one.speed_z};
    for (float* field : fields) *field = random.unit();
    for (std::size_t axis = 0; axis < 3; ++axis) {
      position[axis * n + i] = *fields[axis];
      speed[axis * n + i] = *fields[axis + 3];
    }
  }
  std::vector<Particle> moved = particles;
  std::vector<float> moved_position(position.size()), reversed(n);
  for (int i = 0; i < n; ++i) {
    moved_position[i] = moved[i].x = std::fmaf(moved[i].speed_x, time, moved[i].x);
    moved_position[n + i] = moved[i].y = std::fmaf(moved[i].speed_y, time, moved[i].y);
    moved_position[2 * static_cast<std::size_t>(n) + i] = moved[i].z =
        std::fmaf(moved[i].speed_z, time, moved[i].z);
  }
  for (int i = 0; i < n; ++i) {
    const int first = i / block * block, count = std::min(block, n - first);
    reversed[i] = position[first + count - 1 - (i - first)];
  }

  const example::DeviceArray<Particle> structures(particles);
  const example::DeviceArray<float> positions(position), speeds(speed), values(position), scratch(n);
  move_structures<<<blocks, block>>>(structures.get(), time, n);
  move_arrays<<<blocks, block>>>(positions.get(), speeds.get(), time, n);
  reverse_blocks<<<blocks, block>>>(values.get(), scratch.get(), n);
  CUDA_CHECK(cudaGetLastError());
  std::vector<float> found(6 * static_cast<std::size_t>(n)), wanted(found.size());
  std::memcpy(found.data(), structures.download().data(), found.size() * sizeof(float));
  std::memcpy(wanted.data(), moved.data(), wanted.size() * sizeof(float));
  bool right = example::same("structures", found, wanted);
  right = example::same("arrays", positions.download(), moved_position) && right;
  found = values.download();
  found.resize(n);
  right = example::same("reversed", found, reversed) && right;
  std::printf("layouts: %d particles\n", n);
  example::measure("move_structures", [&] { move_structures<<<blocks, block>>>(structures.get(), time, n); });
  example::measure("move_arrays",
                   [&] { move_arrays<<<blocks, block>>>(positions.get(), speeds.get(), time, n); });
  example::measure("reverse_blocks",
                   [&] { reverse_blocks<<<blocks, block>>>(values.get(), scratch.get(), n); });
  return example::finish("layouts", right, example::fnv1a(found, example::fnv1a(moved_position)));
}
