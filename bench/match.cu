// Cost of match.any, by the number of different values in a warp's lanes, compared with a shuffle and a vote:
// cycles per execution on one SM with 1, 16 and 32 warps.
//   nvcc -O3 -arch=sm_90 bench/match.cu -o match; match
#include <cstdio>
#include <cstdlib>

#include <cuda_runtime.h>

#define CUDA_CHECK(call)                                                  \
  do {                                                                    \
    const cudaError_t error = (call);                                     \
    if (error != cudaSuccess) {                                           \
      std::fprintf(stderr, "%s: %s\n", #call, cudaGetErrorString(error)); \
      std::exit(1);                                                       \
    }                                                                     \
  } while (false)

enum class What { match_32, match_64, shuffle_and_vote };

constexpr unsigned all_lanes = 0xffffffffu;
constexpr int rounds = 64;

__global__ void measure(What what, unsigned different, long long* cycles, unsigned* kept) {
  const unsigned lane = threadIdx.x % 32;
  const unsigned number = lane * 7 % 32 % different * 1000003u;
  const unsigned long long wide = number * 77ull;
  unsigned sum = 0;  // each round depends on the previous one
  const long long begin = clock64();
  for (int i = 0; i < rounds; ++i) {
    if (what == What::match_32) {
      sum += __match_any_sync(all_lanes, number + sum / rounds);
    } else if (what == What::match_64) {
      sum += __match_any_sync(all_lanes, wide + sum / rounds);
    } else {
      const unsigned other = __shfl_sync(all_lanes, number + sum / rounds, (lane + 31) % 32);
      sum += __all_sync(all_lanes, other <= number) ? other : number;
    }
  }
  const long long end = clock64();
  if (threadIdx.x == 0) *cycles = (end - begin) / rounds;
  kept[threadIdx.x] = sum;
}

int main() {
  long long* cycles;
  unsigned* kept;
  CUDA_CHECK(cudaMalloc(&cycles, sizeof *cycles));
  CUDA_CHECK(cudaMalloc(&kept, 1024 * sizeof *kept));
  const char* const names[] = {"match.any.b32", "match.any.b64", "shfl and vote"};
  std::printf("warps  what           different: 1     2     4     8    16    32\n");
  for (const int warps : {1, 16, 32}) {
    for (int what = 0; what < 3; ++what) {
      std::printf("%5d  %s      ", warps, names[what]);
      for (unsigned different = 1; different <= 32; different *= 2) {
        measure<<<1, 32 * warps>>>(static_cast<What>(what), different, cycles, kept);
        long long found = 0;
        CUDA_CHECK(cudaMemcpy(&found, cycles, sizeof found, cudaMemcpyDeviceToHost));
        std::printf(" %5lld", found);
      }
      std::printf("\n");
    }
  }
}
