// dxtc: texture compression to the DXT1 format. A block of 4 x 4 pixels becomes 8 bytes: two colours of 16
// bits (5 red, 6 green, 5 blue) and 2 bits per pixel, which select one of these two or of the two colours
// that lie one and two thirds between them. The two colours are the pair of the block's own colours with the
// smallest sum of squared errors, or the first such pair.
//
// In dxtc_compress, a thread block processes a block of pixels, and a thread every 64th pair. The 16 colours
// are in shared memory, where each is read for every pair. Most accesses are in device functions that the
// kernels actually call: block_error reads through a generic address, to shared memory here and to device
// memory in dxtc_errors; least_in_block has its own shared array.
#include "example.h"

constexpr int threads = 64;
constexpr int pixels = 16;

/// Returns the nearest 16-bit colour of a 24-bit one (red in the lowest byte).
__host__ __device__ unsigned packed_colour(unsigned colour) {
  const unsigned red = colour & 255, green = colour >> 8 & 255, blue = colour >> 16 & 255;
  return (red * 31 + 127) / 255 << 11 | (green * 63 + 127) / 255 << 5 | (blue * 31 + 127) / 255;
}

struct Colour {
  int red, green, blue;
};

__host__ __device__ Colour unpacked(unsigned packed) {
  const int red = packed >> 11, green = packed >> 5 & 63, blue = packed & 31;
  return {red << 3 | red >> 2, green << 2 | green >> 4, blue << 3 | blue >> 2};
}

__host__ __device__ Colour between(const Colour& two_thirds, const Colour& one_third) {
  return {(2 * two_thirds.red + one_third.red) / 3, (2 * two_thirds.green + one_third.green) / 3,
          (2 * two_thirds.blue + one_third.blue) / 3};
}

/// The four colours that a block's pixels may have, by index.
struct Palette {
  Colour entries[4];
};

__host__ __device__ Palette palette_of(unsigned first, unsigned second) {
  const Colour a = unpacked(first), b = unpacked(second);
  return {{a, b, between(a, b), between(b, a)}};
}

/// Returns four times the error of the best entry for a colour, plus the entry's index.
__host__ __device__ unsigned best_entry(const Palette& palette, unsigned colour) {
  unsigned best = ~0u;
  for (unsigned i = 0; i < 4; ++i) {
    const int red = palette.entries[i].red - static_cast<int>(colour & 255);
    const int green = palette.entries[i].green - static_cast<int>(colour >> 8 & 255);
    const int blue = palette.entries[i].blue - static_cast<int>(colour >> 16 & 255);
    const unsigned error = red * red + green * green + blue * blue;
    if (error * 4 + i < best) best = error * 4 + i;
  }
  return best;
}

/// Returns a block's sum of squared errors with these two packed colours.
__host__ __device__ __noinline__ unsigned block_error(const unsigned* colours, unsigned first,
                                                      unsigned second) {
  const Palette palette = palette_of(first, second);
  unsigned error = 0;
  for (int pixel = 0; pixel < pixels; ++pixel) error += best_entry(palette, colours[pixel]) / 4;
  return error;
}

/// Returns the 2 bits of each pixel, the first pixel's lowest.
__host__ __device__ __noinline__ unsigned block_choices(const unsigned* colours, unsigned first,
                                                        unsigned second) {
  const Palette palette = palette_of(first, second);
  unsigned choices = 0;
  for (int pixel = 0; pixel < pixels; ++pixel)
    choices |= best_entry(palette, colours[pixel]) % 4 << 2 * pixel;
  return choices;
}

/// Returns pair `pair` of colours, packed. The greater is first, which selects the format's four-colour mode.
__host__ __device__ uint2 pair_of(const unsigned* colours, int pair) {
  const unsigned a = packed_colour(colours[pair / pixels]), b = packed_colour(colours[pair % pixels]);
  return a > b ? uint2{a, b} : uint2{b, a};
}

__shared__ unsigned candidates[threads];

/// Returns the minimum of all threads' candidates, in every thread.
__device__ __noinline__ unsigned least_in_block(unsigned candidate) {
  candidates[threadIdx.x] = candidate;
  for (int distance = threads / 2; distance > 0; distance /= 2) {
    __syncthreads();
    if (threadIdx.x < distance) {
      candidates[threadIdx.x] = min(candidates[threadIdx.x], candidates[threadIdx.x + distance]);
    }
  }
  __syncthreads();
  return candidates[0];
}

__global__ void dxtc_compress(const unsigned* image, uint2* blocks) {
  __shared__ unsigned colours[pixels];
  if (threadIdx.x < pixels) colours[threadIdx.x] = image[blockIdx.x * pixels + threadIdx.x];
  __syncthreads();
  unsigned best = ~0u;
  for (int pair = threadIdx.x; pair < pixels * pixels; pair += threads) {
    if (pair / pixels >= pair % pixels) continue;
    const uint2 packed = pair_of(colours, pair);
    best = min(best, block_error(colours, packed.x, packed.y) << 8 | pair);
  }
  best = least_in_block(best);
  if (threadIdx.x != 0) return;
  const uint2 packed = pair_of(colours, best & 255);
  blocks[blockIdx.x] = make_uint2(packed.x | packed.y << 16, block_choices(colours, packed.x, packed.y));
}

__global__ void dxtc_errors(const unsigned* image, const uint2* blocks, unsigned* errors, int n) {
  const int block = blockIdx.x * blockDim.x + threadIdx.x;
  if (block >= n) return;
  const unsigned pair = blocks[block].x;
  errors[block] = block_error(image + block * pixels, pair & 0xffff, pair >> 16);
}

/// Compresses one block of pixels and returns its error, too.
uint2 compress_on_host(const unsigned* colours, unsigned& least_error) {
  unsigned best = ~0u;
  for (int pair = 0; pair < pixels * pixels; ++pair) {
    if (pair / pixels >= pair % pixels) continue;
    const uint2 packed = pair_of(colours, pair);
    const unsigned error = block_error(colours, packed.x, packed.y);
    if ((error << 8 | pair) < best) best = error << 8 | pair;
  }
  least_error = best >> 8;
  const uint2 packed = pair_of(colours, best & 255);
  return {packed.x | packed.y << 16, block_choices(colours, packed.x, packed.y)};
}

int main(int argc, char** argv) {
  const int across = example::size_argument(argc, argv, 16, 2048), down = (across + 1) / 2, n = across * down;
  example::Random random(25);
  // Blocks of 16 pixels, one after the other: two slopes, an edge and some noise.
  std::vector<unsigned> image(static_cast<std::size_t>(n) * pixels);
  for (std::size_t at = 0; at < image.size(); ++at) {
    const unsigned block = at / pixels, x = block % across * 4 + at % 4, y = block / across * 4 + at / 4 % 4;
    const unsigned red = x * 50 / across, green = (x / 3 + y / 5) % 2 * 120, blue = y * 50 / down;
    image[at] = red + random.below(50) | (green + random.below(30)) << 8 | (blue + random.below(20)) << 16;
  }
  std::vector<unsigned> expected, expected_errors(n);
  double total_error = 0;
  for (int block = 0; block < n; ++block) {
    const uint2 packed =
        compress_on_host(&image[static_cast<std::size_t>(block) * pixels], expected_errors[block]);
    expected.push_back(packed.x);
    expected.push_back(packed.y);
    total_error += expected_errors[block];
  }

  const example::DeviceArray<unsigned> device_image(image), blocks(expected.size()), errors(n);
  uint2* const pairs = reinterpret_cast<uint2*>(blocks.get());
  const auto compress = [&] { dxtc_compress<<<n, threads>>>(device_image.get(), pairs); };
  const auto find_errors = [&] {
    dxtc_errors<<<example::ceil_div(n, threads), threads>>>(device_image.get(), pairs, errors.get(), n);
  };
  compress();
  find_errors();
  CUDA_CHECK(cudaGetLastError());
  bool right = example::same("blocks", blocks.download(), expected);
  right = example::same("errors", errors.download(), expected_errors) && right;
  std::printf("dxtc: %d x %d pixels, mean squared error %.2f\n", 4 * across, 4 * down,
              total_error / static_cast<double>(3 * image.size()));
  example::measure("dxtc_compress", compress);
  example::measure("dxtc_errors", find_errors);
  return example::finish("dxtc", right, example::fnv1a(expected_errors, example::fnv1a(expected)));
}
