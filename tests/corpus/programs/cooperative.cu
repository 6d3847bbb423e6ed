// Cooperative groups: tiles, coalesced groups, reductions, asynchronous copies, grids and (from sm_90)
// clusters.
#include <cooperative_groups.h>
#include <cooperative_groups/memcpy_async.h>
#include <cooperative_groups/reduce.h>
#include <cooperative_groups/scan.h>

namespace cg = cooperative_groups;

__global__ void tiles(int* out, const int* in) {
  const auto block = cg::this_thread_block();
  const auto warp = cg::tiled_partition<32>(block);
  const auto quad = cg::tiled_partition<4>(warp);
  int value = in[block.thread_rank()];
  value += warp.shfl_down(value, 3) + quad.shfl_xor(value, 1);
  value = cg::reduce(quad, value, cg::less<int>());
  value += cg::inclusive_scan(warp, value, cg::plus<int>());
  if (warp.any(value == 7) && quad.all(value != 9)) value += quad.ballot(value > 0);
  out[block.thread_rank()] = value + static_cast<int>(warp.match_any(value));
}

__global__ void coalesced(int* count, const int* in) {
  if (in[threadIdx.x] < 5) return;
  const auto active = cg::coalesced_threads();
  if (active.thread_rank() == 0) atomicAdd(count, static_cast<int>(active.size()));
  const auto same = cg::labeled_partition(active, in[threadIdx.x] & 3);
  in[0] == 9 ? atomicMax(count + 1, cg::reduce(same, in[threadIdx.x], cg::plus<int>())) : 0;
}

__global__ void whole_grid(float* data, int rounds) {
  const auto grid = cg::this_grid();
  for (int i = 0; i < rounds; ++i) {
    data[grid.thread_rank()] += data[(grid.thread_rank() + 1) % grid.size()];
    grid.sync();
  }
}

__global__ void copies(float* out, const float* in, int count) {
  extern __shared__ float buffer[];
  const auto block = cg::this_thread_block();
  for (int begin = 0; begin < count; begin += static_cast<int>(block.size())) {
    cg::memcpy_async(block, buffer, in + begin, sizeof(float) * block.size());
    cg::wait(block);
    out[begin + block.thread_rank()] = buffer[block.size() - 1 - block.thread_rank()];
    block.sync();
  }
}

#if __CUDA_ARCH__ >= 900
__global__ void __cluster_dims__(2, 1, 1) clusters(int* out) {
  __shared__ int mine[32];
  const auto cluster = cg::this_cluster();
  mine[threadIdx.x] = static_cast<int>(cluster.block_rank() * 100 + threadIdx.x);
  cluster.sync();
  int* const other = cluster.map_shared_rank(mine, cluster.block_rank() ^ 1U);
  out[cluster.thread_rank()] = other[threadIdx.x];
  atomicAdd(other, 1);
  cluster.sync();
}
#endif
