// Faults that appear only in some orders of warps, blocks and asynchronous copies, and their repaired twins.
// The order that is run without --schedules shows none of them.
#include "tests/end_to_end/checks/async_instructions.h"
#include "tests/end_to_end/checks/cases.h"

using Flag = volatile unsigned;

/// The block with the highest number sums the results of all, as if it ran last.
template <bool is_right>
__global__ void assumes_last_block(int* results, int* sum, unsigned* arrived) {
  if (threadIdx.x != 0) return;
  results[blockIdx.x] = 1;  // assumes_last_block: race
  __threadfence();
  const unsigned before = atomicAdd(arrived, 1);
  __threadfence();
  if ((is_right ? before : blockIdx.x) != gridDim.x - 1) return;
  int total = 0;
  for (unsigned i = 0; i < gridDim.x; ++i) total += results[i];
  *sum = total;
}

/// The first warp signals only if the second one does not wait yet.
template <bool is_right>
__global__ void lost_signal(unsigned* flags, int* result) {
  if (threadIdx.x % 32 != 0) return;
  if (threadIdx.x == 0) {
    if (is_right || atomicAdd(&flags[1], 0) == 0) atomicExch(&flags[0], 1);
  } else {
    atomicExch(&flags[1], 1);
    while (*static_cast<Flag*>(&flags[0]) == 0) continue;  // lost_signal: endless barrier
    result[0] = 1;
  }
}

/// Each block waits until the other has signalled, but the second one signals only if it has seen nothing.
template <bool is_right>
__global__ void lost_signal_of_block(unsigned* flags, int* result) {
  if (threadIdx.x != 0) return;
  if (blockIdx.x == 1) {
    atomicExch(&flags[1], 1);
    while (*static_cast<Flag*>(&flags[0]) == 0) continue;  // lost_signal_of_block: endless barrier
    result[0] = 1;
  } else if (is_right || atomicAdd(&flags[1], 0) == 0) {
    atomicExch(&flags[0], 1);
  }
}

/// Two locks, taken in opposite orders by two warps.
template <bool is_right>
__global__ void two_locks(unsigned* locks, int* result) {
  if (threadIdx.x % 32 != 0) return;
  const unsigned first = is_right ? 0 : threadIdx.x / 32;
  while (atomicCAS(&locks[first], 0, 1) != 0) {}
  while (atomicCAS(&locks[1 - first], 0, 1) != 0) continue;  // two_locks: endless barrier
  __threadfence();
  result[1] += 1;
  __threadfence();
  atomicExch(&locks[1 - first], 0);
  atomicExch(&locks[first], 0);
}

/// The slot of a ticket is in the array only if the warps take theirs in order.
template <bool is_right>
__global__ void slot_of_ticket(unsigned* tickets, int* slots) {
  if (threadIdx.x % 32 != 0) return;
  const unsigned ticket = atomicAdd(tickets, 1);
  const unsigned warp = threadIdx.x / 32;
  slots[is_right ? ticket : 255 + ticket - warp] = 1;  // slot_of_ticket: out of bounds
}

/// Falls back to memory that nothing has written if the other warp has not published yet.
template <bool is_right>
__global__ void reads_if_late(unsigned* ready, const int* fresh, int* published, int* result) {
  if (threadIdx.x % 32 != 0) return;
  if (threadIdx.x == 0) {
    published[0] = 5;
    __threadfence();
    atomicExch(ready, 1);
  } else {
    const bool is_ready = atomicAdd(ready, 0) != 0;
    __threadfence();
    if (is_ready) {
      result[0] = published[0];
    } else {
      result[0] = is_right ? 0 : fresh[0];  // reads_if_late: uninitialized read
    }
  }
}

/// A check of the kernel itself that holds only if the first warp comes first.
template <bool is_right>
__global__ void traps_out_of_order(unsigned* tickets, int* result) {
  if (threadIdx.x % 32 != 0) return;
  const unsigned ticket = atomicAdd(tickets, 1);
  if (!is_right && ticket != threadIdx.x / 32) {
    asm volatile("trap;");  // traps_out_of_order: failing order
  }
  result[threadIdx.x / 32] = 1;
}

/// The producer does not wait until the consumer has seen a phase: if two have completed since the consumer
/// looked, their parity is that of the phase before.
template <bool is_right>
__global__ void misses_a_phase(int* result) {
  __shared__ unsigned long long full, seen, other;
  if (threadIdx.x == 0) {
    INIT(&full, 1);
    INIT(&seen, 1);
    INIT(&other, 1);
  }
  __syncthreads();
  unsigned done = 0;
  if (threadIdx.x == 64) {
    while (done == 0) TEST(done, &full, 0);  // misses_a_phase: endless barrier
    ARRIVE(&seen);
    done = 0;
    while (done == 0) TEST(done, &full, 1);
    result[0] = 1;
  } else if (threadIdx.x == 0) {
    ARRIVE(&full);
    while (done == 0) TEST(done, &other, 0);
    done = is_right ? 0 : 1;
    while (done == 0) TEST(done, &seen, 0);
    ARRIVE(&full);
  } else if (threadIdx.x == 32) {
    ARRIVE(&other);
  }
}

/// The phase may complete before its bytes are expected.
template <bool is_right>
__global__ void expects_late(const int* from, int* result) {
  __shared__ alignas(128) int tile[elements];
  __shared__ unsigned long long object;
  const int index = static_cast<int>(threadIdx.x);
  if (index == 0) INIT(&object, is_right ? 2 : 1);
  __syncthreads();
  if (index == 32) {
    if (is_right) {
      ARRIVE_EXPECT(&object, bytes);
    } else {
      EXPECT(&object, bytes);
    }
    BULK_LOAD(tile, from, bytes, &object);  // expects_late: copies in flight
  }
  if (index == 0) ARRIVE(&object);
  unsigned done = 0;
  while (done == 0) TEST(done, &object, 0);
  result[index] = tile[index];
}

/// A ticket lock that is released before its data is written.
template <bool is_right>
__global__ void unlocks_early(unsigned* words, int* data) {
  if (threadIdx.x % 32 != 0) return;
  const unsigned ticket = atomicAdd(&words[0], 1);
  while (*static_cast<Flag*>(&words[1]) != ticket) {}
  __threadfence();
  const int before = *static_cast<volatile int*>(data);
  if (!is_right) atomicAdd(&words[1], 1);
  *static_cast<volatile int*>(data) = before + 1;
  __threadfence();
  if (is_right) atomicAdd(&words[1], 1);
  if (atomicAdd(&words[2], 1) == blockDim.x / 32 - 1) {
    if (*static_cast<volatile int*>(data) != blockDim.x / 32) {
      asm volatile("trap;");  // unlocks_early: failing order
    }
  }
}

#define PAIR(name)                                  \
  if (cases.has(#name)) LAUNCH_##name(name<false>); \
  if (cases.has(#name "_right")) LAUNCH_##name(name<true>)
#define LAUNCH_assumes_last_block(kernel) kernel<<<3, 32>>>(a, b, words)
#define LAUNCH_lost_signal(kernel) kernel<<<1, 64>>>(words, a)
#define LAUNCH_lost_signal_of_block(kernel) kernel<<<2, 32>>>(words, a)
#define LAUNCH_two_locks(kernel) kernel<<<1, 64>>>(words, a)
#define LAUNCH_slot_of_ticket(kernel) kernel<<<1, 64>>>(words, a)
#define LAUNCH_reads_if_late(kernel) kernel<<<1, 64>>>(words, fresh, a, b)
#define LAUNCH_traps_out_of_order(kernel) kernel<<<1, 64>>>(words, a)
#define LAUNCH_misses_a_phase(kernel) kernel<<<1, 96>>>(a)
#define LAUNCH_expects_late(kernel) kernel<<<1, threads>>>(a, b)
#define LAUNCH_unlocks_early(kernel) kernel<<<1, 96>>>(words, a)

int main(int count, char** arguments) {
  const Cases cases(count, arguments);
  int* const a = zeroed(256);
  int* const b = zeroed(256);
  auto* const words = reinterpret_cast<unsigned*>(zeroed(256));
  int* fresh = nullptr;
  cudaMalloc(&fresh, 256 * sizeof(int));
  PAIR(assumes_last_block);
  PAIR(lost_signal);
  PAIR(lost_signal_of_block);
  PAIR(two_locks);
  PAIR(slot_of_ticket);
  PAIR(reads_if_late);
  PAIR(traps_out_of_order);
  PAIR(misses_a_phase);
  PAIR(expects_late);
  PAIR(unlocks_early);
  return cases.finish();
}
