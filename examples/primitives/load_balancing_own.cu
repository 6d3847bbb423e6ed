// Our load-balancing search, in the steps suggested by `lynxpp quality`: for each position, finds the run
// that contains it, given the beginnings of the runs.
#include "examples/primitives/references.h"

namespace {

using primitives::Device;
using primitives::Value;
using primitives::Values;

constexpr unsigned block_threads = 128;
constexpr unsigned items_per_thread = 8;
constexpr unsigned tile = block_threads * items_per_thread;

/// Returns the number of `offsets` that are at most `item`.
__device__ unsigned upper_bound(const Value* offsets, unsigned count, Value item) {
  unsigned low = 0;
  unsigned high = count;
  while (low < high) {
    const unsigned middle = (low + high) / 2;
    if (offsets[middle] <= item) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}

/// Each thread searches all offsets for its position, in global memory.
__global__ void search_each(const Value* offsets, unsigned runs, Value* out, unsigned size) {
  const unsigned item = blockIdx.x * blockDim.x + threadIdx.x;
  if (item < size) out[item] = upper_bound(offsets, runs, item) - 1;
}

/// A block finds the offsets of its tile once, and its threads search in shared memory.
__global__ void search_tile(const Value* offsets, unsigned runs, Value* out, unsigned size) {
  __shared__ Value near[tile + 1];
  __shared__ unsigned bounds[2];
  const unsigned begin = blockIdx.x * tile;
  const unsigned end = min(begin + tile, size);
  if (threadIdx.x < 2)
    bounds[threadIdx.x] = upper_bound(offsets, runs, threadIdx.x == 0 ? begin : end - 1) - 1;
  __syncthreads();
  const unsigned first = bounds[0];
  const unsigned count = bounds[1] - first + 1;
  for (unsigned i = threadIdx.x; i < count; i += block_threads) near[i] = offsets[first + i];
  __syncthreads();
  for (unsigned item = begin + threadIdx.x; item < end; item += block_threads)
    out[item] = first + upper_bound(near, count, item) - 1;
}

/// Same, but each run of the tile marks its beginning, and a scan of the marks counts the runs that have
/// begun, so no thread searches. Results are written through shared memory, so that stores coalesce.
__global__ void search_marks(const Value* offsets, unsigned runs, Value* out, unsigned size) {
  __shared__ Value marks[tile];
  __shared__ unsigned of_warps[block_threads / 32];
  __shared__ unsigned bounds[2];
  const unsigned begin = blockIdx.x * tile;
  const unsigned end = min(begin + tile, size);
  if (threadIdx.x < 2)
    bounds[threadIdx.x] = upper_bound(offsets, runs, threadIdx.x == 0 ? begin : end - 1) - 1;
  for (unsigned i = threadIdx.x; i < tile; i += block_threads) marks[i] = 0;
  __syncthreads();
  const unsigned first = bounds[0];
  const unsigned count = bounds[1] - first;
  for (unsigned i = threadIdx.x; i < count; i += block_threads) marks[offsets[first + 1 + i] - begin] = 1;
  __syncthreads();
  Value own[items_per_thread];
  Value sum = 0;
  for (unsigned i = 0; i < items_per_thread; ++i) own[i] = sum += marks[threadIdx.x * items_per_thread + i];
  Value before = sum;
  const unsigned lane = threadIdx.x % 32;
  for (unsigned stride = 1; stride < 32; stride *= 2) {
    const Value other = __shfl_up_sync(0xffffffff, before, stride);
    if (lane >= stride) before += other;
  }
  if (lane == 31) of_warps[threadIdx.x / 32] = before;
  __syncthreads();
  before -= sum;
  for (unsigned warp = 0; warp < threadIdx.x / 32; ++warp) before += of_warps[warp];
  for (unsigned i = 0; i < items_per_thread; ++i)
    marks[threadIdx.x * items_per_thread + i] = first + before + own[i];
  __syncthreads();
  for (unsigned item = begin + threadIdx.x; item < end; item += block_threads)
    out[item] = marks[item - begin];
}

template <typename Kernel>
void run_search(Kernel kernel, unsigned items_per_block, const primitives::Problem& problem,
                primitives::Trial& trial) {
  const Device<Value> offsets(problem.offsets);
  const Device<Value> out(problem.values.size());
  const auto size = static_cast<unsigned>(out.size());
  const auto runs = static_cast<unsigned>(offsets.size()) - 1;
  const unsigned blocks = (size + items_per_block - 1) / items_per_block;
  trial.device([&] { kernel<<<blocks, block_threads>>>(offsets.get(), runs, out.get(), size); });
  trial.compare(out.download(), trial.host([&] { return primitives::owners(problem); }));
}

ADD_PRIMITIVE(load_balancing_search, each) { run_search(search_each, block_threads, problem, trial); }
ADD_PRIMITIVE(load_balancing_search, tile) { run_search(search_tile, tile, problem, trial); }
ADD_PRIMITIVE(load_balancing_search, marks) { run_search(search_marks, tile, problem, trial); }

}  // namespace
