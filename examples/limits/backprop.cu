// The forward pass of a layer of a neural network (Rodinia's backprop) with threadIdx.x and threadIdx.y
// swapped: the lanes of a warp read weights of 16 rows. Mended: not swapped. (CuMAPz's benchmark of the same
// name.)
#include "examples/limits/pair.h"

constexpr int width = 16, pitch = width + 1;  // each row of weights begins with one that is not used here

template <bool is_swapped>
__device__ void forward(const float* input, const float* weights, float* sums) {
  __shared__ float node[width], products[width][width];
  const int tx = is_swapped ? threadIdx.y : threadIdx.x, ty = is_swapped ? threadIdx.x : threadIdx.y;
  const int row = width * blockIdx.x + ty;
  if (tx == 0) node[ty] = input[row];
  products[ty][tx] = weights[row * pitch + tx + 1];  // fault
  __syncthreads();
  products[ty][tx] *= node[ty];  // fault
  for (int step = 1; step < width; step *= 2) {
    __syncthreads();
    if (ty % (2 * step) == 0) products[ty][tx] += products[ty + step][tx];  // fault
  }
  if (ty == 0) sums[blockIdx.x * width + tx] = products[0][tx];
}

__global__ void slow(const float* input, const float* weights, float* sums) {
  forward<true>(input, weights, sums);
}
__global__ void mended(const float* input, const float* weights, float* sums) {
  forward<false>(input, weights, sums);
}

int main(int argc, char** argv) {
  const pair::Command command(argc, argv, 1 << 17);  // blocks, of 16 inputs each
  const int blocks = command.size();
  const auto inputs = static_cast<std::size_t>(blocks) * width;
  const example::DeviceArray<float> input(pair::integers<float>(inputs, 16, 23));
  const example::DeviceArray<float> weights(pair::integers<float>(inputs * pitch, 16, 24)), sums(inputs);
  const dim3 block(width, width);
  return command.run(
      "backprop", sums, [&] { slow<<<blocks, block>>>(input.get(), weights.get(), sums.get()); },
      [&] { mended<<<blocks, block>>>(input.get(), weights.get(), sums.get()); });
}
