// Textures and surfaces of every kind in CUDA C++, on one image each. Prints for each kind
// the values that the kernel read; known values are compared.
#include <cuda_runtime.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <vector>

static void check(cudaError_t error, const char* what, int line) {
  if (error == cudaSuccess) return;
  std::printf("%s: %s (line %d)\n", what, cudaGetErrorName(error), line);
  std::exit(1);
}
#define CHECK(call) check(call, #call, __LINE__)

constexpr int side = 16;
constexpr int count = side * side;

struct Results {
  float4 values[count];
};

__device__ int place() { return threadIdx.y * blockDim.x + threadIdx.x; }

__global__ void read_line(cudaTextureObject_t texture, Results* out) {
  out->values[place()] =
      make_float4(tex1Dfetch<float>(texture, place()), tex1Dfetch<float>(texture, -1), 0, 0);
}
__global__ void read_rows(cudaTextureObject_t texture, Results* out) {
  out->values[place()] = tex2D<float4>(texture, threadIdx.x + 0.75f, threadIdx.y + 0.5f);
}
__global__ void read_plane(cudaTextureObject_t texture, Results* out, float scale) {
  const float x = threadIdx.x * scale, y = threadIdx.y * scale;
  out->values[place()] = tex2D<float4>(texture, x, y);
}
__global__ void read_integers(cudaTextureObject_t texture, Results* out) {
  const int4 value = tex2D<int4>(texture, threadIdx.x, threadIdx.y);
  out->values[place()] = make_float4(value.x, value.y, value.z, value.w);
}
__global__ void read_volume(cudaTextureObject_t texture, Results* out) {
  out->values[place()] =
      make_float4(tex3D<float>(texture, threadIdx.x + 0.5f, threadIdx.y + 1.0f, 1.25f), 0, 0, 0);
}
__global__ void read_layers(cudaTextureObject_t texture, Results* out) {
  out->values[place()] =
      make_float4(tex2DLayered<float>(texture, threadIdx.x, threadIdx.y, threadIdx.x % 3), 0, 0, 0);
}
__global__ void read_lines(cudaTextureObject_t texture, Results* out) {
  out->values[place()] = make_float4(tex1DLayered<float>(texture, threadIdx.x, threadIdx.y % 4), 0, 0, 0);
}
__global__ void read_cube(cudaTextureObject_t texture, Results* out) {
  const float s = (threadIdx.x - 7.5f) / 8, t = (threadIdx.y - 7.5f) / 8;
  out->values[place()] =
      make_float4(texCubemap<float>(texture, 1, -t, -s), texCubemap<float>(texture, s, -1, -t),
                  texCubemap<float>(texture, -s, -t, -1), texCubemap<float>(texture, s, 1, t));
}
__global__ void read_cubes(cudaTextureObject_t texture, Results* out) {
  const float s = (threadIdx.x - 7.5f) / 8, t = (threadIdx.y - 7.5f) / 8;
  out->values[place()] = make_float4(texCubemapLayered<float>(texture, s, -t, 1, 0),
                                     texCubemapLayered<float>(texture, s, -t, 1, 1), 0, 0);
}
__global__ void gather(cudaTextureObject_t texture, Results* out) {
  out->values[place()] = tex2Dgather<float4>(texture, threadIdx.x + 1.0f, threadIdx.y + 1.0f, 1);
}
__global__ void read_levels(cudaTextureObject_t texture, Results* out) {
  const float x = (threadIdx.x + 0.5f) / side, y = (threadIdx.y + 0.5f) / side;
  out->values[place()] =
      make_float4(tex2DLod<float>(texture, x, y, threadIdx.x / 4.0f),
                  tex2DGrad<float>(texture, x, y, make_float2(2.0f / side, 0), make_float2(0, 1.0f / side)),
                  tex2D<float>(texture, x, y), 0);
}
__global__ void fill_plane(cudaSurfaceObject_t surface) {
  surf2Dwrite(make_float2(threadIdx.x, threadIdx.y), surface, threadIdx.x * sizeof(float2), threadIdx.y);
}
__global__ void turn_plane(cudaSurfaceObject_t from, cudaSurfaceObject_t to) {
  const float2 value = surf2Dread<float2>(from, threadIdx.y * sizeof(float2), threadIdx.x);
  surf2Dwrite(value, to, threadIdx.x * sizeof(float2), threadIdx.y);
  // Out of range: clamps to the nearest element, reads zero, writes nothing.
  const float2 last = surf2Dread<float2>(from, 999 * sizeof(float2), 999, cudaBoundaryModeClamp);
  const float2 none = surf2Dread<float2>(from, -8, 0, cudaBoundaryModeZero);
  if (last.x != side - 1 || last.y != side - 1 || none.x != 0 || none.y != 0) __trap();
  surf2Dwrite(make_float2(-1, -1), to, -8, 0, cudaBoundaryModeZero);
}
__global__ void fill_slices(cudaSurfaceObject_t volume, cudaSurfaceObject_t layers) {
  for (int z = 0; z < 3; ++z) {
    surf3Dwrite<float>(place() + 1000 * z, volume, threadIdx.x * sizeof(float), threadIdx.y, z);
    surf2DLayeredwrite<float>(place() - 1000 * z, layers, threadIdx.x * sizeof(float), threadIdx.y, z);
  }
}

// ---------------------------------------------------------------- host

static Results* results;

static cudaResourceDesc resource_of(cudaArray_t array) {
  cudaResourceDesc resource = {};
  resource.resType = cudaResourceTypeArray;
  resource.res.array.array = array;
  return resource;
}

static cudaTextureDesc description_of(cudaTextureAddressMode mode, cudaTextureFilterMode filter,
                                      bool normalized) {
  cudaTextureDesc description = {};
  for (cudaTextureAddressMode& each : description.addressMode) each = mode;
  description.filterMode = filter;
  description.normalizedCoords = normalized;
  return description;
}

static cudaTextureObject_t texture_of(const cudaResourceDesc& resource, const cudaTextureDesc& description) {
  cudaTextureObject_t texture = 0;
  CHECK(cudaCreateTextureObject(&texture, &resource, &description, nullptr));
  return texture;
}

template <typename T>
static cudaArray_t array_of(const std::vector<T>& from, cudaExtent extent, unsigned flags = 0) {
  const cudaChannelFormatDesc format = cudaCreateChannelDesc<T>();
  cudaArray_t array = nullptr;
  CHECK(cudaMalloc3DArray(&array, &format, extent, flags));
  cudaMemcpy3DParms copy = {};
  copy.srcPtr = make_cudaPitchedPtr(const_cast<T*>(from.data()), extent.width * sizeof(T), extent.width,
                                    extent.height == 0 ? 1 : extent.height);
  copy.dstArray = array;
  copy.extent = make_cudaExtent(extent.width, extent.height == 0 ? 1 : extent.height,
                                extent.depth == 0 ? 1 : extent.depth);
  copy.kind = cudaMemcpyHostToDevice;
  CHECK(cudaMemcpy3D(&copy));
  return array;
}

static std::vector<float> numbers(int size) {
  std::vector<float> values(size);
  for (int i = 0; i < size; ++i) values[i] = static_cast<float>(i * 7 % 251) / 4;
  return values;
}

/// Prints a checksum of the values read, and compares each with `expected` if given.
static void report(const char* name, const std::function<float(int x, int y)>& expected = nullptr) {
  CHECK(cudaDeviceSynchronize());
  Results host;
  CHECK(cudaMemcpy(&host, results, sizeof host, cudaMemcpyDeviceToHost));
  unsigned long long sum = 1469598103934665603ull;
  const auto* const bytes = reinterpret_cast<const unsigned char*>(&host);
  for (std::size_t i = 0; i < sizeof host; ++i) sum = (sum ^ bytes[i]) * 1099511628211ull;
  int wrong = 0;
  for (int i = 0; expected && i < count; ++i) wrong += host.values[i].x != expected(i % side, i / side);
  std::printf("%-12s %016llx %d wrong, first %g %g %g %g\n", name, sum, wrong, host.values[17].x,
              host.values[17].y, host.values[17].z, host.values[17].w);
  CHECK(cudaMemset(results, 0, sizeof host));
}

static const dim3 threads(side, side);

static void memory_textures() {
  const std::vector<float> values = numbers(count);
  float* line = nullptr;
  CHECK(cudaMalloc(&line, count * sizeof(float)));
  CHECK(cudaMemcpy(line, values.data(), count * sizeof(float), cudaMemcpyHostToDevice));
  cudaResourceDesc resource = {};
  resource.resType = cudaResourceTypeLinear;
  resource.res.linear.devPtr = line;
  resource.res.linear.desc = cudaCreateChannelDesc<float>();
  resource.res.linear.sizeInBytes = count * sizeof(float);
  read_line<<<1, threads>>>(texture_of(resource, cudaTextureDesc{}), results);
  report("linear", [&](int x, int y) { return values[y * side + x]; });

  float4* rows = nullptr;
  std::size_t pitch = 0;
  CHECK(cudaMallocPitch(&rows, &pitch, side * sizeof(float4), side));
  std::vector<float4> quads(count);
  for (int i = 0; i < count; ++i)
    quads[i] = make_float4(values[i], values[i] + 1, values[i] + 2, values[i] + 3);
  CHECK(cudaMemcpy2D(rows, pitch, quads.data(), side * sizeof(float4), side * sizeof(float4), side,
                     cudaMemcpyHostToDevice));
  cudaResourceDesc pitched = {};
  pitched.resType = cudaResourceTypePitch2D;
  pitched.res.pitch2D.devPtr = rows;
  pitched.res.pitch2D.desc = cudaCreateChannelDesc<float4>();
  pitched.res.pitch2D.width = side;
  pitched.res.pitch2D.height = side;
  pitched.res.pitch2D.pitchInBytes = pitch;
  read_rows<<<1, threads>>>(
      texture_of(pitched, description_of(cudaAddressModeClamp, cudaFilterModeLinear, false)), results);
  report("pitched", [&](int x, int y) {
    return 0.75f * values[y * side + x] + 0.25f * values[y * side + std::min(x + 1, side - 1)];
  });
}

static void plane_textures() {
  const std::vector<float> values = numbers(count);
  std::vector<float4> quads(count);
  for (int i = 0; i < count; ++i) quads[i] = make_float4(values[i], -values[i], 1, 2);
  cudaArray_t array = array_of(quads, make_cudaExtent(side, side, 0), cudaArrayTextureGather);
  const struct {
    const char* name;
    cudaTextureAddressMode mode;
  } modes[] = {{"wrap", cudaAddressModeWrap},
               {"clamp", cudaAddressModeClamp},
               {"mirror", cudaAddressModeMirror},
               {"border", cudaAddressModeBorder}};
  for (const auto& [name, mode] : modes) {
    for (const auto filter : {cudaFilterModePoint, cudaFilterModeLinear}) {
      read_plane<<<1, threads>>>(texture_of(resource_of(array), description_of(mode, filter, true)), results,
                                 0.17f);
      report(name);
    }
  }
  gather<<<1, threads>>>(
      texture_of(resource_of(array), description_of(cudaAddressModeClamp, cudaFilterModePoint, false)),
      results);
  report("gather", [&](int x, int y) { return -values[std::min(y + 1, side - 1) * side + x]; });

  std::vector<uchar4> colours(count);
  for (int i = 0; i < count; ++i) colours[i] = make_uchar4(i, 255 - i, 3 * i, 255);
  cudaArray_t const bytes = array_of(colours, make_cudaExtent(side, side, 0));
  cudaTextureDesc description = description_of(cudaAddressModeWrap, cudaFilterModeLinear, true);
  description.readMode = cudaReadModeNormalizedFloat;
  read_plane<<<1, threads>>>(texture_of(resource_of(bytes), description), results, 0.3f);
  report("fractions");
  description.sRGB = 1;
  read_plane<<<1, threads>>>(texture_of(resource_of(bytes), description), results, 0.3f);
  report("srgb");
  read_integers<<<1, threads>>>(
      texture_of(resource_of(bytes), description_of(cudaAddressModeClamp, cudaFilterModePoint, false)),
      results);
  report("integers", [](int x, int y) { return static_cast<float>(y * side + x); });
}

static void deep_textures() {
  const std::vector<float> values = numbers(count * 12);
  const auto at = [&](int x, int y, int z) { return values[(z * side + y) * side + x]; };
  const auto linear = description_of(cudaAddressModeClamp, cudaFilterModeLinear, false);
  const auto point = description_of(cudaAddressModeClamp, cudaFilterModePoint, false);
  read_volume<<<1, threads>>>(
      texture_of(resource_of(array_of(values, make_cudaExtent(side, side, 3))), linear), results);
  report("volume", [&](int x, int y) {
    const int below = std::min(y + 1, side - 1);
    return 0.25f * (at(x, y, 0) + at(x, below, 0)) / 2 + 0.75f * (at(x, y, 1) + at(x, below, 1)) / 2;
  });
  read_layers<<<1, threads>>>(
      texture_of(resource_of(array_of(values, make_cudaExtent(side, side, 3), cudaArrayLayered)), point),
      results);
  report("layers", [&](int x, int y) { return at(x, y, x % 3); });
  read_lines<<<1, threads>>>(
      texture_of(resource_of(array_of(values, make_cudaExtent(side, 0, 4), cudaArrayLayered)), point),
      results);
  report("lines", [&](int x, int y) { return values[y % 4 * side + x]; });
  read_cube<<<1, threads>>>(
      texture_of(resource_of(array_of(values, make_cudaExtent(side, side, 6), cudaArrayCubemap)), point),
      results);
  report("cube", [&](int x, int y) { return at(x, y, 0); });
  read_cubes<<<1, threads>>>(texture_of(resource_of(array_of(values, make_cudaExtent(side, side, 12),
                                                             cudaArrayCubemap | cudaArrayLayered)),
                                        point),
                             results);
  report("cubes", [&](int x, int y) { return at(x, y, 4); });
}

static void level_textures() {
  const cudaChannelFormatDesc format = cudaCreateChannelDesc<float>();
  cudaMipmappedArray_t levels = nullptr;
  CHECK(cudaMallocMipmappedArray(&levels, &format, make_cudaExtent(side, side, 0), 5));
  for (int level = 0; level < 5; ++level) {
    cudaArray_t array = nullptr;
    CHECK(cudaGetMipmappedArrayLevel(&array, levels, level));
    const int width = side >> level;
    const std::vector<float> values(width * width, static_cast<float>(100 * level));
    CHECK(cudaMemcpy2DToArray(array, 0, 0, values.data(), width * sizeof(float), width * sizeof(float), width,
                              cudaMemcpyHostToDevice));
  }
  cudaResourceDesc resource = {};
  resource.resType = cudaResourceTypeMipmappedArray;
  resource.res.mipmap.mipmap = levels;
  cudaTextureDesc description = description_of(cudaAddressModeClamp, cudaFilterModeLinear, true);
  description.mipmapFilterMode = cudaFilterModeLinear;
  description.maxMipmapLevelClamp = 4;
  read_levels<<<1, threads>>>(texture_of(resource, description), results);
  report("levels", [](int x, int) { return 25.0f * x; });
}

static void surfaces() {
  const std::vector<float2> nothing(count);
  cudaArray_t const first = array_of(nothing, make_cudaExtent(side, side, 0), cudaArraySurfaceLoadStore);
  cudaArray_t const second = array_of(nothing, make_cudaExtent(side, side, 0), cudaArraySurfaceLoadStore);
  cudaArray_t const volume =
      array_of(numbers(3 * count), make_cudaExtent(side, side, 3), cudaArraySurfaceLoadStore);
  cudaArray_t const layers = array_of(numbers(3 * count), make_cudaExtent(side, side, 3),
                                      cudaArraySurfaceLoadStore | cudaArrayLayered);
  cudaSurfaceObject_t objects[4] = {};
  int next = 0;
  for (cudaArray_t array : {first, second, volume, layers}) {
    const cudaResourceDesc resource = resource_of(array);
    CHECK(cudaCreateSurfaceObject(&objects[next++], &resource));
  }
  fill_plane<<<1, threads>>>(objects[0]);
  turn_plane<<<1, threads>>>(objects[0], objects[1]);
  fill_slices<<<1, threads>>>(objects[2], objects[3]);
  const auto point = description_of(cudaAddressModeClamp, cudaFilterModePoint, false);
  read_plane<<<1, threads>>>(texture_of(resource_of(second), point), results, 1.0f);
  report("surface", [](int, int y) { return static_cast<float>(y); });
  read_layers<<<1, threads>>>(texture_of(resource_of(layers), point), results);
  report("slices", [](int x, int y) { return static_cast<float>(y * side + x - x % 3 * 1000); });
  for (const cudaSurfaceObject_t object : objects) CHECK(cudaDestroySurfaceObject(object));
  CHECK(cudaFreeArray(first));
}

int main() {
  CHECK(cudaMalloc(&results, sizeof(Results)));
  CHECK(cudaMemset(results, 0, sizeof(Results)));
  memory_textures();
  plane_textures();
  deep_textures();
  level_textures();
  surfaces();
  return 0;
}
