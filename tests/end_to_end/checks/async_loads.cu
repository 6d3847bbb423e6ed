// Asynchronous loads and the phases of their mbarrier objects: faults, and the same kernels without them
// (`RIGHT`). Kernels are named after their cases. A comment after the second access names the case and its
// finding.
#include <cooperative_groups.h>

#include <cuda/barrier>

#include "tests/end_to_end/checks/async_instructions.h"
#include "tests/end_to_end/checks/cases.h"

// ---------------------------------------------------------------- cp.async

template <bool RIGHT>
__global__ void read_before_wait(int* in, int* out) {
  __shared__ alignas(16) int tile[elements];
  COPY_16(&tile[4 * threadIdx.x], &in[4 * threadIdx.x]);
  COMMIT();
  if (RIGHT) WAIT_GROUP(0);
  __syncthreads();
  const int value = tile[last - threadIdx.x];  // read_before_wait: unfinished operation
  WAIT_GROUP(0);
  out[threadIdx.x] = value;
}

/// The second group may be incomplete.
template <bool RIGHT>
__global__ void one_group_short(int* in, int* out) {
  __shared__ alignas(16) int tile[2 * elements];
  COPY_16(&tile[4 * threadIdx.x], &in[4 * threadIdx.x]);
  COMMIT();
  COPY_16(&tile[elements + 4 * threadIdx.x], &in[4 * threadIdx.x]);
  COMMIT();
  if (RIGHT) {
    WAIT_GROUP(0);
  } else {
    WAIT_GROUP(1);
  }
  __syncthreads();
  out[threadIdx.x] = tile[elements + last - threadIdx.x];  // one_group_short: unfinished operation
}

/// Three stages in flight; the loop's last iterations issue nothing, but still commit a group.
template <bool RIGHT>
__global__ void pipeline(int* in, int* out) {
  __shared__ alignas(16) int stages[3][elements];
  for (int i = 0; i < 2; ++i) {
    COPY_16(&stages[i][4 * threadIdx.x], &in[4 * threadIdx.x]);
    COMMIT();
  }
  int sum = 0;
  for (int i = 0; i < 6; ++i) {
    WAIT_GROUP(1);
    __syncthreads();
    sum += stages[i % 3][last - threadIdx.x];  // pipeline: unfinished operation
    if (i + 2 < 6) COPY_16(&stages[(i + 2) % 3][4 * threadIdx.x], &in[4 * threadIdx.x]);
    if (RIGHT || i + 2 < 6) COMMIT();
  }
  WAIT_ALL();
  out[threadIdx.x] = sum;
}

/// Each thread waits for its own copies only.
template <bool RIGHT>
__global__ void no_barrier_after_wait(int* in, int* out) {
  __shared__ alignas(16) int tile[elements];
  COPY_16(&tile[4 * threadIdx.x], &in[4 * threadIdx.x]);
  COMMIT();
  WAIT_GROUP(0);
  if (RIGHT) __syncthreads();
  const unsigned i = threadIdx.x;
  out[i] = tile[last - i];  // no_barrier_after_wait: unfinished operation, uninitialized read
}

template <bool RIGHT>
__global__ void no_syncwarp_after_wait(int* in, int* out) {
  __shared__ alignas(16) int tile[elements];
  COPY_16(&tile[4 * threadIdx.x], &in[4 * threadIdx.x]);
  WAIT_ALL();
  if (RIGHT) __syncwarp();
  out[threadIdx.x] = tile[4 * (threadIdx.x ^ 1)];  // no_syncwarp_after_wait: unfinished operation
}

template <bool RIGHT>
__global__ void one_lane_waits(int* in, int* out) {
  __shared__ alignas(16) int tile[elements];
  COPY_16(&tile[4 * threadIdx.x], &in[4 * threadIdx.x]);
  COMMIT();
  if (RIGHT || threadIdx.x == 0) WAIT_GROUP(0);
  __syncthreads();
  out[threadIdx.x] = tile[4 * threadIdx.x];  // one_lane_waits: unfinished operation
}

template <bool RIGHT>
__global__ void no_commit(int* in, int* out) {
  __shared__ alignas(16) int tile[elements];
  COPY_16(&tile[4 * threadIdx.x], &in[4 * threadIdx.x]);
  if (RIGHT) COMMIT();
  WAIT_GROUP(0);
  __syncthreads();
  out[threadIdx.x] = tile[last - threadIdx.x];  // no_commit: unfinished operation
}

template <bool RIGHT>
__global__ void store_over_copy(int* in, int* out) {
  __shared__ alignas(16) int tile[elements];
  COPY_16(&tile[4 * threadIdx.x], &in[4 * threadIdx.x]);
  if (RIGHT) WAIT_ALL();
  tile[4 * threadIdx.x] = 7;  // store_over_copy: unfinished operation
  WAIT_ALL();
  out[threadIdx.x] = tile[4 * threadIdx.x];
}

template <bool RIGHT>
__global__ void copy_over_copy(int* in, int* out) {
  __shared__ alignas(16) int tile[elements];
  const unsigned at = 4 * threadIdx.x;
  COPY_16(&tile[at], &in[at]);
  if (RIGHT) WAIT_ALL();
  COPY_16(&tile[at], &in[elements - 4 - at]);  // copy_over_copy: unfinished operation
  WAIT_ALL();
  out[threadIdx.x] = tile[4 * threadIdx.x];
}

/// The next tile is copied while other threads still read this one.
template <bool RIGHT>
__global__ void copy_over_readers(int* in, int* out) {
  __shared__ alignas(16) int tile[elements];
  int sum = 0;
  for (int i = 0; i < 2; ++i) {
    COPY_16(&tile[4 * threadIdx.x], &in[4 * threadIdx.x]);
    WAIT_ALL();
    __syncthreads();
    sum += tile[last - threadIdx.x];  // copy_over_readers: unfinished operation
    if (RIGHT) __syncthreads();
  }
  out[threadIdx.x] = sum;
}

template <bool RIGHT>
__global__ void source_changed(int* in, int* out) {
  __shared__ alignas(16) int tile[elements];
  COPY_16(&tile[4 * threadIdx.x], &in[4 * threadIdx.x]);
  if (RIGHT) WAIT_ALL();
  in[4 * threadIdx.x] = 5;  // source_changed: unfinished operation
  WAIT_ALL();
  out[threadIdx.x] = tile[4 * threadIdx.x];
}

template <bool RIGHT>
__global__ void copies_arrive(int* in, int* out) {
  __shared__ alignas(16) int tile[elements];
  __shared__ std::uint64_t full;
  if (threadIdx.x == 0) INIT(&full, threads);
  __syncthreads();
  COPY_16(&tile[4 * threadIdx.x], &in[4 * threadIdx.x]);
  COPIES_ARRIVE(&full);
  if (RIGHT) WAIT_OBJECT(&full, 0);
  out[threadIdx.x] = tile[last - threadIdx.x];  // copies_arrive: unfinished operation
  WAIT_OBJECT(&full, 0);
}

/// The arrival covers only earlier copies.
template <bool RIGHT>
__global__ void arrives_before_copy(int* in, int* out) {
  __shared__ alignas(16) int tile[elements];
  __shared__ std::uint64_t full;
  if (threadIdx.x == 0) INIT(&full, threads);
  __syncthreads();
  if (!RIGHT) COPIES_ARRIVE(&full);
  COPY_16(&tile[4 * threadIdx.x], &in[4 * threadIdx.x]);
  if (RIGHT) COPIES_ARRIVE(&full);
  WAIT_OBJECT(&full, 0);
  out[threadIdx.x] = tile[last - threadIdx.x];  // arrives_before_copy: unfinished operation
}

/// The bulk store reads what cp.async wrote, in another proxy.
template <bool RIGHT>
__global__ void copied_then_stored(int* in, int* out) {
  __shared__ alignas(128) int tile[elements];
  COPY_16(&tile[4 * threadIdx.x], &in[4 * threadIdx.x]);
  WAIT_ALL();
  if (RIGHT) PROXY_FENCE();
  __syncthreads();
  if (threadIdx.x == 0) {
    BULK_STORE(out, tile, bytes);  // copied_then_stored: missing proxy fence
    BULK_COMMIT();
    BULK_WAIT(0);
  }
}

// ---------------------------------------------------------------- bulk loads

/// Initializes an object and loads `tile`, as thread 0.
#define BEGIN_LOAD()                          \
  __shared__ alignas(128) int tile[elements]; \
  __shared__ std::uint64_t full;              \
  if (threadIdx.x == 0) INIT(&full, 1);       \
  __syncthreads();                            \
  if (threadIdx.x == 0) {                     \
    ARRIVE_EXPECT(&full, bytes);              \
    BULK_LOAD(tile, in, bytes, &full);        \
  }

template <bool RIGHT>
__global__ void read_before_object(int* in, int* out) {
  BEGIN_LOAD();
  if (RIGHT) WAIT_OBJECT(&full, 0);
  const unsigned i = threadIdx.x;
  out[i] = tile[last - i];  // read_before_object: unfinished operation, uninitialized read
  WAIT_OBJECT(&full, 0);
}

/// The phase before the first has parity 1, so the wait returns at once.
template <bool RIGHT>
__global__ void wrong_parity(int* in, int* out) {
  BEGIN_LOAD();
  WAIT_OBJECT(&full, RIGHT ? 0 : 1);
  out[threadIdx.x] = tile[last - threadIdx.x];  // wrong_parity: unfinished operation, uninitialized read
  __syncthreads();
  WAIT_OBJECT(&full, 0);
}

/// The second wait is for the first phase.
template <bool RIGHT>
__global__ void parity_not_flipped(int* in, int* out) {
  BEGIN_LOAD();
  WAIT_OBJECT(&full, 0);
  int sum = tile[threadIdx.x];
  PROXY_FENCE();
  __syncthreads();
  if (threadIdx.x == 0) {
    ARRIVE_EXPECT(&full, bytes);
    BULK_LOAD(tile, in, bytes, &full);
  }
  WAIT_OBJECT(&full, RIGHT ? 1 : 0);
  sum += tile[threadIdx.x];  // parity_not_flipped: unfinished operation
  out[threadIdx.x] = sum;
  WAIT_OBJECT(&full, 1);
}

template <bool RIGHT>
__global__ void one_thread_waits(int* in, int* out) {
  BEGIN_LOAD();
  if (threadIdx.x == 0) WAIT_OBJECT(&full, 0);
  if (RIGHT) __syncthreads();
  out[threadIdx.x] = tile[last - threadIdx.x];  // one_thread_waits: unfinished operation, uninitialized read
}

/// A test that may have failed orders nothing.
template <bool RIGHT>
__global__ void failed_test(int* in, int* out) {
  __shared__ int tile[threads];
  __shared__ std::uint64_t full;
  if (threadIdx.x == 0) INIT(&full, 32);
  __syncthreads();
  if (threadIdx.x < 32) {
    tile[threadIdx.x] = in[threadIdx.x];  // failed_test: race
    ARRIVE(&full);
  } else {
    unsigned done = 0;
    do {
      TEST(done, &full, 0);
    } while (RIGHT && done == 0);
    out[threadIdx.x] = tile[threadIdx.x - 32];  // failed_test: uninitialized read
  }
}

/// Without RIGHT the next tile is loaded as soon as this one has arrived, while other threads read it.
template <bool RIGHT>
__global__ void load_over_readers(int* in, int* out) {
  __shared__ alignas(128) int tile[elements];
  __shared__ std::uint64_t full;
  __shared__ std::uint64_t empty;
  if (threadIdx.x == 0) {
    INIT(&full, 1);
    INIT(&empty, 32);
  }
  __syncthreads();
  if (threadIdx.x == 0) {
    ARRIVE_EXPECT(&full, bytes);
    BULK_LOAD(tile, in, bytes, &full);
    WAIT_OBJECT(&full, 0);
    if (RIGHT) WAIT_OBJECT(&empty, 0);
    ARRIVE_EXPECT(&full, bytes);
    BULK_LOAD(tile, in, bytes, &full);
    WAIT_OBJECT(&empty, 0);
    WAIT_OBJECT(&full, 1);
  } else if (threadIdx.x >= 32) {
    WAIT_OBJECT(&full, 0);
    out[threadIdx.x] = tile[threadIdx.x];  // load_over_readers: unfinished operation
    PROXY_FENCE();
    ARRIVE(&empty);
  }
}

template <bool RIGHT>
__global__ void load_over_store(int* in, int* out) {
  __shared__ alignas(128) int tile[elements];
  __shared__ std::uint64_t full;
  if (threadIdx.x == 0) INIT(&full, 1);
  tile[threadIdx.x] = 1;
  if (RIGHT) PROXY_FENCE();
  __syncthreads();
  if (threadIdx.x == 0) {
    ARRIVE_EXPECT(&full, bytes);
    BULK_LOAD(tile, in, bytes, &full);  // load_over_store: missing proxy fence
  }
  WAIT_OBJECT(&full, 0);
  out[threadIdx.x] = tile[threadIdx.x];
}

template <bool RIGHT>
__global__ void nobody_waits(int* in, int* out) {
  __shared__ alignas(128) int tile[elements];
  __shared__ std::uint64_t full;
  if (threadIdx.x == 0) {
    INIT(&full, 1);
    ARRIVE_EXPECT(&full, bytes);
    BULK_LOAD(tile, in, bytes, &full);  // nobody_waits: copies in flight
    if (RIGHT) WAIT_OBJECT(&full, 0);
  }
  out[threadIdx.x] = 1;
}

// ---------------------------------------------------------------- numbers of bytes and arrivals

template <bool RIGHT>
__global__ void too_few_expected(int* in, int* out) {
  __shared__ alignas(128) int tile[elements];
  __shared__ std::uint64_t full;
  if (threadIdx.x == 0) INIT(&full, 1);
  __syncthreads();
  if (threadIdx.x == 0) {
    ARRIVE_EXPECT(&full, RIGHT ? bytes : bytes / 2);
    BULK_LOAD(tile, in, bytes, &full);
  }
  WAIT_OBJECT(&full, 0);  // too_few_expected: endless barrier
  out[threadIdx.x] = tile[threadIdx.x];
}

template <bool RIGHT>
__global__ void too_many_expected(int* in, int* out) {
  __shared__ alignas(128) int tile[elements];
  __shared__ std::uint64_t full;
  if (threadIdx.x == 0) INIT(&full, 1);
  __syncthreads();
  if (threadIdx.x == 0) {
    ARRIVE_EXPECT(&full, RIGHT ? bytes : 2 * bytes);
    BULK_LOAD(tile, in, bytes, &full);
  }
  WAIT_OBJECT(&full, 0);  // too_many_expected: endless barrier
  out[threadIdx.x] = tile[threadIdx.x];
}

template <bool RIGHT>
__global__ void expects_without_copy(int* in, int* out) {
  __shared__ std::uint64_t full;
  if (threadIdx.x == 0) {
    INIT(&full, 1);
    EXPECT(&full, RIGHT ? 0 : bytes);  // expects_without_copy: byte count mismatch
    ARRIVE(&full);
  }
  out[threadIdx.x] = in[threadIdx.x];
}

/// A thread without work does not arrive.
template <bool RIGHT>
__global__ void arrival_is_missing(int* in, int* out) {
  __shared__ std::uint64_t full;
  if (threadIdx.x == 0) INIT(&full, threads);
  __syncthreads();
  if (RIGHT || threadIdx.x != 5) ARRIVE(&full);
  WAIT_OBJECT(&full, 0);  // arrival_is_missing: endless barrier
  out[threadIdx.x] = in[threadIdx.x];
}

/// The second phase is never begun.
template <bool RIGHT>
__global__ void waits_for_next_phase(int* in, int* out) {
  BEGIN_LOAD();
  WAIT_OBJECT(&full, 0);
  out[threadIdx.x] = tile[threadIdx.x];
  if (!RIGHT) WAIT_OBJECT(&full, 1);  // waits_for_next_phase: endless barrier
}

// ---------------------------------------------------------------- producers and consumers

/// The phase before the first counts as complete, so a producer's first wait is for parity 1.
template <bool RIGHT>
__global__ void producer_waits_first(int* in, int* out) {
  __shared__ alignas(128) int tile[elements];
  __shared__ std::uint64_t full;
  __shared__ std::uint64_t empty;
  if (threadIdx.x == 0) {
    INIT(&full, 1);
    INIT(&empty, 32);
  }
  __syncthreads();
  for (int i = 0; i < 2; ++i) {
    if (threadIdx.x == 0) {
      WAIT_OBJECT(&empty, RIGHT ? i ^ 1 : i);  // producer_waits_first: endless barrier
      ARRIVE_EXPECT(&full, bytes);
      BULK_LOAD(tile, in, bytes, &full);
    } else if (threadIdx.x >= 32) {
      WAIT_OBJECT(&full, i);
      out[threadIdx.x] = tile[threadIdx.x];
      PROXY_FENCE();
      ARRIVE(&empty);
    }
  }
}

/// The consumer releases the buffer before it reads it.
template <bool RIGHT>
__global__ void released_too_early(int* in, int* out) {
  __shared__ alignas(128) int tile[elements];
  __shared__ std::uint64_t full;
  __shared__ std::uint64_t empty;
  if (threadIdx.x == 0) {
    INIT(&full, 1);
    INIT(&empty, 32);
  }
  __syncthreads();
  for (int i = 0; i < 2; ++i) {
    if (threadIdx.x == 0) {
      WAIT_OBJECT(&empty, i ^ 1);
      ARRIVE_EXPECT(&full, bytes);
      BULK_LOAD(tile, in, bytes, &full);  // released_too_early: race
    } else if (threadIdx.x >= 32) {
      WAIT_OBJECT(&full, i);
      if (!RIGHT) ARRIVE(&empty);
      out[threadIdx.x] = tile[threadIdx.x];
      PROXY_FENCE();
      if (RIGHT) ARRIVE(&empty);
    }
  }
}

/// cuda::memcpy_async issues bulk copies without a fence after the reads that precede them. The kernel has
/// one finding, although two lines read.
template <bool RIGHT>
__global__ void library_refill(int* in, int* out) {
  using Barrier = cuda::barrier<cuda::thread_scope_block>;
#pragma nv_diag_suppress static_var_with_dynamic_init
  __shared__ Barrier full;
  __shared__ alignas(16) int tile[elements];
  const auto block = cooperative_groups::this_thread_block();
  if (threadIdx.x == 0) init(&full, threads);
  __syncthreads();
  const cuda::aligned_size_t<16> size(bytes);
  int sum = 0;
  for (int i = 0; i < 3; ++i) {
    cuda::memcpy_async(block, tile, in, size, full);  // library_refill: missing proxy fence
    full.arrive_and_wait();
    sum += tile[threadIdx.x];
    if (sum != 1) sum -= tile[last - threadIdx.x];
    if (RIGHT) PROXY_FENCE();
    __syncthreads();
  }
  out[threadIdx.x] = sum;
}

// ---------------------------------------------------------------- cases

#define RUN(name, blocks)                                          \
  if (cases.has(#name)) name<false><<<blocks, threads>>>(in, out); \
  if (cases.has(#name "_right")) name<true><<<blocks, threads>>>(in, out)
#define PAIR(name) RUN(name, 1)

int main(int count, char** arguments) {
  const Cases cases(count, arguments);
  int* const in = zeroed(elements + 1);
  int* const out = zeroed(elements + 1);
  PAIR(read_before_wait);
  PAIR(one_group_short);
  PAIR(pipeline);
  PAIR(no_barrier_after_wait);
  PAIR(no_syncwarp_after_wait);
  PAIR(one_lane_waits);
  PAIR(no_commit);
  PAIR(store_over_copy);
  PAIR(copy_over_copy);
  PAIR(copy_over_readers);
  PAIR(source_changed);
  PAIR(copies_arrive);
  PAIR(arrives_before_copy);
  PAIR(copied_then_stored);
  PAIR(read_before_object);
  PAIR(wrong_parity);
  PAIR(parity_not_flipped);
  PAIR(one_thread_waits);
  PAIR(failed_test);
  PAIR(load_over_readers);
  PAIR(load_over_store);
  PAIR(nobody_waits);
  PAIR(too_few_expected);
  PAIR(too_many_expected);
  PAIR(expects_without_copy);
  PAIR(arrival_is_missing);
  PAIR(waits_for_next_phase);
  PAIR(producer_waits_first);
  PAIR(released_too_early);
  PAIR(library_refill);
  return cases.finish();
}
