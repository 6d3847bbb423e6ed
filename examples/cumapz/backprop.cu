// backprop: the forward pass of a neural network layer, as in Rodinia's bpnn_layerforward: each block
// multiplies 16 inputs by their weights and adds them up for each of 16 outputs. Unchanged and with
// threadIdx.x and threadIdx.y swapped (the CuMAPz paper's section 6.1).
#include "examples/cumapz/benchmark.h"

constexpr int hidden = 16;

template <int switched>
__global__ void backprop(const float* input, float* weights, float* partial) {
  __shared__ float node[16], matrix[16 * 16];
  const int tx = switched != 0 ? threadIdx.y : threadIdx.x, ty = switched != 0 ? threadIdx.x : threadIdx.y;
  const int index = (hidden + 1) * 16 * blockIdx.y + (hidden + 1) * ty + tx + 1 + (hidden + 1);
  const int place = ty * 16 + tx;
  if (tx == 0) benchmark::write(node[ty], input[16 * blockIdx.y + ty + 1]);
  benchmark::write(matrix[place], weights[index]);
  __syncthreads();
  benchmark::write(matrix[place], benchmark::read(matrix[place]) * benchmark::read(node[ty]));
  __syncthreads();
  for (int step = 2; step <= 16; step += step) {
    if (ty % step == 0)
      benchmark::write(matrix[place],
                       benchmark::read(matrix[place]) + benchmark::read(matrix[place + step / 2 * 16]));
    __syncthreads();
  }
  weights[index] = benchmark::read(matrix[place]);
  if (tx == 0) partial[blockIdx.y * hidden + ty] = benchmark::read(matrix[tx * 16 + ty]);
}

int main(int argc, char** argv) {
  const benchmark::Parameters parameters(argc, argv, {{"switched", 0, 0, 1}, {"INPUTS", 256, 16, 1 << 20}});
  const int blocks = parameters["INPUTS"] / 16;
  const std::vector<float> input =
      benchmark::small_integers(static_cast<std::size_t>(blocks) * 16 + 1, 16, 11);
  const std::vector<float> before =
      benchmark::small_integers((static_cast<std::size_t>(blocks) * 16 + 1) * (hidden + 1), 16, 12);
  const example::DeviceArray<float> device_input(input);
  const example::DeviceArray<float> weights(before), partial(static_cast<std::size_t>(blocks) * hidden);
  std::vector<float> sums, products;
  benchmark::with_constant<2>(parameters["switched"], [&](auto switched) {
    const auto launch = [&] {
      backprop<switched.value>
          <<<dim3(1, blocks), dim3(16, 16)>>>(device_input.get(), weights.get(), partial.get());
    };
    launch();
    CUDA_CHECK(cudaGetLastError());
    sums = partial.download();
    products = weights.download();
    benchmark::measure("backprop", launch);
  });
  // Row r of the inputs, from 1 on, has its hidden weights after its first one; rows add up the rows below,
  // as in a tree of the block's 16 rows.
  const auto sum_of = [&](std::size_t first, std::size_t rows, std::size_t output) {
    float sum = 0;
    for (std::size_t row = first; row < first + rows; ++row)
      sum += input[row + 1] * before[(row + 1) * (hidden + 1) + output + 1];
    return sum;
  };
  bool right = benchmark::check("partial", sums, 16,
                                [&](std::size_t i) { return sum_of(i / hidden * 16, 16, i % hidden); });
  right = benchmark::check("weights", products, 16,
                           [&](std::size_t i) {
                             const std::size_t row = i / (hidden + 1), output = i % (hidden + 1);
                             if (row == 0 || output == 0) return before[i];
                             const std::size_t of_block = (row - 1) % 16;
                             return sum_of(row - 1, of_block == 0 ? 16 : of_block & -of_block, output - 1);
                           }) &&
          right;
  std::printf("backprop: %s\n", parameters.text().c_str());
  return example::finish("backprop", right, example::fnv1a(products, example::fnv1a(sums)));
}
