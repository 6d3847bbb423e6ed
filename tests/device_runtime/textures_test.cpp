// Arrays, textures and surfaces: allocation, copies, objects, descriptions, errors, and a kernel that reads
// them.
#include <gmock/gmock.h>

#include <chrono>
#include <cstring>
#include <numeric>
#include <thread>
#include <vector>

#include "tests/device_runtime/runtime_fixture.h"

namespace lynxpp::device::cpu::test {
namespace {

using testing::ElementsAre;
using testing::ElementsAreArray;

constexpr const char* texture_kernels = R"(
.version 7.0
.target sm_75
.address_size 64
.visible .entry fetch(.param .u64 texture, .param .u64 out) {
  .reg .b64 %rd<4>;
  .reg .b32 %r<4>;
  .reg .f32 %f<5>;
  ld.param.u64 %rd0, [texture];
  ld.param.u64 %rd1, [out];
  mov.u32 %r0, %tid.x;
  cvt.rn.f32.u32 %f4, %r0;
  tex.2d.v4.f32.f32 {%f0, %f1, %f2, %f3}, [%rd0, {%f4, %f4}];
  mul.wide.u32 %rd2, %r0, 4;
  add.u64 %rd1, %rd1, %rd2;
  st.global.f32 [%rd1], %f0;
  ret;
}
.visible .entry store(.param .u64 surface) {
  .reg .b64 %rd<2>;
  .reg .b32 %r<4>;
  ld.param.u64 %rd0, [surface];
  mov.u32 %r0, %tid.x;
  shl.b32 %r1, %r0, 2;
  mov.u32 %r2, 0;
  add.u32 %r3, %r0, 100;
  sust.b.2d.b32.trap [%rd0, {%r1, %r2}], {%r3};
  ret;
}
)";

class TextureTest : public RuntimeTest {
 protected:
  static cudaChannelFormatDesc floats() { return {32, 0, 0, 0, cudaChannelFormatKindFloat}; }
  static cudaChannelFormatDesc bytes(int channels) {
    return {8, channels > 1 ? 8 : 0, channels > 2 ? 8 : 0, channels > 2 ? 8 : 0,
            cudaChannelFormatKindUnsigned};
  }
  static cudaArray_t make_array(const cudaChannelFormatDesc& format, std::size_t width, std::size_t height,
                                unsigned flags = 0) {
    cudaArray_t array = nullptr;
    EXPECT_EQ(CUDA(cudaMallocArray)(&array, &format, width, height, flags), cudaSuccess);
    return array;
  }
  static cudaResourceDesc resource_of(cudaArray_t array) {
    cudaResourceDesc resource{};
    resource.resType = cudaResourceTypeArray;
    resource.res.array.array = array;
    return resource;
  }
  static cudaError_t create(const cudaResourceDesc& resource, const cudaTextureDesc& texture,
                            cudaTextureObject_t* object = nullptr) {
    cudaTextureObject_t unused = 0;
    return CUDA(cudaCreateTextureObject)(object != nullptr ? object : &unused, &resource, &texture, nullptr);
  }
  static std::vector<float> numbers(std::size_t count) {
    std::vector<float> values(count);
    std::iota(values.begin(), values.end(), 1.0f);
    return values;
  }
};

TEST_F(TextureTest, ArraysReportTheirShape) {
  const cudaChannelFormatDesc format = bytes(4);
  cudaArray_t array = nullptr;
  ASSERT_EQ(CUDA(cudaMalloc3DArray)(&array, &format, {16, 16, 12}, cudaArrayCubemap | cudaArrayLayered),
            cudaSuccess);
  cudaChannelFormatDesc description{};
  cudaExtent extent{};
  unsigned flags = 0;
  ASSERT_EQ(CUDA(cudaArrayGetInfo)(&description, &extent, &flags, array), cudaSuccess);
  EXPECT_EQ(std::memcmp(&description, &format, sizeof format), 0);
  EXPECT_THAT((std::vector<std::size_t>{extent.width, extent.height, extent.depth}), ElementsAre(16, 16, 12));
  EXPECT_EQ(flags, unsigned{cudaArrayCubemap | cudaArrayLayered});
  EXPECT_EQ(CUDA(cudaArrayGetInfo)(nullptr, nullptr, nullptr, array), cudaSuccess);
  ASSERT_EQ(CUDA(cudaGetChannelDesc)(&description, array), cudaSuccess);
  cudaArrayMemoryRequirements requirements{};
  ASSERT_EQ(CUDA(cudaArrayGetMemoryRequirements)(&requirements, array, 0), cudaSuccess);
  EXPECT_EQ(requirements.size, 16u * 16 * 12 * 4);
  cudaArray_t plane = nullptr;
  EXPECT_EQ(CUDA(cudaArrayGetPlane)(&plane, array, 0), cudaErrorInvalidValue);
  EXPECT_EQ(CUDA(cudaFreeArray)(array), cudaSuccess);
  EXPECT_EQ(CUDA(cudaFreeArray)(array), cudaErrorInvalidResourceHandle);
  EXPECT_EQ(CUDA(cudaFreeArray)(nullptr), cudaSuccess);
  EXPECT_EQ(CUDA(cudaArrayGetInfo)(&description, nullptr, nullptr, array), cudaErrorInvalidResourceHandle);
  std::size_t elements = 0;
  EXPECT_EQ(CUDA(cudaDeviceGetTexture1DLinearMaxWidth)(&elements, &format, 0), cudaSuccess);
  EXPECT_EQ(elements, std::size_t{1} << 28);
}

TEST_F(TextureTest, InvalidArraysAreRejected) {
  struct Case {
    cudaChannelFormatDesc format;
    cudaExtent extent;
    unsigned flags;
    cudaError_t error;
  };
  const cudaChannelFormatDesc good = floats();
  const Case cases[] = {
      {{8, 16, 0, 0, cudaChannelFormatKindUnsigned}, {4, 4, 0}, 0, cudaErrorInvalidChannelDescriptor},
      {{8, 8, 8, 0, cudaChannelFormatKindUnsigned}, {4, 4, 0}, 0, cudaErrorInvalidChannelDescriptor},
      {{8, 0, 0, 0, cudaChannelFormatKindFloat}, {4, 4, 0}, 0, cudaErrorInvalidChannelDescriptor},
      {{0, 0, 0, 0, cudaChannelFormatKindUnsigned}, {4, 4, 0}, 0, cudaErrorInvalidChannelDescriptor},
      {good, {0, 4, 0}, 0, cudaErrorInvalidValue},
      {good, {4, 0, 4}, 0, cudaErrorInvalidValue},
      {good, {4, 0, 4}, cudaArrayLayered, cudaSuccess},
      {good, {4, 4, 0}, cudaArrayLayered, cudaErrorInvalidValue},
      {good, {4, 5, 6}, cudaArrayCubemap, cudaErrorInvalidValue},
      {good, {4, 4, 12}, cudaArrayCubemap, cudaErrorInvalidValue},
      {good, {4, 4, 7}, cudaArrayCubemap | cudaArrayLayered, cudaErrorInvalidValue},
      {good, {4, 4, 4}, cudaArrayTextureGather, cudaErrorInvalidValue},
      {good, {4, 4, 0}, cudaArrayTextureGather, cudaSuccess},
      {good, {200000, 0, 0}, 0, cudaErrorInvalidValue},
      {good, {131072, 0, 0}, cudaArraySurfaceLoadStore, cudaErrorInvalidValue},
      {good, {4, 4, 0}, cudaArraySparse, cudaErrorNotSupported},
      {good, {4, 4, 0}, 0x4000, cudaErrorInvalidValue},
  };
  for (const Case& each : cases) {
    cudaArray_t array = nullptr;
    EXPECT_EQ(CUDA(cudaMalloc3DArray)(&array, &each.format, each.extent, each.flags), each.error)
        << each.extent.width << " " << each.extent.height << " " << each.extent.depth << " " << each.flags;
    EXPECT_EQ(array != nullptr, each.error == cudaSuccess);
  }
  cudaArray_t array = nullptr;
  EXPECT_EQ(CUDA(cudaMallocArray)(&array, &good, 4, 4, cudaArrayLayered), cudaErrorInvalidValue);
  EXPECT_EQ(CUDA(cudaMallocArray)(nullptr, &good, 4, 4, 0), cudaErrorInvalidValue);
  EXPECT_EQ(CUDA(cudaMallocArray)(&array, nullptr, 4, 4, 0), cudaErrorInvalidValue);
}

TEST_F(TextureTest, CopiesRectangles) {
  cudaArray_t array = make_array(floats(), 4, 3);
  const std::vector<float> from = numbers(12);
  const std::size_t pitch = 4 * sizeof(float);
  ASSERT_EQ(CUDA(cudaMemcpy2DToArray)(array, 0, 0, from.data(), pitch, pitch, 3, cudaMemcpyHostToDevice),
            cudaSuccess);
  std::vector<float> to(4, 0);
  ASSERT_EQ(CUDA(cudaMemcpy2DFromArray)(to.data(), 8, array, 4, 1, 8, 2, cudaMemcpyDeviceToHost),
            cudaSuccess);
  EXPECT_THAT(to, ElementsAre(6, 7, 10, 11));
  cudaArray_t other = make_array(floats(), 4, 3);
  ASSERT_EQ(CUDA(cudaMemcpy2DArrayToArray)(other, 0, 0, array, 4, 1, 8, 2, cudaMemcpyDeviceToDevice),
            cudaSuccess);
  ASSERT_EQ(CUDA(cudaMemcpy2DFromArray)(to.data(), 8, other, 0, 0, 8, 2, cudaMemcpyDefault), cudaSuccess);
  EXPECT_THAT(to, ElementsAre(6, 7, 10, 11));
  // A copy of bytes continues in the next row.
  ASSERT_EQ(CUDA(cudaMemcpyFromArray)(to.data(), array, 12, 0, 16, cudaMemcpyDeviceToHost), cudaSuccess);
  EXPECT_THAT(to, ElementsAre(4, 5, 6, 7));
  ASSERT_EQ(CUDA(cudaMemcpyToArray)(array, 0, 2, to.data(), 16, cudaMemcpyHostToDevice), cudaSuccess);
  ASSERT_EQ(CUDA(cudaMemcpyArrayToArray)(other, 0, 0, array, 0, 2, 16, cudaMemcpyDeviceToDevice),
            cudaSuccess);
  std::vector<float> row(4, 0);
  ASSERT_EQ(CUDA(cudaMemcpyFromArray)(row.data(), other, 0, 0, 16, cudaMemcpyDeviceToHost), cudaSuccess);
  EXPECT_THAT(row, ElementsAre(4, 5, 6, 7));
  const auto to_array = [&](std::size_t x, std::size_t y, std::size_t width, std::size_t height,
                            std::size_t stride) {
    return CUDA(cudaMemcpy2DToArray)(array, x, y, from.data(), stride, width, height, cudaMemcpyHostToDevice);
  };
  EXPECT_EQ(to_array(4, 0, 16, 1, 16), cudaErrorInvalidValue);
  EXPECT_EQ(to_array(0, 1, 16, 3, 16), cudaErrorInvalidValue);
  EXPECT_EQ(to_array(0, 0, 16, 2, 8), cudaErrorInvalidPitchValue);
  EXPECT_EQ(to_array(0, 0, 16, 1, 0), cudaSuccess) << "the pitch is ignored for a single row";
  EXPECT_EQ(CUDA(cudaMemcpyToArray)(array, 4, 2, from.data(), 16, cudaMemcpyHostToDevice),
            cudaErrorInvalidValue);
  EXPECT_EQ(CUDA(cudaMemcpy2DToArray)(array, 0, 0, nullptr, 16, 16, 1, cudaMemcpyHostToDevice),
            cudaErrorInvalidValue);
  int none = 0;
  EXPECT_EQ(CUDA(cudaMemcpyToArray)(reinterpret_cast<cudaArray_t>(&none), 0, 0, from.data(), 16,
                                    cudaMemcpyHostToDevice),
            cudaErrorInvalidResourceHandle);
}

TEST_F(TextureTest, CopiesOfBoxesCountElements) {
  const cudaChannelFormatDesc format = bytes(2);
  cudaArray_t array = nullptr;
  ASSERT_EQ(CUDA(cudaMalloc3DArray)(&array, &format, {4, 2, 3}, 0), cudaSuccess);
  std::vector<unsigned char> from(4 * 2 * 3 * 2);
  std::iota(from.begin(), from.end(), static_cast<unsigned char>(0));
  cudaMemcpy3DParms copy{};
  copy.srcPtr = {from.data(), 8, 8, 2};
  copy.dstArray = array;
  copy.extent = {4, 2, 3};
  copy.kind = cudaMemcpyHostToDevice;
  ASSERT_EQ(CUDA(cudaMemcpy3D)(&copy), cudaSuccess);
  std::vector<unsigned char> to(8, 0);
  cudaMemcpy3DParms back{};
  back.srcArray = array;
  back.srcPos = {2, 1, 1};
  back.dstPtr = {to.data(), 4, 4, 1};
  back.extent = {2, 1, 2};
  back.kind = cudaMemcpyDeviceToHost;
  ASSERT_EQ(CUDA(cudaMemcpy3D)(&back), cudaSuccess);
  EXPECT_THAT(to, ElementsAre(28, 29, 30, 31, 44, 45, 46, 47));
  back.srcPos = {3, 1, 1};
  EXPECT_EQ(CUDA(cudaMemcpy3D)(&back), cudaErrorInvalidValue);
  back.srcPtr = {from.data(), 8, 8, 2};
  EXPECT_EQ(CUDA(cudaMemcpy3D)(&back), cudaErrorInvalidValue) << "both an array and a pointer";
  cudaMemcpy3DParms between{};
  between.srcArray = array;
  between.dstArray = make_array(floats(), 4, 2);
  between.extent = {1, 1, 1};
  between.kind = cudaMemcpyDeviceToDevice;
  EXPECT_EQ(CUDA(cudaMemcpy3D)(&between), cudaErrorInvalidValue) << "elements of different sizes";
}

TEST_F(TextureTest, LevelsAreSeparateArrays) {
  const cudaChannelFormatDesc format = floats();
  cudaMipmappedArray_t levels = nullptr;
  ASSERT_EQ(CUDA(cudaMallocMipmappedArray)(&levels, &format, {8, 4, 0}, 99, 0), cudaSuccess);
  cudaArray_t level = nullptr;
  ASSERT_EQ(CUDA(cudaGetMipmappedArrayLevel)(&level, levels, 3), cudaSuccess);
  cudaExtent extent{};
  ASSERT_EQ(CUDA(cudaArrayGetInfo)(nullptr, &extent, nullptr, level), cudaSuccess);
  EXPECT_THAT((std::vector<std::size_t>{extent.width, extent.height, extent.depth}), ElementsAre(1, 1, 0));
  cudaArray_t again = nullptr;
  ASSERT_EQ(CUDA(cudaGetMipmappedArrayLevel)(&again, levels, 3), cudaSuccess);
  EXPECT_EQ(level, again);
  EXPECT_EQ(CUDA(cudaGetMipmappedArrayLevel)(&again, levels, 4), cudaErrorInvalidValue);
  EXPECT_EQ(CUDA(cudaFreeArray)(level), cudaErrorInvalidValue);
  cudaArrayMemoryRequirements requirements{};
  EXPECT_EQ(CUDA(cudaMipmappedArrayGetMemoryRequirements)(&requirements, levels, 0), cudaSuccess);
  EXPECT_EQ(CUDA(cudaFreeMipmappedArray)(levels), cudaSuccess);
  EXPECT_EQ(CUDA(cudaFreeMipmappedArray)(levels), cudaErrorInvalidResourceHandle);
  EXPECT_EQ(CUDA(cudaFreeArray)(level), cudaErrorInvalidResourceHandle);
}

TEST_F(TextureTest, KernelsReadAndWriteCopiedData) {
  Program program(texture_kernels);
  const void* const fetch = program.kernel("fetch");
  const void* const store = program.kernel("store");
  cudaArray_t array = make_array(floats(), 4, 4, cudaArraySurfaceLoadStore);
  const std::vector<float> from = numbers(16);
  ASSERT_EQ(
      CUDA(cudaMemcpy2DToArrayAsync)(array, 0, 0, from.data(), 16, 16, 4, cudaMemcpyHostToDevice, nullptr),
      cudaSuccess);
  const cudaResourceDesc resource = resource_of(array);
  cudaTextureDesc description{};
  description.addressMode[0] = description.addressMode[1] = cudaAddressModeBorder;
  description.borderColor[0] = -1;
  cudaTextureObject_t texture = 0;
  ASSERT_EQ(create(resource, description, &texture), cudaSuccess);
  int* const out = device_ints(std::vector<int>(6, 0));
  void* arguments[] = {&texture, const_cast<int**>(&out)};
  ASSERT_EQ(CUDA(cudaLaunchKernel)(fetch, dim3(1), dim3(6), arguments, 0, nullptr), cudaSuccess);
  std::vector<float> got(6);
  ASSERT_EQ(CUDA(cudaMemcpy)(got.data(), out, 24, cudaMemcpyDeviceToHost), cudaSuccess);
  EXPECT_THAT(got, ElementsAre(1, 6, 11, 16, -1, -1));
  cudaSurfaceObject_t surface = 0;
  ASSERT_EQ(CUDA(cudaCreateSurfaceObject)(&surface, &resource), cudaSuccess);
  void* surface_arguments[] = {&surface};
  ASSERT_EQ(CUDA(cudaLaunchKernel)(store, dim3(1), dim3(4), surface_arguments, 0, nullptr), cudaSuccess);
  std::vector<int> row(4);
  ASSERT_EQ(CUDA(cudaMemcpy2DFromArray)(row.data(), 16, array, 0, 0, 16, 1, cudaMemcpyDeviceToHost),
            cudaSuccess);
  EXPECT_THAT(row, ElementsAre(100, 101, 102, 103));
  // The fifth thread is out of bounds.
  ASSERT_EQ(CUDA(cudaLaunchKernel)(store, dim3(1), dim3(5), surface_arguments, 0, nullptr), cudaSuccess);
  EXPECT_EQ(CUDA(cudaDeviceSynchronize)(), cudaErrorIllegalAddress);
}

TEST_F(TextureTest, DestroyingWaitsForKernelsThatRead) {
  Program program(texture_kernels);
  const void* const fetch = program.kernel("fetch");
  cudaArray_t array = make_array(floats(), 4, 4);
  const std::vector<float> from = numbers(16);
  ASSERT_EQ(CUDA(cudaMemcpyToArray)(array, 0, 0, from.data(), 64, cudaMemcpyHostToDevice), cudaSuccess);
  cudaTextureObject_t texture = 0;
  ASSERT_EQ(create(resource_of(array), {}, &texture), cudaSuccess);
  int* const out = device_ints({0, 0});
  void* arguments[] = {&texture, const_cast<int**>(&out)};
  // Unless the calls below wait, they return long before the kernel starts.
  const auto delay = [](void*) { std::this_thread::sleep_for(std::chrono::milliseconds(30)); };
  ASSERT_EQ(CUDA(cudaLaunchHostFunc)(nullptr, delay, nullptr), cudaSuccess);
  ASSERT_EQ(CUDA(cudaLaunchKernel)(fetch, dim3(1), dim3(2), arguments, 0, nullptr), cudaSuccess);
  EXPECT_EQ(CUDA(cudaDestroyTextureObject)(texture), cudaSuccess);
  EXPECT_EQ(CUDA(cudaFreeArray)(array), cudaSuccess);
  std::vector<float> got(2);
  ASSERT_EQ(CUDA(cudaMemcpy)(got.data(), out, 8, cudaMemcpyDeviceToHost), cudaSuccess);
  EXPECT_THAT(got, ElementsAre(1, 6));
}

TEST_F(TextureTest, TexturesOfFreedArraysFailTheKernel) {
  Program program(texture_kernels);
  const void* const fetch = program.kernel("fetch");
  cudaArray_t array = make_array(floats(), 4, 4);
  cudaTextureObject_t texture = 0;
  ASSERT_EQ(create(resource_of(array), {}, &texture), cudaSuccess);
  ASSERT_EQ(CUDA(cudaFreeArray)(array), cudaSuccess);
  int* const out = device_ints({0});
  void* arguments[] = {&texture, const_cast<int**>(&out)};
  ASSERT_EQ(CUDA(cudaLaunchKernel)(fetch, dim3(1), dim3(1), arguments, 0, nullptr), cudaSuccess);
  EXPECT_EQ(CUDA(cudaDeviceSynchronize)(), cudaErrorIllegalAddress);
}

TEST_F(TextureTest, DescriptionsCanBeQueried) {
  cudaArray_t array = make_array(bytes(4), 8, 8, cudaArraySurfaceLoadStore);
  const cudaResourceDesc resource = resource_of(array);
  cudaTextureDesc texture{};
  texture.readMode = cudaReadModeNormalizedFloat;
  texture.filterMode = cudaFilterModeLinear;
  texture.normalizedCoords = 1;
  cudaResourceViewDesc view{};
  view.format = cudaResViewFormatSignedInt1;
  view.width = view.height = 8;
  cudaTextureObject_t object = 0;
  EXPECT_EQ(CUDA(cudaCreateTextureObject)(&object, &resource, &texture, &view),
            cudaErrorInvalidFilterSetting);
  view.format = cudaResViewFormatSignedShort2;
  ASSERT_EQ(CUDA(cudaCreateTextureObject)(&object, &resource, &texture, &view), cudaSuccess);
  cudaResourceDesc same_resource{};
  cudaTextureDesc same_texture{};
  cudaResourceViewDesc same_view{};
  ASSERT_EQ(CUDA(cudaGetTextureObjectResourceDesc)(&same_resource, object), cudaSuccess);
  ASSERT_EQ(CUDA(cudaGetTextureObjectTextureDesc)(&same_texture, object), cudaSuccess);
  ASSERT_EQ(CUDA(cudaGetTextureObjectResourceViewDesc)(&same_view, object), cudaSuccess);
  EXPECT_EQ(same_resource.res.array.array, array);
  EXPECT_EQ(same_texture.filterMode, cudaFilterModeLinear);
  EXPECT_EQ(same_view.format, cudaResViewFormatSignedShort2);
  cudaTextureObject_t plain = 0;
  ASSERT_EQ(create(resource, texture, &plain), cudaSuccess);
  EXPECT_EQ(CUDA(cudaGetTextureObjectResourceViewDesc)(&same_view, plain), cudaErrorInvalidValue);
  EXPECT_EQ(CUDA(cudaDestroySurfaceObject)(object), cudaErrorInvalidValue);
  EXPECT_EQ(CUDA(cudaDestroyTextureObject)(object), cudaSuccess);
  EXPECT_EQ(CUDA(cudaDestroyTextureObject)(object), cudaErrorInvalidValue);
  EXPECT_EQ(CUDA(cudaDestroyTextureObject)(0), cudaSuccess);
  EXPECT_EQ(CUDA(cudaGetTextureObjectTextureDesc)(&same_texture, object), cudaErrorInvalidValue);
  cudaSurfaceObject_t surface = 0;
  ASSERT_EQ(CUDA(cudaCreateSurfaceObject)(&surface, &resource), cudaSuccess);
  ASSERT_EQ(CUDA(cudaGetSurfaceObjectResourceDesc)(&same_resource, surface), cudaSuccess);
  EXPECT_EQ(CUDA(cudaDestroySurfaceObject)(surface), cudaSuccess);
  // Views that do not match.
  view.width = 4;
  EXPECT_EQ(CUDA(cudaCreateTextureObject)(&object, &resource, &texture, &view), cudaErrorInvalidValue);
  view.width = 8;
  view.format = cudaResViewFormatUnsignedInt2;
  EXPECT_EQ(CUDA(cudaCreateTextureObject)(&object, &resource, &texture, &view), cudaErrorInvalidValue);
  view.format = cudaResViewFormatUnsignedBlockCompressed1;
  EXPECT_EQ(CUDA(cudaCreateTextureObject)(&object, &resource, &texture, &view), cudaErrorNotSupported);
}

TEST_F(TextureTest, InvalidObjectsAreRejected) {
  cudaArray_t const integers = make_array(bytes(1), 8, 8);
  cudaTextureDesc linear{};
  linear.filterMode = cudaFilterModeLinear;
  EXPECT_EQ(create(resource_of(integers), linear), cudaErrorInvalidFilterSetting);
  cudaTextureDesc mode{};
  mode.addressMode[1] = static_cast<cudaTextureAddressMode>(7);
  EXPECT_EQ(create(resource_of(integers), mode), cudaErrorInvalidValue);
  cudaTextureDesc seamless{};
  seamless.seamlessCubemap = 1;
  EXPECT_EQ(create(resource_of(integers), seamless), cudaErrorInvalidValue);
  cudaSurfaceObject_t surface = 0;
  const cudaResourceDesc no_surface = resource_of(integers);
  EXPECT_EQ(CUDA(cudaCreateSurfaceObject)(&surface, &no_surface), cudaSuccess);  // as on an H100
  EXPECT_EQ(CUDA(cudaDestroySurfaceObject)(surface), cudaSuccess);

  const cudaChannelFormatDesc format = floats();
  cudaMipmappedArray_t levels = nullptr;
  ASSERT_EQ(CUDA(cudaMallocMipmappedArray)(&levels, &format, {8, 8, 0}, 4, 0), cudaSuccess);
  cudaResourceDesc mipmapped{};
  mipmapped.resType = cudaResourceTypeMipmappedArray;
  mipmapped.res.mipmap.mipmap = levels;
  EXPECT_EQ(create(mipmapped, {}), cudaErrorInvalidValue) << "coordinates must be normalized";

  int* const memory = device_ints(std::vector<int>(256, 0));
  cudaResourceDesc rows{};
  rows.resType = cudaResourceTypePitch2D;
  rows.res.pitch2D.devPtr = memory;
  rows.res.pitch2D.desc = format;
  rows.res.pitch2D.width = 8;
  rows.res.pitch2D.height = 4;
  rows.res.pitch2D.pitchInBytes = 24;
  EXPECT_EQ(create(rows, {}), cudaErrorInvalidValue) << "the pitch is shorter than a row";
  rows.res.pitch2D.pitchInBytes = 40;
  EXPECT_EQ(create(rows, {}), cudaErrorInvalidValue) << "the pitch is not a multiple of 32";
  cudaResourceDesc line{};
  line.resType = cudaResourceTypeLinear;
  line.res.linear.devPtr = memory + 1;
  line.res.linear.desc = format;
  line.res.linear.sizeInBytes = 64;
  EXPECT_EQ(create(line, {}), cudaErrorInvalidValue) << "not aligned";
  line.res.linear.devPtr = memory;
  line.res.linear.sizeInBytes = 3;
  EXPECT_EQ(create(line, {}), cudaErrorInvalidValue) << "no element";
  line.res.linear.sizeInBytes = 64;
  line.flags = 1;
  EXPECT_EQ(create(line, {}), cudaErrorInvalidValue);
}

TEST_F(TextureTest, PropertiesReportMaximumSizes) {
  cudaDeviceProp properties{};
  ASSERT_EQ(CUDA(cudaGetDeviceProperties)(&properties, 0), cudaSuccess);
  EXPECT_THAT(properties.maxTexture2D, ElementsAre(131072, 65536));
  EXPECT_THAT(properties.maxTextureCubemapLayered, ElementsAre(32768, 2046));
  int width = 0;
  ASSERT_EQ(CUDA(cudaDeviceGetAttribute)(&width, cudaDevAttrMaxSurface3DWidth, 0), cudaSuccess);
  EXPECT_EQ(width, properties.maxSurface3D[0]);
}

}  // namespace
}  // namespace lynxpp::device::cpu::test
