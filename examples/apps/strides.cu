// strides: copies of 1, 2, 4, 8 and 16 bytes per thread with a stride and an offset, from coalesced to one
// sector per thread, and an indexed gather and scatter; block size 96, so that the last warp of a launch ends
// in the middle of a block.
#include "example.h"

#include <string>

template <typename T>
__global__ void strided_copy(const T* in, T* out, int n, int stride, int offset) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[offset + i * stride] = in[offset + i * stride];
}

__global__ void gather(const int* index, const float* in, float* out, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = in[index[i]];
}

__global__ void scatter(const int* index, const float* in, float* out, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[index[i]] = in[i];
}

constexpr int block = 96;
constexpr int longest_stride = 33;

template <typename T>
bool copies(const char* name, int n, std::uint64_t& checksum) {
  const std::size_t elements = static_cast<std::size_t>(n) * longest_stride + longest_stride;
  std::vector<unsigned char> bytes(elements * sizeof(T));
  example::Random random(sizeof(T));
  for (unsigned char& byte : bytes) byte = static_cast<unsigned char>(random.next());
  const example::DeviceArray<unsigned char> in(bytes);
  bool right = true;
  for (const int stride : {1, 2, 3, 8, longest_stride}) {
    for (const int offset : {0, 1}) {
      example::DeviceArray<unsigned char> out(bytes.size());
      out.clear();
      const auto launch = [&] {
        strided_copy<<<example::ceil_div(n, block), block>>>(
            reinterpret_cast<const T*>(in.get()), reinterpret_cast<T*>(out.get()), n, stride, offset);
      };
      launch();
      CUDA_CHECK(cudaGetLastError());
      std::vector<unsigned char> expected(bytes.size());
      for (std::size_t i = 0; i < static_cast<std::size_t>(n); ++i) {
        const std::size_t at = (offset + i * stride) * sizeof(T);
        std::memcpy(&expected[at], &bytes[at], sizeof(T));
      }
      const std::vector<unsigned char> result = out.download();
      right = example::same(name, result, expected) && right;
      checksum = example::fnv1a(result, checksum);
      if (offset == 0) example::measure((std::string(name) + "_" + std::to_string(stride)).c_str(), launch);
    }
  }
  std::printf("strides: %s, %d elements\n", name, n);
  return right;
}

bool indexed(int n, std::uint64_t& checksum) {
  std::vector<int> index(n);
  for (int i = 0; i < n; ++i) index[i] = i;
  example::Random random(9);
  for (int i = n - 1; i > 0; --i) std::swap(index[i], index[random.below(i + 1)]);
  std::vector<float> in(n), gathered(n), scattered(n);
  for (float& value : in) value = random.unit();
  for (int i = 0; i < n; ++i) {
    gathered[i] = in[index[i]];
    scattered[index[i]] = in[i];
  }
  const example::DeviceArray<int> device_index(index);
  const example::DeviceArray<float> device_in(in), out(n);
  const int blocks = example::ceil_div(n, block);
  gather<<<blocks, block>>>(device_index.get(), device_in.get(), out.get(), n);
  bool right = example::same("gather", out.download(), gathered);
  scatter<<<blocks, block>>>(device_index.get(), device_in.get(), out.get(), n);
  right = example::same("scatter", out.download(), scattered) && right;
  checksum = example::fnv1a(scattered, example::fnv1a(gathered, checksum));
  std::printf("strides: gather and scatter of %d elements\n", n);
  example::measure("gather",
                   [&] { gather<<<blocks, block>>>(device_index.get(), device_in.get(), out.get(), n); });
  example::measure("scatter",
                   [&] { scatter<<<blocks, block>>>(device_index.get(), device_in.get(), out.get(), n); });
  return right;
}

int main(int argc, char** argv) {
  const int n = example::size_argument(argc, argv, 1000, 1 << 22);
  std::uint64_t checksum = example::fnv1a(nullptr, 0);
  bool right = copies<unsigned char>("bytes_1", n, checksum);
  right = copies<unsigned short>("bytes_2", n, checksum) && right;
  right = copies<float>("bytes_4", n, checksum) && right;
  right = copies<double>("bytes_8", n, checksum) && right;
  right = copies<float4>("bytes_16", n, checksum) && right;
  right = indexed(n, checksum) && right;
  return example::finish("strides", right, checksum);
}
