// Rank r of an MPI program squares 64 (r + 1) numbers, and rank 0 prints the sum over all ranks.
#include <mpi.h>

#include <cstdio>
#include <vector>

__global__ void square(const int* from, int* to, int count) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) to[i] = from[i] * from[i];
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  const int count = 64 * (rank + 1);
  std::vector<int> numbers(count, rank + 1);
  int* from = nullptr;
  int* to = nullptr;
  cudaMalloc(&from, count * sizeof(int));
  cudaMalloc(&to, count * sizeof(int));
  cudaMemcpy(from, numbers.data(), count * sizeof(int), cudaMemcpyHostToDevice);
  square<<<rank + 1, 64>>>(from, to, count);
  cudaMemcpy(numbers.data(), to, count * sizeof(int), cudaMemcpyDeviceToHost);
  long own = 0, sum = 0;
  for (const int each : numbers) own += each;
  MPI_Reduce(&own, &sum, 1, MPI_LONG, MPI_SUM, 0, MPI_COMM_WORLD);
  if (rank == 0) std::printf("%ld\n", sum);
  MPI_Finalize();
  return cudaGetLastError() == cudaSuccess ? 0 : 1;
}
