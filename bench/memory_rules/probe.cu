// One warp makes one access of a known pattern per launch. Run under ncu, the launches show how the hardware
// counts sectors and wavefronts; compare.py compares these counts with the rules of lynxpp's metrics.
//
//   probe PLAN.tsv      writes a line per launch: number, kernel, bytes per lane, pattern, active mask,
//                       byte offset of each lane
#include <cstdio>
#include <cstdlib>

namespace {

constexpr int lanes = 32;
constexpr int shared_bytes = 40960;
constexpr int global_bytes = 1 << 20;

struct Offsets {
  int at[lanes];
};

template <int Bytes>
__global__ void shared_load(Offsets offsets, unsigned mask, unsigned* out) {
  __shared__ __align__(16) char memory[shared_bytes];
  if ((mask >> threadIdx.x & 1) == 0) return;
  const unsigned address = static_cast<unsigned>(__cvta_generic_to_shared(memory)) + offsets.at[threadIdx.x];
  unsigned a = 0, b = 0, c = 0, d = 0;
  if constexpr (Bytes == 4) asm volatile("ld.shared.u32 %0, [%1];" : "=r"(a) : "r"(address));
  if constexpr (Bytes == 8)
    asm volatile("ld.shared.v2.u32 {%0, %1}, [%2];" : "=r"(a), "=r"(b) : "r"(address));
  if constexpr (Bytes == 16)
    asm volatile("ld.shared.v4.u32 {%0, %1, %2, %3}, [%4];"
                 : "=r"(a), "=r"(b), "=r"(c), "=r"(d)
                 : "r"(address));
  if (a + b + c + d == 12345) *out = a;
}

template <int Bytes>
__global__ void shared_store(Offsets offsets, unsigned mask) {
  __shared__ __align__(16) char memory[shared_bytes];
  if ((mask >> threadIdx.x & 1) == 0) return;
  const unsigned address = static_cast<unsigned>(__cvta_generic_to_shared(memory)) + offsets.at[threadIdx.x];
  const unsigned value = threadIdx.x;
  if constexpr (Bytes == 4) asm volatile("st.shared.u32 [%0], %1;" ::"r"(address), "r"(value));
  if constexpr (Bytes == 8) asm volatile("st.shared.v2.u32 [%0], {%1, %1};" ::"r"(address), "r"(value));
  if constexpr (Bytes == 16)
    asm volatile("st.shared.v4.u32 [%0], {%1, %1, %1, %1};" ::"r"(address), "r"(value));
}

__global__ void shared_atomic(Offsets offsets, unsigned mask, unsigned* out) {
  __shared__ __align__(16) char memory[shared_bytes];
  if ((mask >> threadIdx.x & 1) == 0) return;
  const unsigned address = static_cast<unsigned>(__cvta_generic_to_shared(memory)) + offsets.at[threadIdx.x];
  unsigned old = 0;
  asm volatile("atom.shared.add.u32 %0, [%1], %2;" : "=r"(old) : "r"(address), "r"(threadIdx.x));
  if (old == 12345) *out = old;
}

template <int Bytes>
__global__ void global_load(Offsets offsets, unsigned mask, const char* memory, unsigned* out) {
  if ((mask >> threadIdx.x & 1) == 0) return;
  const char* address = memory + offsets.at[threadIdx.x];
  unsigned a = 0, b = 0, c = 0, d = 0;
  if constexpr (Bytes == 4) asm volatile("ld.global.u32 %0, [%1];" : "=r"(a) : "l"(address));
  if constexpr (Bytes == 8)
    asm volatile("ld.global.v2.u32 {%0, %1}, [%2];" : "=r"(a), "=r"(b) : "l"(address));
  if constexpr (Bytes == 16)
    asm volatile("ld.global.v4.u32 {%0, %1, %2, %3}, [%4];"
                 : "=r"(a), "=r"(b), "=r"(c), "=r"(d)
                 : "l"(address));
  if (a + b + c + d == 12345) *out = a;
}

template <int Bytes>
__global__ void global_store(Offsets offsets, unsigned mask, char* memory) {
  if ((mask >> threadIdx.x & 1) == 0) return;
  char* address = memory + offsets.at[threadIdx.x];
  const unsigned value = threadIdx.x;
  if constexpr (Bytes == 4) asm volatile("st.global.u32 [%0], %1;" ::"l"(address), "r"(value));
  if constexpr (Bytes == 8) asm volatile("st.global.v2.u32 [%0], {%1, %1};" ::"l"(address), "r"(value));
  if constexpr (Bytes == 16)
    asm volatile("st.global.v4.u32 [%0], {%1, %1, %1, %1};" ::"l"(address), "r"(value));
}

class Probe {
 public:
  explicit Probe(const char* plan) : plan_(std::fopen(plan, "w")) {
    if (plan_ == nullptr || cudaMalloc(&memory_, global_bytes) != cudaSuccess ||
        cudaMalloc(&out_, sizeof(unsigned)) != cudaSuccess) {
      std::fprintf(stderr, "probe: no plan file or no device memory\n");
      std::exit(1);
    }
  }
  ~Probe() { std::fclose(plan_); }

  template <int Bytes>
  void all_kernels(const char* pattern, const Offsets& offsets, unsigned mask) {
    shared_load<Bytes><<<1, lanes>>>(offsets, mask, out_);
    note("shared_load", Bytes, pattern, offsets, mask);
    shared_store<Bytes><<<1, lanes>>>(offsets, mask);
    note("shared_store", Bytes, pattern, offsets, mask);
    global_load<Bytes><<<1, lanes>>>(offsets, mask, memory_, out_);
    note("global_load", Bytes, pattern, offsets, mask);
    global_store<Bytes><<<1, lanes>>>(offsets, mask, memory_);
    note("global_store", Bytes, pattern, offsets, mask);
    if constexpr (Bytes == 4) {
      shared_atomic<<<1, lanes>>>(offsets, mask, out_);
      note("shared_atomic", Bytes, pattern, offsets, mask);
    }
  }

  template <int Bytes, class Element>
  void pattern(const char* name, unsigned mask, Element element) {
    Offsets offsets;
    for (int lane = 0; lane < lanes; ++lane) offsets.at[lane] = element(lane) * Bytes;
    all_kernels<Bytes>(name, offsets, mask);
  }

  template <int Bytes>
  void patterns(unsigned mask) {
    for (const int stride : {1, 2, 3, 4, 8, 16, 32, 33}) {
      pattern<Bytes>("stride", mask, [=](int lane) { return lane * stride; });
    }
    pattern<Bytes>("broadcast", mask, [](int) { return 4; });
    pattern<Bytes>("reverse", mask, [](int lane) { return lanes - 1 - lane; });
    pattern<Bytes>("halves", mask, [](int lane) { return lane % 16; });
    pattern<Bytes>("pairs", mask, [](int lane) { return lane / 2; });
    pattern<Bytes>("swapped", mask, [](int lane) { return (lane ^ 1) * 2; });
    pattern<Bytes>("quarters", mask, [](int lane) { return (lane & 7) * 4 + (lane >> 3); });
    for (const unsigned range : {64u, 64u, 256u, 256u, 2048u, 2048u}) {
      pattern<Bytes>("random", mask, [&](int) { return static_cast<int>(random() % range); });
    }
  }

 private:
  unsigned random() {
    state_ = state_ * 1664525u + 1013904223u;
    return state_ >> 8;
  }

  void note(const char* kernel, int bytes, const char* pattern, const Offsets& offsets, unsigned mask) {
    std::fprintf(plan_, "%d\t%s\t%d\t%s\t%08x\t", launch_++, kernel, bytes, pattern, mask);
    for (int lane = 0; lane < lanes; ++lane) {
      std::fprintf(plan_, "%d%c", offsets.at[lane], lane + 1 == lanes ? '\n' : ',');
    }
  }

  std::FILE* plan_;
  char* memory_ = nullptr;
  unsigned* out_ = nullptr;
  unsigned state_ = 12345;
  int launch_ = 0;
};

}  // namespace

int main(int argc, char** argv) {
  Probe probe(argc > 1 ? argv[1] : "plan.tsv");
  for (const unsigned mask : {0xffffffffu, 0x0000ffffu, 0x55555555u, 0x00ff00ffu}) {
    probe.patterns<4>(mask);
    probe.patterns<8>(mask);
    probe.patterns<16>(mask);
  }
  const cudaError_t error = cudaDeviceSynchronize();
  std::printf("%s\n", cudaGetErrorString(error));
  return error == cudaSuccess ? 0 : 1;
}
