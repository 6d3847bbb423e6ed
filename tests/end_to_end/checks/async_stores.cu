// Asynchronous stores, mbarrier objects and clusters: faults, and the same kernels without them (`RIGHT`).
// Kernels are named after their cases. A comment after the second access names the case and its finding.
#include "tests/end_to_end/checks/async_instructions.h"
#include "tests/end_to_end/checks/cases.h"

// ---------------------------------------------------------------- bulk stores

#define END_STORE() \
  BULK_COMMIT();    \
  BULK_WAIT(0)

template <bool RIGHT>
__global__ void no_proxy_fence(int* in, int* out) {
  __shared__ alignas(128) int tile[threads];
  tile[threadIdx.x] = in[threadIdx.x];
  if (RIGHT) PROXY_FENCE();
  __syncthreads();
  if (threadIdx.x == 0) {
    BULK_STORE(out, tile, 4 * threads);  // no_proxy_fence: missing proxy fence
    END_STORE();
  }
}

/// A memory fence does not order the proxies.
template <bool RIGHT>
__global__ void memory_fence_only(int* in, int* out) {
  __shared__ alignas(128) int tile[threads];
  tile[threadIdx.x] = in[threadIdx.x];
  __threadfence();
  if (RIGHT) PROXY_FENCE();
  __syncthreads();
  if (threadIdx.x == 0) {
    BULK_STORE(out, tile, 4 * threads);  // memory_fence_only: missing proxy fence
    END_STORE();
  }
}

template <bool RIGHT>
__global__ void one_lane_fences(int* in, int* out) {
  __shared__ alignas(128) int tile[threads];
  tile[threadIdx.x] = in[threadIdx.x];
  if (RIGHT || threadIdx.x % 32 == 0) PROXY_FENCE();
  __syncthreads();
  if (threadIdx.x == 0) {
    BULK_STORE(out, tile, 4 * threads);  // one_lane_fences: missing proxy fence
    END_STORE();
  }
}

template <bool RIGHT>
__global__ void fence_before_write(int* in, int* out) {
  __shared__ alignas(128) int tile[threads];
  if (!RIGHT) PROXY_FENCE();
  tile[threadIdx.x] = in[threadIdx.x];
  if (RIGHT) PROXY_FENCE();
  __syncthreads();
  if (threadIdx.x == 0) {
    BULK_STORE(out, tile, 4 * threads);  // fence_before_write: missing proxy fence
    END_STORE();
  }
}

/// The loop that holds the fence is not executed.
template <bool RIGHT>
__global__ void fence_in_empty_loop(int* in, int* out) {
  __shared__ alignas(128) int tile[threads];
  tile[threadIdx.x] = 7;
  for (int i = 0; i < in[elements] + (RIGHT ? 2 : 0); ++i) {
    tile[threadIdx.x] += i;
    PROXY_FENCE();
  }
  __syncthreads();
  if (threadIdx.x == 0) {
    BULK_STORE(out, tile, 4 * threads);  // fence_in_empty_loop: missing proxy fence
    END_STORE();
  }
}

template <bool RIGHT>
__global__ void reduction_without_fence(int* in, int* out) {
  __shared__ alignas(128) int tile[threads];
  tile[threadIdx.x] = in[threadIdx.x];
  if (RIGHT) PROXY_FENCE();
  __syncthreads();
  if (threadIdx.x == 0) {
    BULK_ADD(out, tile, 4 * threads);  // reduction_without_fence: missing proxy fence
    END_STORE();
  }
}

/// The store is ordered by no barrier at all: a race.
template <bool RIGHT>
__global__ void store_without_barrier(int* in, int* out) {
  __shared__ alignas(128) int tile[threads];
  tile[threads - 1 - threadIdx.x] = in[threadIdx.x];
  PROXY_FENCE();
  if (RIGHT) __syncthreads();
  if (threadIdx.x == 32) {
    BULK_STORE(out, tile, 4 * threads);  // store_without_barrier: race
    END_STORE();
  }
}

template <bool RIGHT>
__global__ void source_overwritten(int* in, int* out) {
  __shared__ alignas(128) int tile[threads];
  for (int i = 0; i < 2; ++i) {
    tile[threadIdx.x] = in[threadIdx.x] + i + 1;  // source_overwritten: unfinished operation
    PROXY_FENCE();
    __syncthreads();
    if (threadIdx.x == 0) {
      BULK_STORE(out, tile, 4 * threads);  // source_overwritten: unfinished operation
      BULK_COMMIT();
      if (RIGHT) BULK_WAIT(0);
    }
    __syncthreads();
  }
  if (threadIdx.x == 0) BULK_WAIT(0);
}

/// The wait for the reads permits new writes of the source, but no use of the result.
template <bool RIGHT>
__global__ void result_of_read_wait(int* in, int* out) {
  __shared__ alignas(128) int tile[threads];
  tile[threadIdx.x] = in[threadIdx.x] + 1;
  PROXY_FENCE();
  __syncthreads();
  if (threadIdx.x == 0) {
    BULK_STORE(out, tile, 4 * threads);
    BULK_COMMIT();
    BULK_WAIT_READ(0);
    tile[0] = 5;
    if (RIGHT) BULK_WAIT(0);
    out[elements] = out[7];  // result_of_read_wait: unfinished operation
    BULK_WAIT(0);
  }
}

template <bool RIGHT>
__global__ void exits_with_store(int* in, int* out) {
  __shared__ alignas(128) int tile[threads];
  tile[threadIdx.x] = in[threadIdx.x];
  PROXY_FENCE();
  __syncthreads();
  if (threadIdx.x != 0) return;
  BULK_STORE(out, tile, 4 * threads);  // exits_with_store: copies in flight
  BULK_COMMIT();
  if (RIGHT) BULK_WAIT_READ(0);
}

template <bool RIGHT>
__global__ void store_without_commit(int* in, int* out) {
  __shared__ alignas(128) int tile[threads];
  tile[threadIdx.x] = in[threadIdx.x];
  PROXY_FENCE();
  __syncthreads();
  if (threadIdx.x != 0) return;
  BULK_STORE(out, tile, 4 * threads);  // store_without_commit: copies in flight
  if (RIGHT) BULK_COMMIT();
  BULK_WAIT(0);
}

/// Another thread than the one that issued the store waits.
template <bool RIGHT>
__global__ void other_thread_waits(int* in, int* out) {
  __shared__ alignas(128) int tile[threads];
  tile[threadIdx.x] = in[threadIdx.x];
  PROXY_FENCE();
  __syncthreads();
  if (threadIdx.x == 0) {
    BULK_STORE(out, tile, 4 * threads);  // other_thread_waits: copies in flight
    BULK_COMMIT();
  }
  if (threadIdx.x == (RIGHT ? 0 : 1)) BULK_WAIT(0);
}

// ---------------------------------------------------------------- mbarrier objects

template <bool RIGHT>
__global__ void init_without_barrier(int* in, int* out) {
  __shared__ std::uint64_t full;
  if (threadIdx.x == 0) INIT(&full, 32);
  if (RIGHT) __syncthreads();
  if (threadIdx.x >= 32) ARRIVE(&full);  // init_without_barrier: race
  out[threadIdx.x] = in[threadIdx.x];
}

template <bool RIGHT>
__global__ void initialized_in_phase(int* in, int* out) {
  __shared__ std::uint64_t full;
  if (threadIdx.x == 0) INIT(&full, threads);
  __syncthreads();
  if (RIGHT || threadIdx.x < 32) ARRIVE(&full);
  __syncthreads();
  if (threadIdx.x == 0) INIT(&full, 1);  // initialized_in_phase: barrier in use
  out[threadIdx.x] = in[threadIdx.x];
}

template <bool RIGHT>
__global__ void invalidated_in_flight(int* in, int* out) {
  __shared__ alignas(128) int tile[elements];
  __shared__ std::uint64_t full;
  if (threadIdx.x == 0) {
    INIT(&full, 1);
    ARRIVE_EXPECT(&full, bytes);
    BULK_LOAD(tile, in, bytes, &full);
    if (RIGHT) WAIT_OBJECT(&full, 0);
    INVALIDATE(&full);  // invalidated_in_flight: barrier in use
  }
  out[threadIdx.x] = 1;
}

/// Other threads may still wait.
template <bool RIGHT>
__global__ void invalidated_without_barrier(int* in, int* out) {
  __shared__ std::uint64_t full;
  if (threadIdx.x == 0) INIT(&full, threads);
  __syncthreads();
  ARRIVE(&full);
  WAIT_OBJECT(&full, 0);
  if (RIGHT) __syncthreads();
  if (threadIdx.x == 63) INVALIDATE(&full);  // invalidated_without_barrier: race
  out[threadIdx.x] = in[threadIdx.x];
}

template <bool RIGHT>
__global__ void never_initialized(int* in, int* out) {
  __shared__ std::uint64_t full;
  if (RIGHT && threadIdx.x == 0) INIT(&full, threads);
  __syncthreads();
  ARRIVE(&full);  // never_initialized: invalid barrier
  out[threadIdx.x] = in[threadIdx.x];
}

template <bool RIGHT>
__global__ void used_after_inval(int* in, int* out) {
  __shared__ std::uint64_t full;
  if (threadIdx.x == 0) {
    INIT(&full, 1);
    if (!RIGHT) INVALIDATE(&full);
    ARRIVE(&full);  // used_after_inval: invalid barrier
  }
  out[threadIdx.x] = in[threadIdx.x];
}

template <bool RIGHT>
__global__ void relaxed_arrival(int* in, int* out) {
  __shared__ int tile[threads];
  __shared__ std::uint64_t full;
  if (threadIdx.x == 0) INIT(&full, threads);
  __syncthreads();
  tile[threadIdx.x] = in[threadIdx.x] + 1;
  if (RIGHT) {
    ARRIVE(&full);
  } else {
    ARRIVE_RELAXED(&full);
  }
  WAIT_OBJECT(&full, 0);
  out[threadIdx.x] = tile[threads - 1 - threadIdx.x];  // relaxed_arrival: race
}

/// Writes after the arrival belong to no phase.
template <bool RIGHT>
__global__ void writes_after_arrival(int* in, int* out) {
  __shared__ int tile[threads];
  __shared__ std::uint64_t full;
  if (threadIdx.x == 0) INIT(&full, threads);
  __syncthreads();
  if (!RIGHT) ARRIVE(&full);
  tile[threadIdx.x] = in[threadIdx.x] + 1;
  if (RIGHT) ARRIVE(&full);
  WAIT_OBJECT(&full, 0);
  out[threadIdx.x] = tile[threads - 1 - threadIdx.x];  // writes_after_arrival: race
}

template <bool RIGHT>
__global__ void async_store(int* in, int* out) {
  __shared__ int tile[threads];
  __shared__ std::uint64_t full;
  if (threadIdx.x == 0) {
    INIT(&full, 1);
    ARRIVE_EXPECT(&full, 4 * threads);
  }
  __syncthreads();
  ASYNC_STORE(&tile[threadIdx.x], in[threadIdx.x], &full);
  if (RIGHT) WAIT_OBJECT(&full, 0);
  __syncthreads();
  out[threadIdx.x] = tile[threads - 1 - threadIdx.x];  // async_store: unfinished operation
  WAIT_OBJECT(&full, 0);
}

template <bool RIGHT>
__global__ void async_add(int* in, int* out) {
  __shared__ int sum;
  __shared__ std::uint64_t full;
  if (threadIdx.x == 0) {
    sum = 0;
    INIT(&full, 1);
    ARRIVE_EXPECT(&full, 4 * threads);
  }
  __syncthreads();
  ASYNC_ADD(&sum, in[threadIdx.x], &full);
  if (RIGHT) WAIT_OBJECT(&full, 0);
  __syncthreads();
  out[threadIdx.x] = sum;  // async_add: unfinished operation
  WAIT_OBJECT(&full, 0);
}

// ---------------------------------------------------------------- global memory

template <bool RIGHT>
__global__ void global_source_without_fence(int* in, int* out) {
  __shared__ alignas(128) int tile[elements];
  __shared__ std::uint64_t full;
  if (threadIdx.x == 0) INIT(&full, 1);
  in[threadIdx.x] = 3;
  if (RIGHT) asm volatile("fence.proxy.async.global;" ::: "memory");
  __syncthreads();
  if (threadIdx.x == 0) {
    ARRIVE_EXPECT(&full, bytes);
    BULK_LOAD(tile, in, bytes, &full);  // global_source_without_fence: missing proxy fence
  }
  WAIT_OBJECT(&full, 0);
  out[threadIdx.x] = tile[threadIdx.x];
}

template <bool RIGHT>
__global__ void target_overwritten(int* in, int* out) {
  __shared__ alignas(128) int tile[threads];
  tile[threadIdx.x] = in[threadIdx.x];
  PROXY_FENCE();
  __syncthreads();
  if (threadIdx.x == 0) {
    BULK_STORE(out, tile, 4 * threads);
    BULK_COMMIT();
    if (RIGHT) BULK_WAIT(0);
    out[5] = 1;  // target_overwritten: unfinished operation
    BULK_WAIT(0);
  }
}

template <bool RIGHT>
__global__ void stores_overlap(int* in, int* out) {
  __shared__ alignas(128) int tile[threads];
  tile[threadIdx.x] = in[threadIdx.x];
  PROXY_FENCE();
  __syncthreads();
  if (threadIdx.x == 0) {
    BULK_STORE(out, tile, 4 * threads);
    BULK_COMMIT();
    BULK_STORE(out + (RIGHT ? threads : 4), tile, 4 * threads);  // stores_overlap: unfinished operation
    BULK_COMMIT();
    BULK_WAIT(0);
  }
}

/// Reductions do not race with each other, but with a plain load.
template <bool RIGHT>
__global__ void sum_read_early(int* in, int* out) {
  __shared__ alignas(128) int tile[threads];
  tile[threadIdx.x] = in[threadIdx.x];
  PROXY_FENCE();
  __syncthreads();
  if (threadIdx.x == 0) {
    BULK_ADD(out, tile, 4 * threads);  // sum_read_early: race
    BULK_ADD(out, tile, 4 * threads);
    BULK_COMMIT();
    BULK_WAIT(0);
  }
  if (RIGHT) __syncthreads();
  in[threadIdx.x] = out[threadIdx.x];  // sum_read_early: unfinished operation
}

template <bool RIGHT>
__global__ void commit_before_store(int* in, int* out) {
  __shared__ alignas(128) int tile[threads];
  tile[threadIdx.x] = in[threadIdx.x];
  PROXY_FENCE();
  __syncthreads();
  if (threadIdx.x != 0) return;
  if (!RIGHT) BULK_COMMIT();
  BULK_STORE(out, tile, 4 * threads);  // commit_before_store: copies in flight
  if (RIGHT) BULK_COMMIT();
  BULK_WAIT(0);
}

// ---------------------------------------------------------------- clusters

template <bool RIGHT>
__global__ void __cluster_dims__(2) peer_reads_early(int* in, int* out) {
  __shared__ alignas(128) int tile[elements];
  __shared__ std::uint64_t full;
  if (threadIdx.x == 0) {
    INIT(&full, 1);
    ARRIVE_EXPECT(&full, bytes);
  }
  CLUSTER_BARRIER();
  if (threadIdx.x == 0 && blockIdx.x == 0) MULTICAST(tile, in, bytes, &full, 3);
  if (RIGHT || blockIdx.x == 0) WAIT_OBJECT(&full, 0);
  const int value = tile[threadIdx.x];  // peer_reads_early: unfinished operation, uninitialized read
  out[threads * blockIdx.x + threadIdx.x] = value;
  WAIT_OBJECT(&full, 0);
  CLUSTER_BARRIER();
}

template <bool RIGHT>
__global__ void __cluster_dims__(2) peer_copy_without_fence(int* in, int* out) {
  __shared__ alignas(128) int tile[threads];
  __shared__ alignas(128) int received[threads];
  __shared__ std::uint64_t full;
  if (threadIdx.x == 0) {
    INIT(&full, 1);
    ARRIVE_EXPECT(&full, 4 * threads);
  }
  tile[threadIdx.x] = in[threadIdx.x];
  if (RIGHT) PROXY_FENCE();
  CLUSTER_BARRIER();
  const unsigned to = cluster_address(received, blockIdx.x ^ 1);
  const unsigned object = cluster_address(&full, blockIdx.x ^ 1);
  if (threadIdx.x == 0) {
    COPY_TO_BLOCK(to, tile, 4 * threads, object);  // peer_copy_without_fence: missing proxy fence
  }
  WAIT_OBJECT(&full, 0);
  out[threads * blockIdx.x + threadIdx.x] = received[threadIdx.x];
  CLUSTER_BARRIER();
}

template <bool RIGHT>
__global__ void __cluster_dims__(2) peer_stores_fewer(int* in, int* out) {
  __shared__ int tile[threads];
  __shared__ std::uint64_t full;
  if (threadIdx.x == 0) {
    INIT(&full, 1);
    ARRIVE_EXPECT(&full, 4 * threads);
  }
  CLUSTER_BARRIER();
  const unsigned to = cluster_address(&tile[threadIdx.x], blockIdx.x ^ 1);
  const unsigned object = cluster_address(&full, blockIdx.x ^ 1);
  if (RIGHT || threadIdx.x != 7) REMOTE_STORE(to, in[threadIdx.x], object);
  WAIT_OBJECT(&full, 0);  // peer_stores_fewer: endless barrier
  out[threads * blockIdx.x + threadIdx.x] = tile[threadIdx.x];
  CLUSTER_BARRIER();
}

template <bool RIGHT>
__global__ void __cluster_dims__(2) peer_arrives_less(int* in, int* out) {
  __shared__ std::uint64_t full;
  if (threadIdx.x == 0) INIT(&full, threads);
  CLUSTER_BARRIER();
  const unsigned object = cluster_address(&full, blockIdx.x ^ 1);
  if (RIGHT || blockIdx.x == 0 || threadIdx.x < 32) REMOTE_ARRIVE(object);
  WAIT_OBJECT(&full, 0);  // peer_arrives_less: endless barrier
  out[threads * blockIdx.x + threadIdx.x] = in[threadIdx.x];
  CLUSTER_BARRIER();
}

// ---------------------------------------------------------------- cases

#define RUN(name, blocks)                                          \
  if (cases.has(#name)) name<false><<<blocks, threads>>>(in, out); \
  if (cases.has(#name "_right")) name<true><<<blocks, threads>>>(in, out)
#define PAIR(name) RUN(name, 1)
#define CLUSTER_PAIR(name) RUN(name, 2)

int main(int count, char** arguments) {
  const Cases cases(count, arguments);
  int* const in = zeroed(elements + 1);
  int* const out = zeroed(elements + 1);
  PAIR(no_proxy_fence);
  PAIR(memory_fence_only);
  PAIR(one_lane_fences);
  PAIR(fence_before_write);
  PAIR(fence_in_empty_loop);
  PAIR(reduction_without_fence);
  PAIR(store_without_barrier);
  PAIR(source_overwritten);
  PAIR(result_of_read_wait);
  PAIR(exits_with_store);
  PAIR(store_without_commit);
  PAIR(other_thread_waits);
  PAIR(init_without_barrier);
  PAIR(initialized_in_phase);
  PAIR(invalidated_in_flight);
  PAIR(invalidated_without_barrier);
  PAIR(never_initialized);
  PAIR(used_after_inval);
  PAIR(relaxed_arrival);
  PAIR(writes_after_arrival);
  PAIR(async_store);
  PAIR(async_add);
  PAIR(global_source_without_fence);
  PAIR(target_overwritten);
  PAIR(stores_overlap);
  PAIR(sum_read_early);
  PAIR(commit_before_store);
  CLUSTER_PAIR(peer_reads_early);
  CLUSTER_PAIR(peer_copy_without_fence);
  CLUSTER_PAIR(peer_stores_fewer);
  CLUSTER_PAIR(peer_arrives_less);
  return cases.finish();
}
