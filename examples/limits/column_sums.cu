// Sums of a matrix's columns by one block each, so that the lanes of a warp read different rows. Mended: the
// lanes read consecutive columns.
#include "examples/limits/pair.h"

constexpr int threads = 256, lanes = 32, groups = 32;

__global__ void slow(const unsigned* in, int rows, int columns, unsigned* out) {
  __shared__ unsigned sum;
  if (threadIdx.x == 0) sum = 0;
  __syncthreads();
  unsigned own = 0;
  for (int row = threadIdx.x; row < rows; row += threads) {
    own += in[static_cast<std::size_t>(row) * columns + blockIdx.x];  // fault
  }
  atomicAdd(&sum, own);
  __syncthreads();
  if (threadIdx.x == 0) out[blockIdx.x] = sum;
}

__global__ void mended(const unsigned* in, int rows, int columns, unsigned* out) {
  __shared__ unsigned sums[groups][lanes];
  unsigned own = 0;
  for (int row = threadIdx.y; row < rows; row += groups) {
    own += in[static_cast<std::size_t>(row) * columns + blockIdx.x * lanes + threadIdx.x];
  }
  sums[threadIdx.y][threadIdx.x] = own;
  __syncthreads();
  if (threadIdx.y != 0) return;
  for (int group = 1; group < groups; ++group) own += sums[group][threadIdx.x];
  out[blockIdx.x * lanes + threadIdx.x] = own;
}

int main(int argc, char** argv) {
  const pair::Command command(argc, argv, 8192);  // rows
  const int rows = command.size(threads), columns = std::min(rows, 4096);
  const auto elements = static_cast<std::size_t>(rows) * columns;
  const example::DeviceArray<unsigned> in(pair::integers<unsigned>(elements, 1000, 71)), out(columns);
  return command.run(
      "column_sums", out, [&] { slow<<<columns, threads>>>(in.get(), rows, columns, out.get()); },
      [&] { mended<<<columns / lanes, dim3(lanes, groups)>>>(in.get(), rows, columns, out.get()); });
}
