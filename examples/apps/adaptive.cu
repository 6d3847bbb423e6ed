// Chooses between two kernels while the program runs, by counts from lynxpp (interposer/lynxpp.h).
//
// Both transpose a matrix; which one transfers fewer sectors of memory depends on its shape and on the cost
// of tiles. The program runs each once with memory_efficiency attached, detaches, and makes all further
// launches with the better one, uninstrumented. Without lynxpp in the process, it uses the first one.
//   adaptive [ROWS [COLUMNS [LAUNCHES]]]
#include <vector>

#include "example.h"
#include "interposer/lynxpp.h"

constexpr int tile = 16;

__global__ void by_element(const float* from, float* to, int rows, int columns) {
  const int column = blockIdx.x * tile + threadIdx.x;
  const int row = blockIdx.y * tile + threadIdx.y;
  if (row < rows && column < columns) to[column * rows + row] = from[row * columns + column];
}

__global__ void by_tile(const float* from, float* to, int rows, int columns) {
  __shared__ float part[tile][tile + 1];
  const int column = blockIdx.x * tile + threadIdx.x;
  const int row = blockIdx.y * tile + threadIdx.y;
  if (row < rows && column < columns) part[threadIdx.y][threadIdx.x] = from[row * columns + column];
  __syncthreads();
  const int to_column = blockIdx.y * tile + threadIdx.x;
  const int to_row = blockIdx.x * tile + threadIdx.y;
  if (to_row < columns && to_column < rows) to[to_row * rows + to_column] = part[threadIdx.x][threadIdx.y];
}

using Kernel = void (*)(const float*, float*, int, int);
constexpr Kernel kernels[] = {by_element, by_tile};
constexpr const char* names[] = {"by_element", "by_tile"};

/// Returns the sectors transferred by launches that have finished since the last call.
double sectors_moved() {
  double sectors = 0;
  lynxpp_poll(
      [](void* context, const lynxpp_result* result) {
        *static_cast<double*>(context) +=
            lynxpp_value_of(result, "load_sectors", 0) + lynxpp_value_of(result, "store_sectors", 0);
      },
      &sectors);
  return sectors;
}

int main(int count, char** arguments) {
  const int rows = count > 1 ? std::atoi(arguments[1]) : 200;
  const int columns = count > 2 ? std::atoi(arguments[2]) : 300;
  const int launches = count > 3 ? std::atoi(arguments[3]) : 10;
  std::vector<float> matrix(static_cast<std::size_t>(rows) * columns);
  for (std::size_t i = 0; i < matrix.size(); ++i) matrix[i] = static_cast<float>(i % 1000);
  example::DeviceArray<float> from(matrix);
  example::DeviceArray<float> to(matrix.size());
  const dim3 grid((columns + tile - 1) / tile, (rows + tile - 1) / tile);
  const auto launch = [&](int which) {
    kernels[which]<<<grid, dim3(tile, tile)>>>(from.get(), to.get(), rows, columns);
    CUDA_CHECK(cudaGetLastError());
  };

  int best = 0;
  if (lynxpp_attach("memory_efficiency") == 1) {
    double least = 0;
    for (int i = 0; i < 2; ++i) {
      launch(i);
      CUDA_CHECK(cudaDeviceSynchronize());
      const double sectors = sectors_moved();
      std::fprintf(stderr, "%s moves %.0f sectors\n", names[i], sectors);
      if (i == 0 || sectors < least) least = sectors, best = i;
    }
    lynxpp_detach();
  }
  std::fprintf(stderr, "%d launches of %s\n", launches, names[best]);
  for (int i = 0; i < launches; ++i) launch(best);
  const std::vector<float> result = to.download();
  for (int row = 0; row < rows; ++row) {
    for (int column = 0; column < columns; ++column) {
      const std::size_t at = static_cast<std::size_t>(column) * rows + row;
      if (result[at] == matrix[static_cast<std::size_t>(row) * columns + column]) continue;
      std::printf("adaptive: WRONG, row %d column %d\n", row, column);
      return 1;
    }
  }
  std::printf("adaptive: ok, checksum 0x%016llx\n", static_cast<unsigned long long>(example::fnv1a(result)));
  return 0;
}
