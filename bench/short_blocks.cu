// The cost of code at kernel entry and exit for kernels whose blocks live for a few microseconds: two kernels
// with different code around the same body, launched one after the other. Prints a table of kernel times
// relative to those without such code.
//   nvcc -std=c++17 -O3 -arch=sm_90 bench/short_blocks.cu -o short_blocks; short_blocks [rounds]
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

#include <cuda_runtime.h>

#define CUDA_CHECK(call)                                                  \
  do {                                                                    \
    const cudaError_t error = (call);                                     \
    if (error != cudaSuccess) {                                           \
      std::fprintf(stderr, "%s: %s\n", #call, cudaGetErrorString(error)); \
      std::exit(1);                                                       \
    }                                                                     \
  } while (false)

namespace {

using Word = unsigned long long;

struct Buffers {
  Word* first;  ///< 8 bytes per block
  Word* last;
  unsigned* sm;
  Word* blocks;  ///< 32 bytes per block
  Word* clocks;  ///< 8 bytes per warp, and two more per block
  Word* slots;   ///< 16 per replica
};
constexpr unsigned replicas = 1024;

__device__ Word clock_now() {
  Word value;
  asm volatile("mov.u64 %0, %%clock64;" : "=l"(value));
  return value;
}

__device__ unsigned sm_id() {
  unsigned value;
  asm volatile("mov.u32 %0, %%smid;" : "=r"(value));
  return value;
}

__device__ unsigned warp_place() {
  unsigned value;
  asm volatile("mov.u32 %0, %%warpid;" : "=r"(value));
  return value;
}

__device__ unsigned lanes_below() {
  unsigned value;
  asm volatile("mov.u32 %0, %%lanemask_lt;" : "=r"(value));
  return value;
}

__device__ unsigned lane() {
  unsigned value;
  asm volatile("mov.u32 %0, %%laneid;" : "=r"(value));
  return value;
}

__device__ void store(Word* at, Word value) { asm volatile("st.global.u64 [%0], %1;" ::"l"(at), "l"(value)); }
__device__ void raise_to(Word* at, Word value) {
  asm volatile("red.global.max.u64 [%0], %1;" ::"l"(at), "l"(value));
}
__device__ void add(Word* at, Word value) {
  asm volatile("red.global.add.u64 [%0], %1;" ::"l"(at), "l"(value));
}
__device__ void add(unsigned* at, unsigned value) {
  asm volatile("red.global.add.u32 [%0], %1;" ::"l"(at), "r"(value));
}

__device__ bool is_first_thread() { return (threadIdx.x | threadIdx.y | threadIdx.z) == 0; }
__device__ Word block_number() {
  return (Word{gridDim.y} * blockIdx.z + blockIdx.y) * gridDim.x + blockIdx.x;
}

__device__ unsigned block_threads() { return blockDim.x * blockDim.y * blockDim.z; }
__device__ unsigned thread_number() {
  return (threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x;
}

__device__ void store_block(const Buffers& buffers, Word entered) {
  Word* const at = buffers.blocks + 4 * block_number();
  store(at, entered);
  store(at + 1, clock_now());
  store(at + 2, sm_id());
}

/// State that a block's warps share if no barrier guarantees its initialization: valid if `tag` is the
/// block's.
struct Arrivals {
  Word tag;
  unsigned last, warps;
};

__device__ Arrivals* arrivals() {
  __shared__ Arrivals shared;
  return &shared;
}

__device__ Word tag_of_block(const Buffers& buffers) {
  return reinterpret_cast<Word>(buffers.slots) ^ (block_number() << 40);
}

__device__ void begin_arrivals(const Buffers& buffers) {
  if (!is_first_thread()) return;
  Arrivals* const shared = arrivals();
  shared->last = 0;
  shared->warps = 0;
  __threadfence_block();
  *const_cast<volatile Word*>(&shared->tag) = tag_of_block(buffers);
}

/// One lane per warp. Uses the low half of clocks: blocks live for less than 2^31 cycles.
__device__ void arrive_in_shared(const Buffers& buffers, Word entered) {
  Arrivals* const shared = arrivals();
  while (*const_cast<volatile Word*>(&shared->tag) != tag_of_block(buffers)) {}
  atomicMax(&shared->last, static_cast<unsigned>(clock_now() - entered));
  __threadfence_block();
  if (atomicAdd(&shared->warps, 1) + 1 == (block_threads() + 31) / 32) {
    __threadfence_block();
    Word* const at = buffers.blocks + 4 * block_number();
    store(at, entered);
    store(at + 1, *const_cast<volatile unsigned*>(&shared->last));
    store(at + 2, sm_id());
  }
}

enum Code : int {
  nothing,
  first_thread_test,   ///< at entry
  clock_read,          ///< at exit, not stored
  store_at_entry,      ///< clock and SM by the block's first thread
  raise_8,             ///< at exit every warp updates its block's maximum, 8 bytes per block
  raise_32,            ///< … 32 bytes per block
  entry_and_raise_8,   ///< both
  entry_and_raise_32,  ///< …
  late_and_raise_32,   ///< the entry's clock is stored at exit
  /// at exit every warp stores its clock in its own slot, and the first thread the rest
  store_of_each_warp,
  arrive,          ///< at exit warps arrive at a barrier; the first waits there and stores all
  arrive_only,     ///< … and stores nothing
  store_of_first,  ///< at exit the block's first thread stores three values, regardless of other warps
  vote,            ///< at exit, without an addition
  add_1,           ///< at exit one lane of each warp adds to one of 128 lines
  add_1_of_512,
  add_4,  ///< four lanes
  add_4_of_512,
  add_12,
  add_12_of_512,
  add_12_of_1024,
  add_8_of_512,   ///< two sectors
  add_12_narrow,  ///< 4-byte values, 512 lines: two sectors
  add_8_narrow,   ///< … one sector
  add_4_narrow,
  place_read,        ///< reads the warp's SM and slot, without an addition
  place_at_entry,    ///< … at entry; eight lanes of four bytes
  place_of_block,    ///< the line depends on the block's and the warp's number, eight lanes of four bytes
  place_of_block_1,  ///< … one lane adds 1
  count_in_shared,   ///< warps count themselves in shared memory, the last one stores all
  codes,
};
const char* const names[codes] = {"nothing",
                                  "entry: test for the first thread",
                                  "exit: clock",
                                  "entry: store clock and SM",
                                  "exit: red.max, 8 bytes a block",
                                  "exit: red.max, 32 bytes a block",
                                  "entry and exit, 8 bytes a block",
                                  "entry and exit, 32 bytes a block",
                                  "all at exit, 32 bytes a block",
                                  "all at exit, a store of each warp",
                                  "all at exit, warps arrive, the first stores",
                                  "exit: warps arrive, the first waits",
                                  "all at exit, by the first thread alone",
                                  "exit: vote",
                                  "exit: red.add of 1 lane, 128 lines",
                                  "exit: red.add of 1 lane, 512 lines",
                                  "exit: redux, red.add of 4 lanes, 128 lines",
                                  "exit: redux, red.add of 4 lanes, 512 lines",
                                  "exit: redux, red.add of 12 lanes, 128 lines",
                                  "exit: redux, red.add of 12 lanes, 512 lines",
                                  "exit: redux, red.add of 12 lanes, 1024 lines",
                                  "exit: redux, red.add of 8 lanes, 512 lines",
                                  "exit: redux, red.add of 12 lanes, 4 bytes each, 512 lines",
                                  "exit: redux, red.add of 8 lanes, 4 bytes each, 512 lines",
                                  "exit: redux, red.add of 4 lanes, 4 bytes each, 512 lines",
                                  "exit: SM and place of the warp are read",
                                  "as 8 lanes of 4 bytes, SM and place of the warp are read at entry",
                                  "as 8 lanes of 4 bytes, lines by block and thread",
                                  "as 1 lane of 4 bytes, lines by block and thread",
                                  "all at exit, by the last warp, counted in shared memory"};

template <int code>
__device__ Word enter(const Buffers& buffers) {
  if constexpr (code == first_thread_test) {
    if (is_first_thread() && buffers.first == nullptr) store(buffers.last, 1);
  } else if constexpr (code == store_at_entry || code == entry_and_raise_8) {
    if (is_first_thread()) {
      store(buffers.first + block_number(), clock_now());
      buffers.sm[block_number()] = sm_id();
    }
  } else if constexpr (code == entry_and_raise_32) {
    if (is_first_thread()) {
      store(buffers.blocks + 4 * block_number() + 1, clock_now());
      store(buffers.blocks + 4 * block_number() + 2, sm_id());
    }
  } else if constexpr (code == late_and_raise_32 || code == store_of_each_warp || code == arrive ||
                       code == store_of_first) {
    return clock_now();
  } else if constexpr (code == count_in_shared) {
    begin_arrivals(buffers);
    return clock_now();
  } else if constexpr (code == place_at_entry) {
    return warp_place() * 128 + sm_id();
  }
  return 0;
}

template <int lanes, unsigned lines, typename Number = Word>
__device__ void add_by_lanes(const Buffers& buffers, unsigned mask, unsigned place) {
  const unsigned sum = lanes == 1 ? 1 : __reduce_add_sync(mask, threadIdx.x);
  const unsigned replica = place % lines;
  const unsigned own = lanes == 1 ? __popc(mask & lanes_below()) : lane();
  Number* const line = reinterpret_cast<Number*>(buffers.slots + 16 * replica);
  if (own < lanes) add(line + (lanes == 1 ? 0 : own), Number{sum});
}

template <int lanes, unsigned lines, typename Number = Word>
__device__ void add_by_lanes(const Buffers& buffers, unsigned mask) {
  add_by_lanes<lanes, lines, Number>(buffers, mask, warp_place() * 128 + sm_id());
}

/// Clocks that every warp stores or adds to a maximum.
template <int code>
__device__ void leave_clocks(const Buffers& buffers, Word entered, unsigned mask) {
  if constexpr (code == clock_read) {
    if (clock_now() == 1) store(buffers.last, 1);
  } else if constexpr (code == raise_8 || code == entry_and_raise_8) {
    const Word now = clock_now();
    if ((mask & lanes_below()) == 0) raise_to(buffers.last + block_number(), now);
  } else if constexpr (code == raise_32 || code == entry_and_raise_32) {
    const Word now = clock_now();
    if ((mask & lanes_below()) == 0) raise_to(buffers.blocks + 4 * block_number(), now);
  } else if constexpr (code == late_and_raise_32) {
    const Word now = clock_now();
    Word* const at = buffers.blocks + 4 * block_number();
    if ((mask & lanes_below()) == 0) raise_to(at, now);
    if (is_first_thread()) {
      store(at + 1, entered);
      store(at + 2, sm_id());
    }
  } else if constexpr (code == store_of_each_warp) {
    const Word now = clock_now();
    const unsigned warps = (block_threads() + 31) / 32;
    Word* const at = buffers.clocks + block_number() * (warps + 2);
    if ((mask & lanes_below()) == 0) store(at + thread_number() / 32, now);
    if (is_first_thread()) {
      store(at + warps, entered);
      store(at + warps + 1, sm_id());
    }
  }
}

/// Stores by one warp for its block, after the others have arrived or regardless of them.
template <int code>
__device__ void leave_by_one(const Buffers& buffers, Word entered, unsigned mask) {
  if constexpr (code == arrive || code == arrive_only) {
    if (thread_number() / 32 != 0) {
      asm volatile("barrier.cta.arrive 1, %0;" ::"r"(block_threads()));
    } else {
      asm volatile("barrier.cta.sync 1, %0;" ::"r"(block_threads()));
      if (code == arrive && is_first_thread()) store_block(buffers, entered);
    }
  } else if constexpr (code == store_of_first) {
    if (is_first_thread()) store_block(buffers, entered);
  } else if constexpr (code == count_in_shared) {
    if ((mask & lanes_below()) == 0) arrive_in_shared(buffers, entered);
  }
}

/// Additions by every warp to a line that it shares with others.
template <int code>
__device__ void leave_sums(const Buffers& buffers, Word entered, unsigned mask) {
  if constexpr (code == vote) {
    if (mask == 0xffffffff && __all_sync(mask, threadIdx.x < 5000)) return;
    add_by_lanes<12, 128>(buffers, mask);
  } else if constexpr (code == add_1) {
    add_by_lanes<1, 128>(buffers, mask);
  } else if constexpr (code == add_1_of_512) {
    add_by_lanes<1, 512>(buffers, mask);
  } else if constexpr (code == add_4) {
    add_by_lanes<4, 128>(buffers, mask);
  } else if constexpr (code == add_4_of_512) {
    add_by_lanes<4, 512>(buffers, mask);
  } else if constexpr (code == add_12) {
    add_by_lanes<12, 128>(buffers, mask);
  } else if constexpr (code == add_12_of_512) {
    add_by_lanes<12, 512>(buffers, mask);
  } else if constexpr (code == add_12_of_1024) {
    add_by_lanes<12, replicas>(buffers, mask);
  } else if constexpr (code == add_8_of_512) {
    add_by_lanes<8, 512>(buffers, mask);
  } else if constexpr (code == add_12_narrow) {
    add_by_lanes<12, 512, unsigned>(buffers, mask);
  } else if constexpr (code == add_8_narrow) {
    add_by_lanes<8, 512, unsigned>(buffers, mask);
  } else if constexpr (code == add_4_narrow) {
    add_by_lanes<4, 512, unsigned>(buffers, mask);
  } else if constexpr (code == place_read) {
    if (warp_place() * 128 + sm_id() == 1u << 30) store(buffers.last, 1);
  } else if constexpr (code == place_at_entry) {
    add_by_lanes<8, 512, unsigned>(buffers, mask, static_cast<unsigned>(entered));
  } else if constexpr (code == place_of_block || code == place_of_block_1) {
    const unsigned place = blockIdx.x * 8 + (blockDim.y == 1 ? threadIdx.x / 32 : threadIdx.y);
    add_by_lanes<code == place_of_block ? 8 : 1, 512, unsigned>(buffers, mask, place);
  }
}

template <int code>
__device__ void leave(const Buffers& buffers, Word entered) {
  const unsigned mask = __activemask();
  leave_clocks<code>(buffers, entered, mask);
  leave_by_one<code>(buffers, entered, mask);
  leave_sums<code>(buffers, entered, mask);
}

template <int code>
__global__ void vecadd(const float* a, const float* b, float* sum, int n, Buffers buffers) {
  const Word entered = enter<code>(buffers);
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) sum[i] = a[i] + b[i];
  leave<code>(buffers, entered);
}

template <int code>
__global__ void convolve(const float* in, const float*, float* out, int n, Buffers buffers) {
  const Word entered = enter<code>(buffers);
  const int x = blockIdx.x * blockDim.x + threadIdx.x;
  const int y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x > 0 && y > 0 && x < n - 1 && y < n - 1) {
    float sum = 0;
    for (int dy = -1; dy <= 1; ++dy) {
      for (int dx = -1; dx <= 1; ++dx) sum += in[(y + dy) * n + x + dx] * (0.1f * dx + 0.3f * dy + 0.2f);
    }
    out[y * n + x] = sum;
  }
  leave<code>(buffers, entered);
}

/// Keeps the stream busy until all launches of a round are enqueued.
__global__ void hold(volatile int* go, long long cycles) {
  const long long begin = clock64();
  while (clock64() - begin < cycles && *go == 0) {}
}

struct Case {
  const char* name;
  bool convolves;
  dim3 grid;
  dim3 block;
  int n;
};

struct Data {
  float* a;
  float* b;
  float* out;
  Buffers buffers;
};

template <int code>
void launch(const Case& each, const Data& data) {
  if (each.convolves) {
    convolve<code><<<each.grid, each.block>>>(data.a, data.b, data.out, each.n, data.buffers);
  } else {
    vecadd<code><<<each.grid, each.block>>>(data.a, data.b, data.out, each.n, data.buffers);
  }
}

using Launch = void (*)(const Case&, const Data&);

template <int... code>
std::vector<Launch> launches_of(std::integer_sequence<int, code...>) {
  return {launch<code>...};
}

template <typename T>
T* device_array(std::size_t elements) {
  T* array = nullptr;
  CUDA_CHECK(cudaMalloc(&array, elements * sizeof(T)));
  CUDA_CHECK(cudaMemset(array, 0, elements * sizeof(T)));
  return array;
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

const Case cases[] = {{"vecadd, 262144 blocks of 256", false, dim3(1 << 18), dim3(256), 1 << 26},
                      {"vecadd, 1024 blocks of 1024", false, dim3(1024), dim3(1024), 1 << 20},
                      {"vecadd, 4096 blocks of 256", false, dim3(4096), dim3(256), 1 << 20},
                      {"2D convolution, 65536 blocks of 32x8", true, dim3(128, 512), dim3(32, 8), 4096},
                      {"2D convolution, 4096 blocks of 32x8", true, dim3(32, 128), dim3(32, 8), 1024}};
constexpr std::size_t case_count = sizeof(cases) / sizeof(cases[0]);

/// Returns microseconds per launch for each code; starts with `first`, because the first launch finds the
/// device in a different state.
std::vector<double> round_of(const Case& each, const Data& data, const std::vector<Launch>& launches,
                             std::vector<cudaEvent_t>& events, volatile int* go, int first) {
  *go = 0;
  hold<<<1, 1>>>(go, 20'000'000);
  for (int place = 0; place < codes; ++place) {
    const int code = (place + first) % codes;
    launches[code](each, data);
    CUDA_CHECK(cudaEventRecord(events[2 * code]));
    launches[code](each, data);
    CUDA_CHECK(cudaEventRecord(events[2 * code + 1]));
  }
  *go = 1;
  CUDA_CHECK(cudaDeviceSynchronize());
  std::vector<double> times;
  for (int code = 0; code < codes; ++code) {
    float milliseconds = 0;
    CUDA_CHECK(cudaEventElapsedTime(&milliseconds, events[2 * code], events[2 * code + 1]));
    times.push_back(1e3 * milliseconds);
  }
  return times;
}

}  // namespace

int main(int argc, char** argv) {
  const int rounds = argc > 1 ? std::atoi(argv[1]) : 41;
  constexpr std::size_t elements = 1u << 26;
  constexpr std::size_t blocks = 1u << 18;
  const Data data{
      device_array<float>(elements),
      device_array<float>(elements),
      device_array<float>(elements),
      {device_array<Word>(blocks), device_array<Word>(blocks), device_array<unsigned>(blocks),
       device_array<Word>(4 * blocks), device_array<Word>(34 * blocks), device_array<Word>(16 * replicas)}};
  std::vector<cudaEvent_t> events(2 * codes);
  for (cudaEvent_t& event : events) CUDA_CHECK(cudaEventCreate(&event));
  int* go = nullptr;
  CUDA_CHECK(cudaHostAlloc(&go, sizeof(int), cudaHostAllocMapped));
  const std::vector<Launch> launches = launches_of(std::make_integer_sequence<int, codes>());

  std::vector<std::vector<double>> times(case_count * codes);
  for (int round = -2; round < rounds; ++round) {
    for (std::size_t each = 0; each < case_count; ++each) {
      const std::vector<double> measured =
          round_of(cases[each], data, launches, events, go, (round + 2) * 5 % codes);
      for (int code = 0; code < codes && round >= 0; ++code)
        times[each * codes + code].push_back(measured[code]);
    }
  }
  std::printf("| code |");
  for (const Case& each : cases) std::printf(" %s |", each.name);
  std::printf("\n| --- |%s\n", " --- | --- | --- | --- | --- |");
  for (int code = 0; code < codes; ++code) {
    std::printf("| %s |", names[code]);
    for (std::size_t each = 0; each < case_count; ++each) {
      const double native = median(times[each * codes]);
      if (code == nothing) {
        std::printf(" %.1f µs |", native);
      } else {
        std::printf(" %.3f |", median(times[each * codes + code]) / native);
      }
    }
    std::printf("\n");
  }
  return 0;
}
