// Arrays, textures and surfaces of the stand-in for the driver. Functions are called by their exported names.
#include <cuda.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <numeric>
#include <vector>

#include "device/cpu/driver/driver.h"

namespace lynxpp::device::cpu {
namespace {

using testing::ElementsAre;

template <typename Function>
Function* exported_as(const char* name) {
  for (const ApiFunction& each : driver_functions()) {
    if (std::strcmp(each.name, name) == 0) return reinterpret_cast<Function*>(each.address);
  }
  ADD_FAILURE() << name;
  return nullptr;
}

// For example CU(cuTexObjectDestroy)(object), or CU_V2(cuArrayCreate)(…) if cuda.h's name is a macro for the
// second version.
#define CU(name) exported_as<std::remove_pointer_t<decltype(&::name)>>(#name)
#define CU_V2(name) exported_as<std::remove_pointer_t<decltype(&::name)>>(#name "_v2")

constexpr const char* texture_kernels = R"(
.version 7.0
.target sm_75
.address_size 64
.visible .entry fetch(.param .u64 texture, .param .u64 out) {
  .reg .b64 %rd<4>;
  .reg .b32 %r<2>;
  .reg .f32 %f<5>;
  ld.param.u64 %rd0, [texture];
  ld.param.u64 %rd1, [out];
  mov.u32 %r0, %tid.x;
  cvt.rn.f32.u32 %f4, %r0;
  tex.2d.v4.f32.f32 {%f0, %f1, %f2, %f3}, [%rd0, {%f4, 0f3F800000}];
  mul.wide.u32 %rd2, %r0, 4;
  add.u64 %rd1, %rd1, %rd2;
  st.global.f32 [%rd1], %f0;
  ret;
}
)";

class DriverTextures : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_EQ(CU(cuInit)(0), CUDA_SUCCESS);
    ASSERT_EQ(CU(cuDevicePrimaryCtxRetain)(&context, 0), CUDA_SUCCESS);
    ASSERT_EQ(CU(cuCtxSetCurrent)(context), CUDA_SUCCESS);
  }
  void TearDown() override {
    EXPECT_EQ(CU(cuCtxSetCurrent)(nullptr), CUDA_SUCCESS);
    CU_V2(cuDevicePrimaryCtxReset)(0);
  }

  static CUarray make_array(const CUDA_ARRAY3D_DESCRIPTOR& description) {
    CUarray array = nullptr;
    EXPECT_EQ(CU_V2(cuArray3DCreate)(&array, &description), CUDA_SUCCESS);
    return array;
  }
  static std::vector<float> numbers(std::size_t count) {
    std::vector<float> values(count);
    std::iota(values.begin(), values.end(), 1.0f);
    return values;
  }
  static CUDA_RESOURCE_DESC resource_of(CUarray array) {
    CUDA_RESOURCE_DESC resource{};
    resource.resType = CU_RESOURCE_TYPE_ARRAY;
    resource.res.array.hArray = array;
    return resource;
  }

  CUcontext context = nullptr;
};

TEST_F(DriverTextures, ArraysReportTheirShape) {
  const CUDA_ARRAY_DESCRIPTOR plane{8, 4, CU_AD_FORMAT_HALF, 2};
  CUarray array = nullptr;
  ASSERT_EQ(CU_V2(cuArrayCreate)(&array, &plane), CUDA_SUCCESS);
  CUDA_ARRAY_DESCRIPTOR same{};
  ASSERT_EQ(CU_V2(cuArrayGetDescriptor)(&same, array), CUDA_SUCCESS);
  EXPECT_EQ(same.Width, 8u);
  EXPECT_EQ(same.Height, 4u);
  EXPECT_EQ(same.Format, CU_AD_FORMAT_HALF);
  EXPECT_EQ(same.NumChannels, 2u);
  CUDA_ARRAY3D_DESCRIPTOR all{};
  ASSERT_EQ(CU_V2(cuArray3DGetDescriptor)(&all, array), CUDA_SUCCESS);
  EXPECT_EQ(all.Depth, 0u);
  CUDA_ARRAY_MEMORY_REQUIREMENTS requirements{};
  ASSERT_EQ(CU(cuArrayGetMemoryRequirements)(&requirements, array, 0), CUDA_SUCCESS);
  EXPECT_EQ(requirements.size, 8u * 4 * 4);
  EXPECT_EQ(CU(cuArrayDestroy)(array), CUDA_SUCCESS);
  EXPECT_EQ(CU(cuArrayDestroy)(array), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(CU_V2(cuArrayGetDescriptor)(&same, array), CUDA_ERROR_INVALID_HANDLE);
  const CUDA_ARRAY_DESCRIPTOR video{8, 4, CU_AD_FORMAT_NV12, 3};
  EXPECT_EQ(CU_V2(cuArrayCreate)(&array, &video), CUDA_ERROR_NOT_SUPPORTED);
  const CUDA_ARRAY_DESCRIPTOR three{8, 4, CU_AD_FORMAT_FLOAT, 3};
  EXPECT_EQ(CU_V2(cuArrayCreate)(&array, &three), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(DriverTextures, ArraysAreFreedWithTheirContext) {
  CUcontext own = nullptr;
  ASSERT_EQ((exported_as<CUresult(CUcontext*, unsigned, CUdevice)>("cuCtxCreate_v2")(&own, 0, 0)),
            CUDA_SUCCESS);
  std::size_t before = 0;
  std::size_t total = 0;
  ASSERT_EQ(CU_V2(cuMemGetInfo)(&before, &total), CUDA_SUCCESS);
  CUarray const array = make_array({64, 64, 0, CU_AD_FORMAT_FLOAT, 1, 0});
  const CUDA_ARRAY3D_DESCRIPTOR description{64, 64, 0, CU_AD_FORMAT_FLOAT, 1, 0};
  CUmipmappedArray levels = nullptr;
  ASSERT_EQ(CU(cuMipmappedArrayCreate)(&levels, &description, 3), CUDA_SUCCESS);
  CUarray level = nullptr;
  ASSERT_EQ(CU(cuMipmappedArrayGetLevel)(&level, levels, 2), CUDA_SUCCESS);
  EXPECT_EQ(CU(cuArrayDestroy)(level), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(CU(cuMipmappedArrayGetLevel)(&level, levels, 3), CUDA_ERROR_INVALID_VALUE);
  ASSERT_EQ(CU_V2(cuCtxDestroy)(own), CUDA_SUCCESS);
  ASSERT_EQ(CU(cuCtxSetCurrent)(context), CUDA_SUCCESS);
  EXPECT_EQ(CU(cuArrayDestroy)(array), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(CU(cuMipmappedArrayDestroy)(levels), CUDA_ERROR_INVALID_HANDLE);
  std::size_t after = 0;
  ASSERT_EQ(CU_V2(cuMemGetInfo)(&after, &total), CUDA_SUCCESS);
  EXPECT_EQ(before, after);
}

TEST_F(DriverTextures, CopiesToAndFromArrays) {
  CUarray const array = make_array({4, 3, 2, CU_AD_FORMAT_FLOAT, 1, CUDA_ARRAY3D_LAYERED});
  const std::vector<float> from = numbers(24);
  CUDA_MEMCPY3D copy{};
  copy.srcMemoryType = CU_MEMORYTYPE_HOST;
  copy.srcHost = from.data();
  copy.srcPitch = 16;
  copy.srcHeight = 3;
  copy.dstMemoryType = CU_MEMORYTYPE_ARRAY;
  copy.dstArray = array;
  copy.WidthInBytes = 16;
  copy.Height = 3;
  copy.Depth = 2;
  ASSERT_EQ(CU_V2(cuMemcpy3D)(&copy), CUDA_SUCCESS);
  copy.dstZ = 1;
  EXPECT_EQ(CU_V2(cuMemcpy3D)(&copy), CUDA_ERROR_INVALID_VALUE);
  std::vector<float> to(4, 0);
  CUDA_MEMCPY2D back{};
  back.srcMemoryType = CU_MEMORYTYPE_ARRAY;
  back.srcArray = array;
  back.srcXInBytes = 8;
  back.srcY = 1;
  back.dstMemoryType = CU_MEMORYTYPE_HOST;
  back.dstHost = to.data();
  back.dstPitch = 8;
  back.WidthInBytes = 8;
  back.Height = 2;
  ASSERT_EQ(CU_V2(cuMemcpy2D)(&back), CUDA_SUCCESS);
  EXPECT_THAT(to, ElementsAre(7, 8, 11, 12));
  ASSERT_EQ(CU_V2(cuMemcpyAtoH)(to.data(), array, 12 * 4, 16), CUDA_SUCCESS);
  EXPECT_THAT(to, ElementsAre(13, 14, 15, 16));
  CUdeviceptr memory = 0;
  ASSERT_EQ(CU_V2(cuMemAlloc)(&memory, 16), CUDA_SUCCESS);
  ASSERT_EQ(CU_V2(cuMemcpyAtoD)(memory, array, 4, 16), CUDA_SUCCESS);
  ASSERT_EQ(CU_V2(cuMemcpyDtoA)(array, 0, memory, 16), CUDA_SUCCESS);
  ASSERT_EQ(CU_V2(cuMemcpyAtoA)(array, 32, array, 0, 16), CUDA_SUCCESS);
  ASSERT_EQ(CU_V2(cuMemcpyAtoHAsync)(to.data(), array, 32, 16, nullptr), CUDA_SUCCESS);
  ASSERT_EQ(CU(cuStreamSynchronize)(nullptr), CUDA_SUCCESS);
  EXPECT_THAT(to, ElementsAre(2, 3, 4, 5));
  ASSERT_EQ(CU_V2(cuMemcpyHtoAAsync)(array, 0, from.data(), 16, nullptr), CUDA_SUCCESS);
  ASSERT_EQ(CU_V2(cuMemcpyHtoA)(array, 16, from.data(), 16), CUDA_SUCCESS);
  EXPECT_EQ(CU_V2(cuMemcpyHtoA)(array, 96, from.data(), 16), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(CU_V2(cuMemcpyHtoA)(nullptr, 0, from.data(), 16), CUDA_ERROR_INVALID_HANDLE);
}

TEST_F(DriverTextures, KernelsReadTextures) {
  CUarray const array = make_array({4, 2, 0, CU_AD_FORMAT_UNSIGNED_INT8, 1, CUDA_ARRAY3D_SURFACE_LDST});
  const unsigned char bytes[8] = {1, 2, 3, 4, 51, 102, 153, 255};
  ASSERT_EQ(CU_V2(cuMemcpyHtoA)(array, 0, bytes, 8), CUDA_SUCCESS);
  const CUDA_RESOURCE_DESC resource = resource_of(array);
  CUDA_TEXTURE_DESC description{};
  for (CUaddress_mode& mode : description.addressMode) mode = CU_TR_ADDRESS_MODE_CLAMP;
  CUtexObject texture = 0;
  ASSERT_EQ(CU(cuTexObjectCreate)(&texture, &resource, &description, nullptr), CUDA_SUCCESS);
  CUmodule module = nullptr;
  CUfunction fetch = nullptr;
  ASSERT_EQ(CU(cuModuleLoadData)(&module, texture_kernels), CUDA_SUCCESS);
  ASSERT_EQ(CU(cuModuleGetFunction)(&fetch, module, "fetch"), CUDA_SUCCESS);
  CUdeviceptr out = 0;
  ASSERT_EQ(CU_V2(cuMemAlloc)(&out, 5 * 4), CUDA_SUCCESS);
  void* parameters[] = {&texture, &out};
  ASSERT_EQ(CU(cuLaunchKernel)(fetch, 1, 1, 1, 5, 1, 1, 0, nullptr, parameters, nullptr), CUDA_SUCCESS);
  std::vector<float> got(5);
  ASSERT_EQ(CU_V2(cuMemcpyDtoH)(got.data(), out, 20), CUDA_SUCCESS);
  EXPECT_THAT(got, ElementsAre(0.2f, 0.4f, 0.6f, 1.0f, 1.0f))
      << "bytes are read as fractions unless integers are requested";
  CUDA_RESOURCE_DESC same{};
  CUDA_TEXTURE_DESC same_description{};
  CUDA_RESOURCE_VIEW_DESC view{};
  EXPECT_EQ(CU(cuTexObjectGetResourceDesc)(&same, texture), CUDA_SUCCESS);
  EXPECT_EQ(same.res.array.hArray, array);
  EXPECT_EQ(CU(cuTexObjectGetTextureDesc)(&same_description, texture), CUDA_SUCCESS);
  EXPECT_EQ(std::memcmp(&description, &same_description, sizeof description), 0);
  EXPECT_EQ(CU(cuTexObjectGetResourceViewDesc)(&view, texture), CUDA_ERROR_INVALID_VALUE);
  CUsurfObject surface = 0;
  ASSERT_EQ(CU(cuSurfObjectCreate)(&surface, &resource), CUDA_SUCCESS);
  EXPECT_EQ(CU(cuSurfObjectGetResourceDesc)(&same, surface), CUDA_SUCCESS);
  EXPECT_EQ(CU(cuSurfObjectDestroy)(texture), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(CU(cuSurfObjectDestroy)(surface), CUDA_SUCCESS);
  EXPECT_EQ(CU(cuTexObjectDestroy)(texture), CUDA_SUCCESS);
  EXPECT_EQ(CU(cuTexObjectDestroy)(texture), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(DriverTextures, DescriptionsAreReturnedUnchanged) {
  CUdeviceptr memory = 0;
  ASSERT_EQ(CU_V2(cuMemAlloc)(&memory, 8192), CUDA_SUCCESS);
  memory = (memory + 511) / 512 * 512;
  CUDA_RESOURCE_DESC rows{};
  rows.resType = CU_RESOURCE_TYPE_PITCH2D;
  rows.res.pitch2D = {memory, CU_AD_FORMAT_SIGNED_INT16, 4, 5, 7, 64};
  CUDA_RESOURCE_DESC line{};
  line.resType = CU_RESOURCE_TYPE_LINEAR;
  line.res.linear = {memory, CU_AD_FORMAT_UNSIGNED_INT32, 2, 800};
  CUDA_TEXTURE_DESC description{};
  description.flags = CU_TRSF_READ_AS_INTEGER | CU_TRSF_NORMALIZED_COORDINATES;
  for (const CUDA_RESOURCE_DESC& each : {rows, line}) {
    CUtexObject texture = 0;
    ASSERT_EQ(CU(cuTexObjectCreate)(&texture, &each, &description, nullptr), CUDA_SUCCESS);
    CUDA_RESOURCE_DESC same{};
    ASSERT_EQ(CU(cuTexObjectGetResourceDesc)(&same, texture), CUDA_SUCCESS);
    EXPECT_EQ(std::memcmp(&each, &same, sizeof each), 0);
  }
  std::size_t elements = 0;
  EXPECT_EQ(CU(cuDeviceGetTexture1DLinearMaxWidth)(&elements, CU_AD_FORMAT_FLOAT, 1, 0), CUDA_SUCCESS);
  EXPECT_EQ(elements, std::size_t{1} << 28);
}

}  // namespace
}  // namespace lynxpp::device::cpu
