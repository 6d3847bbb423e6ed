// banks: shared memory read and written with strides, by broadcast, with 1, 2, 4, 8 and 16 bytes per thread,
// through a random permutation, and by atomics on a single word: accesses with and without bank conflicts of
// every kind.
#include "example.h"

#include <string>

constexpr int block = 128;
constexpr int room = 8192;  // bytes of shared memory

// Each thread writes `value` to its slot and reads its partner's: slots are thread × stride.
template <typename T>
__global__ void exchange(T* out, int stride, int partner) {
  __shared__ __align__(16) unsigned char bytes[room];
  T* const values = reinterpret_cast<T*>(bytes);
  const int slots = room / static_cast<int>(sizeof(T));
  T value;
  unsigned char* const parts = reinterpret_cast<unsigned char*>(&value);
  for (unsigned i = 0; i < sizeof(T); ++i)
    parts[i] = static_cast<unsigned char>(threadIdx.x + blockIdx.x + i);
  // Threads that would share a slot take turns.
  const int turns = (block * stride + slots - 1) / slots;
  for (int turn = 0; turn < turns; ++turn) {
    const bool mine = static_cast<int>(threadIdx.x) * stride / slots == turn;
    if (mine) values[threadIdx.x * stride % slots] = value;
    __syncthreads();
    const int other = (threadIdx.x ^ partner) % block;
    if (other * stride / slots == turn)
      out[blockIdx.x * block + threadIdx.x] = values[other * stride % slots];
    __syncthreads();
  }
}

__global__ void broadcast(const float4* in, float* out) {
  __shared__ float4 values[block];
  values[threadIdx.x] = in[threadIdx.x];
  __syncthreads();
  float sum = 0;
  for (int i = 0; i < 8; ++i) {
    const float4 same = values[i];  // one location for all lanes
    sum = __fadd_rn(sum, __fadd_rn(same.x, same.w));
    const float2 pair = reinterpret_cast<const float2*>(values)[threadIdx.x / 2 + i];  // lanes read in pairs
    sum = __fadd_rn(sum, pair.y);
  }
  out[threadIdx.x] = sum;
}

__global__ void meet(unsigned* out, int words) {
  __shared__ unsigned counts[64];
  if (threadIdx.x < 64) counts[threadIdx.x] = 0;
  __syncthreads();
  atomicAdd(&counts[threadIdx.x % words], threadIdx.x);
  __syncthreads();
  if (threadIdx.x < 64) out[blockIdx.x * 64 + threadIdx.x] = counts[threadIdx.x];
}

template <typename T>
bool exchanges(const char* name, int blocks, std::uint64_t& checksum) {
  const example::DeviceArray<unsigned char> out(static_cast<std::size_t>(blocks) * block * sizeof(T));
  bool right = true;
  for (const int stride : {1, 2, 3, 8, 32, 33}) {
    for (const int partner : {0, 37}) {
      const auto launch = [&] {
        exchange<<<blocks, block>>>(reinterpret_cast<T*>(out.get()), stride, partner);
      };
      launch();
      CUDA_CHECK(cudaGetLastError());
      std::vector<unsigned char> expected(out.size());
      for (std::size_t i = 0; i < expected.size(); ++i) {
        const std::size_t thread = i / sizeof(T) % block, grid_block = i / sizeof(T) / block;
        expected[i] = static_cast<unsigned char>((thread ^ static_cast<std::size_t>(partner)) % block +
                                                 grid_block + i % sizeof(T));
      }
      right = example::same(name, out.download(), expected) && right;
      checksum = example::fnv1a(expected, checksum);
      if (partner == 0) example::measure((std::string(name) + "_" + std::to_string(stride)).c_str(), launch);
    }
  }
  std::printf("banks: %s\n", name);
  return right;
}

int main(int argc, char** argv) {
  const int blocks = example::size_argument(argc, argv, 3, 1 << 16);
  std::uint64_t checksum = example::fnv1a(nullptr, 0);
  bool right = exchanges<unsigned char>("bytes_1", blocks, checksum);
  right = exchanges<unsigned short>("bytes_2", blocks, checksum) && right;
  right = exchanges<float>("bytes_4", blocks, checksum) && right;
  right = exchanges<double>("bytes_8", blocks, checksum) && right;
  right = exchanges<float4>("bytes_16", blocks, checksum) && right;

  std::vector<float> in(4 * block), sums(block);
  example::Random random(14);
  for (float& value : in) value = random.unit();
  for (int i = 0; i < block; ++i) {
    for (int k = 0; k < 8; ++k) {
      sums[i] += in[4 * k] + in[4 * k + 3];
      sums[i] += in[2 * (i / 2 + k) + 1];
    }
  }
  const example::DeviceArray<float> device_in(in), out(block);
  broadcast<<<1, block>>>(reinterpret_cast<const float4*>(device_in.get()), out.get());
  right = example::same("broadcast", out.download(), sums) && right;

  const example::DeviceArray<unsigned> counts(static_cast<std::size_t>(blocks) * 64);
  for (const int words : {1, 7, 64}) {
    std::vector<unsigned> expected(counts.size());
    for (std::size_t i = 0; i < expected.size() * 2; ++i)
      expected[i / block * 64 + i % block % words] += i % block;
    meet<<<blocks, block>>>(counts.get(), words);
    right = example::same("meet", counts.download(), expected) && right;
    checksum = example::fnv1a(expected, checksum);
  }
  std::printf("banks: broadcast and atomics in %d blocks\n", blocks);
  return example::finish("banks", right, example::fnv1a(sums, checksum));
}
