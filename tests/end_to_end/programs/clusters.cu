// Typical uses of thread block clusters: a histogram in the shared memory of a cluster's blocks
// (cooperative groups, a launch attribute), and numbers passed around a ring of blocks (__cluster_dims__).
// Prints whether they equal the host's results.
#include <cooperative_groups.h>

#include <cstdio>
#include <cstdlib>
#include <vector>

namespace cg = cooperative_groups;

namespace {

constexpr int threads = 128;
constexpr int blocks = 16;
constexpr int bins_of_block = 32;

/// Bin b is in block b / bins_of_block of the cluster.
__global__ void histogram(const unsigned* numbers, int count, unsigned* bins) {
  __shared__ unsigned own[bins_of_block];
  cg::cluster_group cluster = cg::this_cluster();
  for (int i = threadIdx.x; i < bins_of_block; i += blockDim.x) own[i] = 0;
  cluster.sync();
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += gridDim.x * blockDim.x) {
    const unsigned bin = numbers[i] % (bins_of_block * cluster.num_blocks());
    unsigned* const there = cluster.map_shared_rank(own, bin / bins_of_block);
    atomicAdd(there + bin % bins_of_block, 1u);
  }
  cluster.sync();
  for (int i = threadIdx.x; i < bins_of_block; i += blockDim.x)
    atomicAdd(bins + cluster.block_rank() * bins_of_block + i, own[i]);
}

/// Each block adds the value of its predecessor in the ring, once for each block of the cluster.
__global__ void __cluster_dims__(4, 1, 1) ring(unsigned* sums) {
  __shared__ unsigned parts[2][threads];
  cg::cluster_group cluster = cg::this_cluster();
  const unsigned rank = cluster.block_rank();
  parts[0][threadIdx.x] = blockIdx.x * threads + threadIdx.x;
  unsigned sum = 0;
  for (unsigned step = 0; step < cluster.num_blocks(); ++step) {
    cluster.barrier_arrive();
    sum += parts[step % 2][threadIdx.x];
    cluster.barrier_wait();
    const unsigned* const before =
        cluster.map_shared_rank(parts[step % 2], (rank + cluster.num_blocks() - 1) % cluster.num_blocks());
    parts[(step + 1) % 2][threadIdx.x] = before[threadIdx.x];
  }
  cluster.sync();  // no block may exit while another reads its memory
  sums[blockIdx.x * threads + threadIdx.x] = sum;
}

void check(cudaError_t error, const char* call) {
  if (error == cudaSuccess) return;
  std::fprintf(stderr, "%s: %s\n", call, cudaGetErrorString(error));
  std::exit(1);
}
#define CHECK(call) check(call, #call)

}  // namespace

int main() {
  constexpr int count = 10000;
  for (unsigned cluster : {2u, 8u}) {
    std::vector<unsigned> numbers(count);
    std::vector<unsigned> expected(cluster * bins_of_block);
    for (int i = 0; i < count; ++i) {
      numbers[i] = 2654435761u * i >> 7;
      ++expected[numbers[i] % expected.size()];
    }
    unsigned* in = nullptr;
    unsigned* bins = nullptr;
    CHECK(cudaMalloc(&in, count * sizeof *in));
    CHECK(cudaMalloc(&bins, expected.size() * sizeof *bins));
    CHECK(cudaMemcpy(in, numbers.data(), count * sizeof *in, cudaMemcpyHostToDevice));
    CHECK(cudaMemset(bins, 0, expected.size() * sizeof *bins));
    cudaLaunchAttribute attribute{};
    attribute.id = cudaLaunchAttributeClusterDimension;
    attribute.val.clusterDim = {cluster, 1, 1};
    cudaLaunchConfig_t launch{};
    launch.gridDim = blocks;
    launch.blockDim = threads;
    launch.attrs = &attribute;
    launch.numAttrs = 1;
    CHECK(cudaLaunchKernelEx(&launch, histogram, static_cast<const unsigned*>(in), count, bins));
    std::vector<unsigned> found(expected.size());
    CHECK(cudaMemcpy(found.data(), bins, found.size() * sizeof *bins, cudaMemcpyDeviceToHost));
    std::printf("clusters of %u: %s\n", cluster, found == expected ? "right" : "wrong");
    int active = 0;
    int largest = 0;
    CHECK(cudaOccupancyMaxActiveClusters(&active, histogram, &launch));
    CHECK(cudaOccupancyMaxPotentialClusterSize(&largest, histogram, &launch));
    if (active < 1 || largest != 8)
      std::printf("%d active clusters, of %d blocks at most\n", active, largest);
    CHECK(cudaFree(in));
    CHECK(cudaFree(bins));
  }
  unsigned* sums = nullptr;
  CHECK(cudaMalloc(&sums, blocks * threads * sizeof *sums));
  ring<<<blocks, threads>>>(sums);
  CHECK(cudaGetLastError());
  std::vector<unsigned> found(blocks * threads);
  CHECK(cudaMemcpy(found.data(), sums, found.size() * sizeof *sums, cudaMemcpyDeviceToHost));
  bool is_right = true;
  for (int block = 0; block < blocks; ++block) {
    for (int thread = 0; thread < threads; ++thread) {
      unsigned sum = 0;
      for (int member = block / 4 * 4; member < block / 4 * 4 + 4; ++member) sum += member * threads + thread;
      is_right &= found[block * threads + thread] == sum;
    }
  }
  std::printf("ring: %s\n", is_right ? "right" : "wrong");
}
