// CUB inside kernels: block-wide and warp-wide algorithms with their own shared memory.
#include <cub/cub.cuh>

template <int Threads, int Items>
__global__ void __launch_bounds__(Threads) sort_tiles(int* data) {
  using Load = cub::BlockLoad<int, Threads, Items, cub::BLOCK_LOAD_WARP_TRANSPOSE>;
  using Sort = cub::BlockRadixSort<int, Threads, Items>;
  using Store = cub::BlockStore<int, Threads, Items, cub::BLOCK_STORE_TRANSPOSE>;
  __shared__ union {
    typename Load::TempStorage load;
    typename Sort::TempStorage sort;
    typename Store::TempStorage store;
  } memory;
  int items[Items];
  int* tile = data + blockIdx.x * Threads * Items;
  Load(memory.load).Load(tile, items);
  __syncthreads();
  Sort(memory.sort).Sort(items);
  __syncthreads();
  Store(memory.store).Store(tile, items);
}

__global__ void warp_sums(const float* in, float* out) {
  using Scan = cub::WarpScan<float>;
  using Reduce = cub::WarpReduce<float, 16>;
  __shared__ Scan::TempStorage scan[8];
  __shared__ Reduce::TempStorage reduce[16];
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  float sum = 0;
  float prefix = 0;
  Scan(scan[threadIdx.x / 32]).InclusiveSum(in[i], prefix);
  sum = Reduce(reduce[threadIdx.x / 16]).Sum(prefix);
  out[i] = prefix + sum;
}

template __global__ void sort_tiles<128, 4>(int*);
template __global__ void sort_tiles<64, 11>(int*);
