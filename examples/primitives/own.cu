// Our own implementations, two each of the reduction and the scan.
#include "examples/primitives/references.h"

namespace {

using primitives::Device;
using primitives::Value;
using primitives::Values;

constexpr unsigned block_threads = 256;
constexpr unsigned warp_threads = 32;
constexpr unsigned whole_warp = 0xffffffff;

unsigned blocks_for(std::size_t items) {
  return static_cast<unsigned>((items + block_threads - 1) / block_threads);
}

// ---- reduction -------------------------------------------------------------------------------------------

/// Adds in a tree in shared memory, with a barrier per level.
__global__ void reduce_by_tree(const Value* in, Value* sum, unsigned size) {
  __shared__ Value partial[block_threads];
  Value own = 0;
  for (unsigned i = blockIdx.x * blockDim.x + threadIdx.x; i < size; i += gridDim.x * blockDim.x)
    own += in[i];
  partial[threadIdx.x] = own;
  __syncthreads();
  for (unsigned stride = block_threads / 2; stride > 0; stride /= 2) {
    if (threadIdx.x < stride) partial[threadIdx.x] += partial[threadIdx.x + stride];
    __syncthreads();
  }
  if (threadIdx.x == 0) atomicAdd(sum, partial[0]);
}

/// Adds by shuffles within warps, with one barrier.
__global__ void reduce_by_shuffles(const Value* in, Value* sum, unsigned size) {
  __shared__ Value partial[block_threads / warp_threads];
  Value own = 0;
  for (unsigned i = blockIdx.x * blockDim.x + threadIdx.x; i < size; i += gridDim.x * blockDim.x)
    own += in[i];
  for (unsigned stride = warp_threads / 2; stride > 0; stride /= 2)
    own += __shfl_down_sync(whole_warp, own, stride);
  if (threadIdx.x % warp_threads == 0) partial[threadIdx.x / warp_threads] = own;
  __syncthreads();
  if (threadIdx.x != 0) return;
  Value all = 0;
  for (const Value each : partial) all += each;
  atomicAdd(sum, all);
}

template <typename Kernel>
void run_reduction(Kernel kernel, const primitives::Problem& problem, primitives::Trial& trial) {
  const Device<Value> in(problem.values);
  const Device<Value> out(Values{0});
  const auto size = static_cast<unsigned>(in.size());
  const unsigned blocks = std::min(blocks_for(size), 64u);
  trial.device([&] { kernel<<<blocks, block_threads>>>(in.get(), out.get(), size); });
  trial.compare(out.download(), trial.host([&] { return Values{primitives::sum_of(problem)}; }));
}

ADD_PRIMITIVE(reduction, tree) { run_reduction(reduce_by_tree, problem, trial); }
ADD_PRIMITIVE(reduction, shuffles) { run_reduction(reduce_by_shuffles, problem, trial); }

// ---- scan ------------------------------------------------------------------------------------------------

/// Each level adds the value that is a stride before, in shared memory (Hillis and Steele).
__global__ void scan_by_levels(const Value* in, Value* out, Value* totals, unsigned size) {
  __shared__ Value sums[block_threads];
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  sums[threadIdx.x] = i < size ? in[i] : 0;
  __syncthreads();
  for (unsigned stride = 1; stride < block_threads; stride *= 2) {
    const Value before = threadIdx.x >= stride ? sums[threadIdx.x - stride] : 0;
    __syncthreads();
    sums[threadIdx.x] += before;
    __syncthreads();
  }
  if (i < size) out[i] = sums[threadIdx.x];
  if (threadIdx.x == block_threads - 1) totals[blockIdx.x] = sums[threadIdx.x];
}

/// Scans by shuffles within warps, then with one warp over the warps' sums.
__global__ void scan_by_shuffles(const Value* in, Value* out, Value* totals, unsigned size) {
  __shared__ Value of_warps[block_threads / warp_threads];
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  const unsigned lane = threadIdx.x % warp_threads;
  const unsigned warp = threadIdx.x / warp_threads;
  Value sum = i < size ? in[i] : 0;
  for (unsigned stride = 1; stride < warp_threads; stride *= 2) {
    const Value before = __shfl_up_sync(whole_warp, sum, stride);
    if (lane >= stride) sum += before;
  }
  if (lane == warp_threads - 1) of_warps[warp] = sum;
  __syncthreads();
  for (unsigned other = 0; other < warp; ++other) sum += of_warps[other];
  if (i < size) out[i] = sum;
  if (threadIdx.x == block_threads - 1) totals[blockIdx.x] = sum;
}

__global__ void add_totals(Value* out, const Value* totals, unsigned size) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < size && blockIdx.x > 0) out[i] += totals[blockIdx.x - 1];
}

/// Scans blocks in place, level by level.
template <typename Kernel>
void scan(Kernel kernel, const Value* in, Value* out, Value* totals, unsigned size) {
  const unsigned blocks = blocks_for(size);
  kernel<<<blocks, block_threads>>>(in, out, totals, size);
  if (blocks == 1) return;
  scan(kernel, totals, totals, totals + blocks, blocks);
  add_totals<<<blocks, block_threads>>>(out, totals, size);
}

template <typename Kernel>
void run_scan(Kernel kernel, const primitives::Problem& problem, primitives::Trial& trial) {
  const Device<Value> in(problem.values);
  const Device<Value> out(in.size());
  const Device<Value> totals(2 * std::size_t{blocks_for(in.size())} + 64);
  const auto size = static_cast<unsigned>(in.size());
  trial.device([&] { scan(kernel, in.get(), out.get(), totals.get(), size); });
  trial.compare(out.download(), trial.host([&] { return primitives::inclusive_sums(problem); }));
}

ADD_PRIMITIVE(inclusive_scan, levels) { run_scan(scan_by_levels, problem, trial); }
ADD_PRIMITIVE(inclusive_scan, shuffles) { run_scan(scan_by_shuffles, problem, trial); }

}  // namespace
