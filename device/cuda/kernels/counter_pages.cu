// Summarises counters where they are: one warp for each page of 16,384 (support/counter_page.h).
//
// counter_pages.ptx is this file compiled for compute_75, with '.version 6.4' and '.target sm_70':
//   nvcc -arch=compute_75 -ptx
#include <cstdint>

struct Page {
  unsigned long long sum;
  unsigned least, greatest, zeros, ones, first, last, sectors, inner_sectors, leading, trailing, stride,
      unused;
  unsigned by_bits[32];
};

constexpr unsigned lanes = 0xffffffffu, counters_of_page = 16384, warps = 8, per_sector = 8;

__device__ unsigned divisor(unsigned a, unsigned b) {
  while (b != 0) {
    const unsigned rest = a % b;
    a = b;
    b = rest;
  }
  return a;
}

__device__ unsigned sectors_of(unsigned counters) { return (counters + per_sector - 1) / per_sector; }

/// The state of a lane; sums and extremes are of the lane's own counters.
struct Lane {
  const unsigned lane;
  unsigned* const bins;
  unsigned long long sum = 0;
  unsigned least = lanes, greatest = 0, zeros = 0, ones = 0, sectors = 0, inner_sectors = 0, stride = 0;
  // Equal in all lanes.
  unsigned first = counters_of_page, last = counters_of_page, leading = 0, run = 0;
  bool is_leading = true, is_dense = false;

  __device__ Lane(unsigned number, unsigned* of_warp) : lane(number), bins(of_warp) {}

  /// Ends the run of used counters that has `run` counters so far.
  __device__ void close(unsigned length) {
    if (is_leading) {
      leading = length;
    } else if (lane == 0) {
      inner_sectors += sectors_of(length);
    }
    is_leading = false;
    run = 0;
  }

  __device__ void add_value(unsigned counter, unsigned mask) {
    sum += counter;
    greatest = max(greatest, counter);
    ones += counter == 1;
    if (lane < 32 / per_sector) sectors += (mask >> per_sector * lane & 255) != 0;
    const unsigned bin = counter == 0 ? 32 : 31 - __clz(counter), leader = __ffs(mask) - 1;
    if (__ballot_sync(lanes, bin == __shfl_sync(lanes, bin, leader)) == mask) {
      if (lane == leader) bins[bin] += __popc(mask);
    } else if (bin < 32) {
      atomicAdd(&bins[bin], 1u);
    }
    __syncwarp();
  }

  __device__ void add_positions(unsigned at, unsigned mask) {
    if (!is_dense) {
      const unsigned before = mask & ((1u << lane) - 1);
      if ((mask >> lane & 1) != 0)
        stride = divisor(stride, before != 0                ? lane - (31 - __clz(before))
                                 : last != counters_of_page ? at + lane - last
                                                            : 0);
      is_dense = __any_sync(lanes, stride == 1);
    }
    if (first == counters_of_page) first = at + __ffs(mask) - 1;
    last = at + 31 - __clz(mask);
  }

  __device__ void add_runs(unsigned mask) {
    if (mask == lanes) {
      run += 32;
      return;
    }
    close(run + __ffs(~mask) - 1);
    if (lane != 0 && (mask >> (lane - 1) & 3) == 2) {  // the first of a run
      const unsigned length = __ffs(~(mask >> lane)) - 1;
      if (lane + length < 32) inner_sectors += sectors_of(length);
    }
    run = __clz(~mask);
  }

  __device__ void combine() {
    for (unsigned other = 16; other != 0; other /= 2) {
      sum += __shfl_xor_sync(lanes, sum, other);
      least = min(least, __shfl_xor_sync(lanes, least, other));
      greatest = max(greatest, __shfl_xor_sync(lanes, greatest, other));
      ones += __shfl_xor_sync(lanes, ones, other);
      sectors += __shfl_xor_sync(lanes, sectors, other);
      inner_sectors += __shfl_xor_sync(lanes, inner_sectors, other);
      stride = divisor(stride, __shfl_xor_sync(lanes, stride, other));
    }
    if (is_leading) leading = run;
  }

  __device__ void store(Page& page) const {
    page.by_bits[lane] = bins[lane];
    if (lane != 0) return;
    page.sum = sum;
    page.least = least;
    page.greatest = greatest;
    page.zeros = zeros;
    page.ones = ones;
    page.first = first;
    page.last = last;
    page.sectors = sectors;
    page.inner_sectors = inner_sectors;
    page.leading = leading;
    page.trailing = run;
    page.stride = is_dense ? 1 : stride;
    page.unused = 0;
  }
};

extern "C" __global__ void __launch_bounds__(256)
    lynxpp_counter_pages(const unsigned* counters, Page* pages, unsigned count) {
  __shared__ unsigned bins[warps][32];
  const unsigned lane = threadIdx.x % 32, warp = threadIdx.x / 32, page = blockIdx.x * warps + warp;
  bins[warp][lane] = 0;
  __syncwarp();
  if (page >= count) return;
  const unsigned* const from = counters + static_cast<unsigned long long>(page) * counters_of_page;
  Lane summary(lane, bins[warp]);
  for (unsigned at = 0; at < counters_of_page; at += 32) {
    const unsigned counter = from[at + lane];
    const unsigned mask = __ballot_sync(lanes, counter != 0);
    summary.least = min(summary.least, counter);
    summary.zeros += 32 - __popc(mask);
    if (mask == 0) {
      summary.close(summary.run);
      continue;
    }
    summary.add_value(counter, mask);
    summary.add_positions(at, mask);
    summary.add_runs(mask);
  }
  summary.combine();
  summary.store(pages[page]);
}
