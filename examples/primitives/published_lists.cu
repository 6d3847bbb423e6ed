// Primitives on lists, our own code by published algorithms: scans by sweeps (Blelloch, 1990; CUDPP) and by
// raking (several values per thread; ModernGPU, ArrayFire), a segmented scan with flags (Sengupta et al.,
// 2007; CUDPP), compaction and splits by a scan (CUDPP), ranks and merge paths (Satish et al., 2009; Green et
// al., 2012; ModernGPU), bitonic sort (Batcher, 1968), and private histograms (ArrayFire).
#include "examples/primitives/references.h"

namespace {

using primitives::Device;
using primitives::Problem;
using primitives::Trial;
using primitives::Value;
using primitives::Values;

constexpr unsigned block_threads = 256;
constexpr unsigned warp_threads = 32;
constexpr unsigned items_per_thread = 4;
constexpr unsigned tile = block_threads * items_per_thread;

unsigned parts(std::size_t items, unsigned size) { return static_cast<unsigned>((items + size - 1) / size); }

// ---- scans: exclusive, of tiles, with the tiles' totals ---------------------------------------------------

/// Sums up a tree, then passes the sums down again, two values per thread.
__global__ void scan_by_sweeps(const Value* in, Value* out, Value* totals, unsigned size) {
  constexpr unsigned values = 2 * block_threads;
  __shared__ Value sums[values];
  const unsigned first = blockIdx.x * values;
  for (unsigned i = threadIdx.x; i < values; i += block_threads)
    sums[i] = first + i < size ? in[first + i] : 0;
  unsigned distance = 1;
  for (unsigned nodes = block_threads; nodes > 0; nodes /= 2, distance *= 2) {
    __syncthreads();
    const unsigned right = distance * (2 * threadIdx.x + 2) - 1;
    if (threadIdx.x < nodes) sums[right] += sums[right - distance];
  }
  __syncthreads();
  if (threadIdx.x == 0) {
    totals[blockIdx.x] = sums[values - 1];
    sums[values - 1] = 0;
  }
  for (unsigned nodes = 1; nodes <= block_threads; nodes *= 2) {
    distance /= 2;
    __syncthreads();
    const unsigned right = distance * (2 * threadIdx.x + 2) - 1;
    if (threadIdx.x >= nodes) continue;
    const Value left = sums[right - distance];
    sums[right - distance] = sums[right];
    sums[right] += left;
  }
  __syncthreads();
  for (unsigned i = threadIdx.x; i < values; i += block_threads)
    if (first + i < size) out[first + i] = sums[i];
}

/// Returns the sum of the values of lower threads; `total` is that of all.
__device__ Value sum_before(Value own, Value& total) {
  __shared__ Value of_warps[block_threads / warp_threads];
  const unsigned lane = threadIdx.x % warp_threads, warp = threadIdx.x / warp_threads;
  Value sum = own;
  for (unsigned stride = 1; stride < warp_threads; stride *= 2) {
    const Value before = __shfl_up_sync(0xffffffff, sum, stride);
    if (lane >= stride) sum += before;
  }
  __syncthreads();
  if (lane == warp_threads - 1) of_warps[warp] = sum;
  __syncthreads();
  total = 0;
  for (unsigned other = 0; other < block_threads / warp_threads; ++other) {
    if (other == warp) sum += total;
    total += of_warps[other];
  }
  return sum - own;
}

/// Each thread adds its values, the block scans the sums, and each thread scans its values.
__global__ void scan_by_raking(const Value* in, Value* out, Value* totals, unsigned size) {
  const unsigned first = blockIdx.x * tile + threadIdx.x * items_per_thread;
  Value own[items_per_thread], sum = 0, total = 0;
  for (unsigned i = 0; i < items_per_thread; ++i) sum += own[i] = first + i < size ? in[first + i] : 0;
  Value before = sum_before(sum, total);
  for (unsigned i = 0; i < items_per_thread; ++i) {
    if (first + i < size) out[first + i] = before;
    before += own[i];
  }
  if (threadIdx.x == 0) totals[blockIdx.x] = total;
}

__global__ void add_before(Value* out, const Value* before, unsigned per_block, unsigned size) {
  const unsigned first = blockIdx.x * per_block;
  for (unsigned i = first + threadIdx.x; i < min(first + per_block, size); i += blockDim.x)
    out[i] += before[blockIdx.x];
}

__global__ void add_own(const Value* in, Value* out, unsigned size) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < size) out[i] += in[i];
}

/// An algorithm that scans tiles, applied to tiles, to the tiles' totals, and so on.
struct Scan {
  void (*kernel)(const Value*, Value*, Value*, unsigned);
  unsigned per_block;
  void operator()(const Value* in, Value* out, Value* totals, unsigned size) const {
    const unsigned blocks = parts(size, per_block);
    kernel<<<blocks, block_threads>>>(in, out, totals, size);
    if (blocks == 1) return;
    Value* const before = totals + blocks;
    (*this)(totals, before, before + blocks, blocks);
    add_before<<<blocks, block_threads>>>(out, before, per_block, size);
  }
  /// Room for all totals.
  std::size_t room(std::size_t size) const { return 4 * std::size_t{parts(size, per_block)} + 64; }
};
constexpr Scan sweeps{scan_by_sweeps, 2 * block_threads}, raking{scan_by_raking, tile};

void run_scan(const Scan& scan, bool is_inclusive, const Problem& problem, Trial& trial) {
  const Device<Value> in(problem.values), out(in.size()), totals(scan.room(in.size()));
  const auto size = static_cast<unsigned>(in.size());
  trial.device([&] {
    scan(in.get(), out.get(), totals.get(), size);
    if (is_inclusive) add_own<<<parts(size, block_threads), block_threads>>>(in.get(), out.get(), size);
  });
  trial.compare(out.download(), trial.host([&] {
    return is_inclusive ? primitives::inclusive_sums(problem) : primitives::exclusive_sums(problem);
  }));
}
ADD_PRIMITIVE(exclusive_scan, sweeps) { run_scan(sweeps, false, problem, trial); }
ADD_PRIMITIVE(exclusive_scan, raking) { run_scan(raking, false, problem, trial); }
ADD_PRIMITIVE(inclusive_scan, sweeps) { run_scan(sweeps, true, problem, trial); }
ADD_PRIMITIVE(inclusive_scan, raking) { run_scan(raking, true, problem, trial); }

/// Scans a tile; a sum with a set flag has reached the beginning of its segment.
__global__ void scan_by_flags(const Value* in, const Value* keys, Value* out, Value* totals, Value* ends,
                              unsigned size) {
  __shared__ Value sums[block_threads], flags[block_threads];
  const unsigned i = blockIdx.x * block_threads + threadIdx.x;
  sums[threadIdx.x] = i < size ? in[i] : 0;
  flags[threadIdx.x] = i < size && (i == 0 || keys[i] != keys[i - 1]) ? 1 : 0;
  for (unsigned stride = 1; stride < block_threads; stride *= 2) {
    __syncthreads();
    const bool adds = threadIdx.x >= stride && flags[threadIdx.x] == 0;
    const Value before = adds ? sums[threadIdx.x - stride] : 0;
    const Value flag = adds ? flags[threadIdx.x - stride] : 0;
    __syncthreads();
    sums[threadIdx.x] += before;
    flags[threadIdx.x] |= flag;
  }
  __syncthreads();
  if (i < size) out[i] = sums[threadIdx.x];
  if (threadIdx.x != block_threads - 1) return;
  totals[blockIdx.x] = sums[threadIdx.x];
  ends[blockIdx.x] = flags[threadIdx.x];
}

/// Adds what earlier tiles hold of the tile's first segment.
__global__ void add_flagged(const Value* keys, Value* out, const Value* totals, const Value* ends,
                            unsigned size) {
  const unsigned first = blockIdx.x * block_threads, i = first + threadIdx.x;
  if (blockIdx.x == 0 || i >= size || keys[i] != keys[first - 1]) return;
  Value before = 0;
  for (unsigned block = blockIdx.x; block-- > 0;) {
    before += totals[block];
    if (ends[block] != 0) break;
  }
  out[i] += before;
}

ADD_PRIMITIVE(scan_by_key, flags) {
  const Device<Value> in(problem.values), keys(problem.keys), out(in.size());
  const auto size = static_cast<unsigned>(in.size());
  const unsigned blocks = parts(size, block_threads);
  const Device<Value> totals(blocks), ends(blocks);
  trial.device([&] {
    scan_by_flags<<<blocks, block_threads>>>(in.get(), keys.get(), out.get(), totals.get(), ends.get(), size);
    add_flagged<<<blocks, block_threads>>>(keys.get(), out.get(), totals.get(), ends.get(), size);
  });
  trial.compare(out.download(), trial.host([&] { return primitives::sums_within_runs(problem); }));
}

// ---- segmented reduction ----------------------------------------------------------------------------------

/// `threads` threads, 1 or a warp, add a segment.
template <unsigned threads>
__global__ void reduce_segments(const Value* in, const Value* offsets, Value* out, unsigned segments) {
  const unsigned segment = (blockIdx.x * blockDim.x + threadIdx.x) / threads;
  if (segment >= segments) return;
  Value sum = 0;
  for (unsigned i = offsets[segment] + threadIdx.x % threads; i < offsets[segment + 1]; i += threads)
    sum += in[i];
  for (unsigned stride = threads / 2; stride > 0; stride /= 2)
    sum += __shfl_down_sync(0xffffffff, sum, stride);
  if (threadIdx.x % threads == 0) out[segment] = sum;
}

template <unsigned threads>
void run_segments(const Problem& problem, Trial& trial) {
  const Device<Value> in(problem.values), offsets(problem.offsets), out(problem.offsets.size() - 1);
  const auto segments = static_cast<unsigned>(out.size());
  trial.device([&] {
    reduce_segments<threads><<<parts(std::size_t{segments} * threads, block_threads), block_threads>>>(
        in.get(), offsets.get(), out.get(), segments);
  });
  trial.compare(out.download(), trial.host([&] { return primitives::sums_of_runs(problem); }));
}
ADD_PRIMITIVE(segmented_reduction, threads) { run_segments<1>(problem, trial); }
ADD_PRIMITIVE(segmented_reduction, warps) { run_segments<warp_threads>(problem, trial); }

// ---- compaction, partition, unique, split -----------------------------------------------------------------

__global__ void flag_heads(const Value* keys, Value* flags, unsigned size) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < size) flags[i] = i == 0 || keys[i] != keys[i - 1] ? 1 : 0;
}
__global__ void flag_zeros(const Value* in, Value* flags, unsigned bit, unsigned size) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < size) flags[i] = 1 - (in[i] >> bit & 1);
}

/// `positions` is the exclusive scan of the flags; the others follow the flagged values if wanted.
__global__ void place(const Value* in, const Value* flags, const Value* positions, Value* out,
                      bool with_others, unsigned size) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= size) return;
  const Value chosen = positions[size - 1] + flags[size - 1];
  if (flags[i] != 0) {
    out[positions[i]] = in[i];
  } else if (with_others) {
    out[chosen + i - positions[i]] = in[i];
  }
}

/// Splits by flags that are on the device; used by all of the following.
struct Splitter {
  explicit Splitter(std::size_t size) : positions(size), totals(raking.room(size)) {}
  void operator()(const Value* in, const Value* flags, Value* out, bool with_others) const {
    const auto size = static_cast<unsigned>(positions.size());
    raking(flags, positions.get(), totals.get(), size);
    place<<<parts(size, block_threads), block_threads>>>(in, flags, positions.get(), out, with_others, size);
  }
  Device<Value> positions, totals;
};

void run_split(bool with_others, const Problem& problem, Trial& trial) {
  const Device<Value> in(problem.values), flags(problem.flags), out(in.size());
  const Splitter split(in.size());
  trial.device([&] { split(in.get(), flags.get(), out.get(), with_others); });
  const Values wanted = trial.host([&] { return primitives::flagged(problem, with_others); });
  trial.compare(out.download(wanted.size()), wanted);
}
ADD_PRIMITIVE(compaction, scan) { run_split(false, problem, trial); }
ADD_PRIMITIVE(partition, scan) { run_split(true, problem, trial); }

/// Counts the flagged values of each warp's stretch, or stores them at their positions, by ballots.
__global__ void compact_by_ballots(const Value* in, const Value* flags, Value* counts, Value* out,
                                   unsigned size) {
  const unsigned warp = (blockIdx.x * blockDim.x + threadIdx.x) / warp_threads;
  const unsigned lane = threadIdx.x % warp_threads, first = warp * warp_threads * items_per_thread;
  if (first >= size) return;
  Value next = out == nullptr ? 0 : counts[warp];
  for (unsigned at = first + lane; at - lane < first + warp_threads * items_per_thread; at += warp_threads) {
    const bool is_chosen = at < size && flags[at] != 0;
    const unsigned chosen = __ballot_sync(0xffffffff, is_chosen);
    if (out != nullptr && is_chosen) out[next + __popc(chosen & ((1u << lane) - 1))] = in[at];
    next += __popc(chosen);
  }
  if (out == nullptr && lane == 0) counts[warp] = next;
}

ADD_PRIMITIVE(compaction, ballots) {
  const Device<Value> in(problem.values), flags(problem.flags), out(in.size());
  const auto size = static_cast<unsigned>(in.size());
  const unsigned warps = parts(size, warp_threads * items_per_thread);
  const unsigned blocks = parts(std::size_t{warps} * warp_threads, block_threads);
  const Device<Value> counts(warps), before(warps), totals(raking.room(warps));
  trial.device([&] {
    compact_by_ballots<<<blocks, block_threads>>>(in.get(), flags.get(), counts.get(), nullptr, size);
    raking(counts.get(), before.get(), totals.get(), warps);
    compact_by_ballots<<<blocks, block_threads>>>(in.get(), flags.get(), before.get(), out.get(), size);
  });
  const Values wanted = trial.host([&] { return primitives::flagged(problem, false); });
  trial.compare(out.download(wanted.size()), wanted);
}

ADD_PRIMITIVE(unique, scan) {
  const Device<Value> in(problem.keys), flags(in.size()), out(in.size());
  const Splitter split(in.size());
  const auto size = static_cast<unsigned>(in.size());
  trial.device([&] {
    flag_heads<<<parts(size, block_threads), block_threads>>>(in.get(), flags.get(), size);
    split(in.get(), flags.get(), out.get(), false);
  });
  const Values wanted = trial.host([&] { return primitives::unique_keys(problem); });
  trial.compare(out.download(wanted.size()), wanted);
}

/// Splits by one bit after the other, the lowest first; values have ten bits.
ADD_PRIMITIVE(radix_sort, splits) {
  constexpr unsigned bits = 10;
  const Device<Value> in(problem.values), flags(in.size()), out(in.size());
  const Splitter split(in.size());
  const auto size = static_cast<unsigned>(in.size());
  trial.device([&] {
    for (unsigned bit = 0; bit < bits; ++bit) {
      Value* const from = bit % 2 == 0 ? in.get() : out.get();
      flag_zeros<<<parts(size, block_threads), block_threads>>>(from, flags.get(), bit, size);
      split(from, flags.get(), bit % 2 == 0 ? out.get() : in.get(), true);
    }
  });
  trial.compare(in.download(), trial.host([&] { return primitives::sorted_values(problem); }));
}

// ---- merging and merge sorts ------------------------------------------------------------------------------

/// Returns how many of the first `diagonal` merged values are from `a`; equal values of `a` come first.
__device__ unsigned path(const Value* a, unsigned of_a, const Value* b, unsigned of_b, unsigned diagonal) {
  unsigned low = diagonal > of_b ? diagonal - of_b : 0, high = min(diagonal, of_a);
  while (low < high) {
    const unsigned middle = (low + high) / 2;
    if (a[middle] <= b[diagonal - 1 - middle]) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}

/// Merges neighbouring sorted stretches of `width` values; each thread finds its path and merges some values.
__global__ void merge_paths(const Value* in, Value* out, unsigned width, unsigned size) {
  const unsigned first = (blockIdx.x * blockDim.x + threadIdx.x) * items_per_thread;
  if (first >= size) return;
  const unsigned begin = first / (2 * width) * (2 * width);
  const unsigned of_a = min(width, size - begin), of_b = min(width, size - begin - of_a);
  const Value *a = in + begin, *b = a + of_a;
  unsigned i = path(a, of_a, b, of_b, first - begin), k = first - begin - i;
  for (unsigned at = first; at < min(first + items_per_thread, size); ++at)
    out[at] = k >= of_b || (i < of_a && a[i] <= b[k]) ? a[i++] : b[k++];
}

/// Each value's position is its own plus its rank in the other list, by binary search.
__global__ void merge_ranks(const Value* in, Value* out, unsigned width, unsigned size) {
  const unsigned at = blockIdx.x * blockDim.x + threadIdx.x;
  if (at >= size) return;
  const unsigned begin = at / (2 * width) * (2 * width), of_a = min(width, size - begin);
  const bool is_a = at - begin < of_a;
  const unsigned other = is_a ? begin + of_a : begin;
  unsigned low = 0, high = is_a ? min(width, size - other) : of_a;
  const Value own = in[at];
  while (low < high) {
    const unsigned middle = (low + high) / 2;
    const Value each = in[other + middle];
    if (is_a ? each < own : each <= own) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  out[is_a ? at + low : at - of_a + low] = own;
}

using Merge = void (*)(const Value*, Value*, unsigned, unsigned);

void run_merge(Merge kernel, unsigned per_block, const Problem& problem, Trial& trial) {
  Values both = problem.sorted_a;
  both.insert(both.end(), problem.sorted_b.begin(), problem.sorted_b.end());
  const Device<Value> in(both), out(both.size());
  const auto size = static_cast<unsigned>(both.size());
  trial.device(
      [&] { kernel<<<parts(size, per_block), block_threads>>>(in.get(), out.get(), size / 2, size); });
  trial.compare(out.download(), trial.host([&] {
    std::sort(both.begin(), both.end());
    return both;
  }));
}
ADD_PRIMITIVE(merge, paths) { run_merge(merge_paths, tile, problem, trial); }
ADD_PRIMITIVE(merge, ranks) { run_merge(merge_ranks, block_threads, problem, trial); }

/// Sorts two values per thread in shared memory by bitonic merges.
__global__ void sort_tiles(Value* values, unsigned size) {
  constexpr unsigned width = 2 * block_threads;
  __shared__ Value sorted[width];
  const unsigned first = blockIdx.x * width;
  for (unsigned i = threadIdx.x; i < width; i += block_threads)
    sorted[i] = first + i < size ? values[first + i] : ~0u;
  for (unsigned run = 2; run <= width; run *= 2) {
    for (unsigned stride = run / 2; stride > 0; stride /= 2) {
      __syncthreads();
      const unsigned low = 2 * threadIdx.x - threadIdx.x % stride;
      const bool ascends = (low & run) == 0 || run == width;
      const Value a = sorted[low], b = sorted[low + stride];
      if ((a > b) != ascends) continue;
      sorted[low] = b;
      sorted[low + stride] = a;
    }
  }
  __syncthreads();
  for (unsigned i = threadIdx.x; i < width; i += block_threads)
    if (first + i < size) values[first + i] = sorted[i];
}

void run_sort(Merge kernel, unsigned per_block, const Problem& problem, Trial& trial) {
  const Device<Value> values(problem.values), other(values.size());
  const auto size = static_cast<unsigned>(values.size());
  Value *from = values.get(), *to = other.get();
  trial.device([&] {
    sort_tiles<<<parts(size, 2 * block_threads), block_threads>>>(from, size);
    for (unsigned width = 2 * block_threads; width < size; width *= 2, std::swap(from, to))
      kernel<<<parts(size, per_block), block_threads>>>(from, to, width, size);
  });
  trial.compare((from == values.get() ? values : other).download(),
                trial.host([&] { return primitives::sorted_values(problem); }));
}
ADD_PRIMITIVE(merge_sort, paths) { run_sort(merge_paths, tile, problem, trial); }
ADD_PRIMITIVE(merge_sort, ranks) { run_sort(merge_ranks, block_threads, problem, trial); }

// ---- histogram --------------------------------------------------------------------------------------------

constexpr unsigned bins = 100, values_per_bin = 10;

__device__ void count_all(const Value* in, Value* counts, unsigned size) {
  for (unsigned i = blockIdx.x * blockDim.x + threadIdx.x; i < size; i += gridDim.x * blockDim.x)
    atomicAdd(&counts[in[i] / values_per_bin], 1u);
}

/// Counts in `copies` histograms in each block's shared memory; 0: in the result.
template <unsigned copies>
__global__ void count_bins(const Value* in, Value* out, unsigned size) {
  if constexpr (copies == 0) {
    count_all(in, out, size);
  } else {
    __shared__ Value own[copies * bins];
    for (unsigned i = threadIdx.x; i < copies * bins; i += blockDim.x) own[i] = 0;
    __syncthreads();
    count_all(in, own + threadIdx.x / warp_threads % copies * bins, size);
    __syncthreads();
    for (unsigned i = threadIdx.x; i < bins; i += blockDim.x) {
      Value sum = 0;
      for (unsigned copy = 0; copy < copies; ++copy) sum += own[copy * bins + i];
      atomicAdd(&out[i], sum);
    }
  }
}

template <unsigned copies>
void run_histogram(const Problem& problem, Trial& trial) {
  const Device<Value> in(problem.values), out(Values(bins, 0));
  const auto size = static_cast<unsigned>(in.size());
  trial.device([&] {
    count_bins<copies>
        <<<std::min(parts(size, block_threads), 64u), block_threads>>>(in.get(), out.get(), size);
  });
  trial.compare(out.download(), trial.host([&] {
    Values wanted(bins);
    for (const Value value : problem.values) ++wanted[value / values_per_bin];
    return wanted;
  }));
}
ADD_PRIMITIVE(histogram, global) { run_histogram<0>(problem, trial); }
ADD_PRIMITIVE(histogram, shared) { run_histogram<1>(problem, trial); }
ADD_PRIMITIVE(histogram, copies) { run_histogram<8>(problem, trial); }

}  // namespace
