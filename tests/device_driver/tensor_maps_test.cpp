// Tensor maps of the stand-in for the driver, against the requirements that cuda.h states.
#include <gtest/gtest.h>

#include <array>
#include <tuple>
#include <utility>

#include "device/cpu/driver/driver.h"
#include "device/cpu/simt/execute/executor.h"
#include "device/cpu/simt/tensors/tensor_copy.h"
#include "device/cpu/simt/tensors/tensor_map.h"
#include "driver_fixture.h"

namespace lynxpp::device::cpu::test {
namespace {

/// Arguments of both functions; each test changes one.
struct Arguments {
  CUtensorMapDataType type = CU_TENSOR_MAP_DATA_TYPE_FLOAT16;
  cuuint32_t rank = 4;
  std::uintptr_t address = 0x10000;
  std::array<cuuint64_t, 5> sizes = {64, 10, 9, 8, 1};
  std::array<cuuint64_t, 4> strides = {128, 1280, 11520, 0};
  std::array<cuuint32_t, 5> box = {64, 4, 3, 2, 1};
  std::array<cuuint32_t, 5> steps = {1, 2, 1, 1, 1};
  std::array<int, 3> lower = {-1, -2, 0};
  std::array<int, 3> upper = {1, -3, 0};
  cuuint32_t channels = 32;
  cuuint32_t pixels = 100;
  CUtensorMapInterleave interleave = CU_TENSOR_MAP_INTERLEAVE_NONE;
  CUtensorMapSwizzle swizzle = CU_TENSOR_MAP_SWIZZLE_128B;
  CUtensorMapL2promotion promotion = CU_TENSOR_MAP_L2_PROMOTION_L2_128B;
  CUtensorMapFloatOOBfill fill = CU_TENSOR_MAP_FLOAT_OOB_FILL_NAN_REQUEST_ZERO_FMA;
};

class DriverTensorMaps : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_EQ(CALL(cuInit, 0), CUDA_SUCCESS);
    ASSERT_EQ(CALL(cuDevicePrimaryCtxRetain, &context_, 0), CUDA_SUCCESS);
    ASSERT_EQ(CALL(cuCtxSetCurrent, context_), CUDA_SUCCESS);
  }
  void TearDown() override {
    EXPECT_EQ(CALL(cuCtxSetCurrent, nullptr), CUDA_SUCCESS);
    EXPECT_EQ(found<CUresult(CUdevice)>("cuDevicePrimaryCtxRelease")(0), CUDA_SUCCESS);
  }

  CUresult tiled(const Arguments& a) {
    return CALL(cuTensorMapEncodeTiled, &map_, a.type, a.rank, reinterpret_cast<void*>(a.address),
                a.sizes.data(), a.strides.data(), a.box.data(), a.steps.data(), a.interleave, a.swizzle,
                a.promotion, a.fill);
  }
  CUresult im2col(const Arguments& a) {
    return CALL(cuTensorMapEncodeIm2col, &map_, a.type, a.rank, reinterpret_cast<void*>(a.address),
                a.sizes.data(), a.strides.data(), a.lower.data(), a.upper.data(), a.channels, a.pixels,
                a.steps.data(), a.interleave, a.swizzle, a.promotion, a.fill);
  }
  CUresult wide(const Arguments& a, CUtensorMapIm2ColWideMode mode) {
    return CALL(cuTensorMapEncodeIm2colWide, &map_, a.type, a.rank, reinterpret_cast<void*>(a.address),
                a.sizes.data(), a.strides.data(), a.lower[0], a.upper[0], a.channels, a.pixels,
                a.steps.data(), a.interleave, mode, a.swizzle, a.promotion, a.fill);
  }
  template <typename Change>
  void expect_refused(const char* why, const Change& change) {
    Arguments arguments;
    change(arguments);
    EXPECT_EQ(tiled(arguments), CUDA_ERROR_INVALID_VALUE) << why;
    EXPECT_EQ(im2col(arguments), CUDA_ERROR_INVALID_VALUE) << why;
  }
  TensorMap decoded() const {
    TensorMap map;
    const auto* const bytes = reinterpret_cast<const std::byte*>(&map_);
    EXPECT_EQ(decode(ConstTensorMapBytes(bytes, sizeof map_), map), nullptr);
    return map;
  }

  CUtensorMap map_{};

 private:
  CUcontext context_ = nullptr;
};

TEST_F(DriverTensorMaps, TiledMapsHoldTheirArguments) {
  ASSERT_EQ(tiled({}), CUDA_SUCCESS);
  TensorMap map;
  map.rank = 4;
  map.element = TensorElement::f16;
  map.address = 0x10000;
  map.strides = {128, 1280, 11520, 0};
  map.sizes = {64, 10, 9, 8, 0};
  map.box = {64, 4, 3, 2, 0};
  map.steps = {1, 2, 1, 1, 0};
  map.swizzle = TensorSwizzle::bytes_128;
  map.fill = TensorFill::oob_nan;
  map.l2_promotion = 2;
  EXPECT_EQ(decoded(), map);
  ASSERT_EQ(CALL(cuTensorMapReplaceAddress, &map_, reinterpret_cast<void*>(0x20000)), CUDA_SUCCESS);
  map.address = 0x20000;
  EXPECT_EQ(decoded(), map);
  EXPECT_EQ(CALL(cuTensorMapReplaceAddress, &map_, reinterpret_cast<void*>(0x20008)),
            CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(decoded(), map);
  map_.opaque[3] += 1;
  EXPECT_EQ(CALL(cuTensorMapReplaceAddress, &map_, reinterpret_cast<void*>(0x20000)),
            CUDA_ERROR_INVALID_VALUE);
}

/// Returns the bytes that a copy reports to its barrier.
std::uint64_t copied(const TensorMap& map) {
  TensorCopy copy{.map = map, .to_shared = true, .at = {0, 0, 0, 0, 0}};
  if (map.access == TensorAccess::im2col) copy.mode = TensorMode::im2col;
  const TensorPlan plan = plan_copy(copy, 0);
  EXPECT_EQ(plan.problem, "");
  return plan.bytes;
}

/// The device's own boxes, those that are computed from the call's arguments, and the copies' sizes.
TEST_F(DriverTensorMaps, BoxesHaveTheBytesOfTheirCopies) {
  const auto expect_box = [&](const TensorMapArguments& arguments, const Arguments& a, bool is_im2col) {
    const TensorBox box =
        is_im2col ? im2col_box(arguments, a.channels, a.pixels) : tiled_box(arguments, a.box.data());
    EXPECT_EQ(tensor_box(&map_), box);
    EXPECT_EQ(box.bytes, copied(decoded()));
  };
  for (const int swizzle : {0, 1, 2, 3, 4, 6}) {
    for (cuuint32_t rank = 1; rank <= 4; ++rank) {
      Arguments a;
      a.rank = rank;
      a.swizzle = static_cast<CUtensorMapSwizzle>(swizzle);
      for (const cuuint32_t width : {8u, 16u, 32u, 64u}) {
        a.box[0] = a.channels = width;
        const TensorMapArguments arguments{a.type, rank, a.steps.data(), a.interleave, swizzle};
        if (tiled(a) == CUDA_SUCCESS) expect_box(arguments, a, false);
        if (rank > 2 && im2col(a) == CUDA_SUCCESS) expect_box(arguments, a, true);
      }
    }
  }
  for (const CUtensorMapDataType type :
       {CU_TENSOR_MAP_DATA_TYPE_UINT8, CU_TENSOR_MAP_DATA_TYPE_INT32, CU_TENSOR_MAP_DATA_TYPE_FLOAT64,
        CU_TENSOR_MAP_DATA_TYPE_BFLOAT16, CU_TENSOR_MAP_DATA_TYPE_TFLOAT32_FTZ}) {
    Arguments a;
    a.type = type;
    a.fill = CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE;
    a.box[0] = 16;
    a.strides = {1024, 10240, 102400, 0};
    ASSERT_EQ(tiled(a), CUDA_SUCCESS) << type;
    expect_box({type, a.rank, a.steps.data(), a.interleave, a.swizzle}, a, false);
  }
}

TEST_F(DriverTensorMaps, BoxesOfOtherBytesAreUnknown) {
  EXPECT_EQ(tensor_box(&map_), std::nullopt);
  Arguments a;
  ASSERT_EQ(tiled(a), CUDA_SUCCESS);
  map_.opaque[3] += 1;
  EXPECT_EQ(tensor_box(&map_), std::nullopt);
  if (compute_capability() < 100) return;
  ASSERT_EQ(wide(a, CU_TENSOR_MAP_IM2COL_WIDE_MODE_W), CUDA_SUCCESS);
  EXPECT_EQ(tensor_box(&map_)->bytes, 0u) << "the halo is an operand of the copy";
}

TEST_F(DriverTensorMaps, Im2colMapsHoldTheirArguments) {
  ASSERT_EQ(im2col({}), CUDA_SUCCESS);
  const TensorMap map = decoded();
  EXPECT_EQ(map.access, TensorAccess::im2col);
  EXPECT_EQ(map.lower, (std::array<std::int16_t, 3>{-1, -2, 0}));
  EXPECT_EQ(map.upper, (std::array<std::int16_t, 3>{1, -3, 0}));
  EXPECT_EQ(map.box[0], 32);
  EXPECT_EQ(map.pixels, 100);
}

TEST_F(DriverTensorMaps, EveryTypeAndSwizzleIsKept) {
  constexpr std::pair<CUtensorMapDataType, TensorElement> types[] = {
      {CU_TENSOR_MAP_DATA_TYPE_UINT8, TensorElement::u8},
      {CU_TENSOR_MAP_DATA_TYPE_UINT16, TensorElement::u16},
      {CU_TENSOR_MAP_DATA_TYPE_UINT32, TensorElement::u32},
      {CU_TENSOR_MAP_DATA_TYPE_INT32, TensorElement::s32},
      {CU_TENSOR_MAP_DATA_TYPE_UINT64, TensorElement::u64},
      {CU_TENSOR_MAP_DATA_TYPE_INT64, TensorElement::s64},
      {CU_TENSOR_MAP_DATA_TYPE_FLOAT16, TensorElement::f16},
      {CU_TENSOR_MAP_DATA_TYPE_FLOAT32, TensorElement::f32},
      {CU_TENSOR_MAP_DATA_TYPE_FLOAT64, TensorElement::f64},
      {CU_TENSOR_MAP_DATA_TYPE_BFLOAT16, TensorElement::bf16},
      {CU_TENSOR_MAP_DATA_TYPE_FLOAT32_FTZ, TensorElement::f32_ftz},
      {CU_TENSOR_MAP_DATA_TYPE_TFLOAT32, TensorElement::tf32},
      {CU_TENSOR_MAP_DATA_TYPE_TFLOAT32_FTZ, TensorElement::tf32_ftz}};
  Arguments arguments;
  arguments.box[0] = 16;
  arguments.fill = CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE;
  for (const auto& [type, element] : types) {
    arguments.type = type;
    ASSERT_EQ(tiled(arguments), CUDA_SUCCESS) << type;
    EXPECT_EQ(decoded().element, element);
  }
  constexpr std::tuple<CUtensorMapSwizzle, TensorSwizzle, SwizzleAtom> swizzles[] = {
      {CU_TENSOR_MAP_SWIZZLE_NONE, TensorSwizzle::none, SwizzleAtom::bytes_16},
      {CU_TENSOR_MAP_SWIZZLE_32B, TensorSwizzle::bytes_32, SwizzleAtom::bytes_16},
      {CU_TENSOR_MAP_SWIZZLE_64B, TensorSwizzle::bytes_64, SwizzleAtom::bytes_16},
      {CU_TENSOR_MAP_SWIZZLE_128B, TensorSwizzle::bytes_128, SwizzleAtom::bytes_16},
      {CU_TENSOR_MAP_SWIZZLE_128B_ATOM_32B, TensorSwizzle::bytes_128, SwizzleAtom::bytes_32},
      {CU_TENSOR_MAP_SWIZZLE_128B_ATOM_32B_FLIP_8B, TensorSwizzle::bytes_128, SwizzleAtom::bytes_32_flip_8},
      {CU_TENSOR_MAP_SWIZZLE_128B_ATOM_64B, TensorSwizzle::bytes_128, SwizzleAtom::bytes_64}};
  arguments.type = CU_TENSOR_MAP_DATA_TYPE_UINT8;
  for (const auto& [swizzle, kept, atom] : swizzles) {
    arguments.swizzle = swizzle;
    ASSERT_EQ(tiled(arguments), CUDA_SUCCESS) << swizzle;
    EXPECT_EQ(decoded().swizzle, kept);
    EXPECT_EQ(decoded().atom, atom);
  }
}

// The test device_driver_test.blackwell runs these with LYNXPP_CPU_CAPABILITY=100.
TEST_F(DriverTensorMaps, WideIm2colNeedsBlackwell) {
  Arguments arguments;
  arguments.pixels = 1025;  // ignored in mode W128
  arguments.steps = {1, 2, 1, 1, 1};
  const bool is_blackwell = compute_capability() >= 100;
  const CUresult result = wide(arguments, CU_TENSOR_MAP_IM2COL_WIDE_MODE_W128);
  EXPECT_EQ(result, is_blackwell ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE);
  if (!is_blackwell) return;
  EXPECT_EQ(decoded().access, TensorAccess::im2col_w128);
  EXPECT_EQ(decoded().lower, (std::array<std::int16_t, 3>{-1, 0, 0}));
  EXPECT_EQ(decoded().upper, (std::array<std::int16_t, 3>{1, 0, 0}));
  EXPECT_EQ(wide(arguments, CU_TENSOR_MAP_IM2COL_WIDE_MODE_W), CUDA_ERROR_INVALID_VALUE);
  arguments.pixels = 100;
  ASSERT_EQ(wide(arguments, CU_TENSOR_MAP_IM2COL_WIDE_MODE_W), CUDA_SUCCESS);
  EXPECT_EQ(decoded().access, TensorAccess::im2col_w);
  EXPECT_EQ(decoded().pixels, 100);
  EXPECT_EQ(wide(arguments, static_cast<CUtensorMapIm2ColWideMode>(2)), CUDA_ERROR_INVALID_VALUE);
  arguments.swizzle = CU_TENSOR_MAP_SWIZZLE_NONE;
  EXPECT_EQ(wide(arguments, CU_TENSOR_MAP_IM2COL_WIDE_MODE_W), CUDA_ERROR_INVALID_VALUE);
  arguments = {};
  arguments.lower[0] = 40000;
  EXPECT_EQ(wide(arguments, CU_TENSOR_MAP_IM2COL_WIDE_MODE_W), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(DriverTensorMaps, ElementsOf4And6BitsNeedBlackwell) {
  const CUresult expected = compute_capability() >= 100 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
  Arguments arguments;
  arguments.fill = CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE;
  arguments.sizes[0] = 256;
  arguments.box[0] = 128;
  for (const CUtensorMapDataType type :
       {CU_TENSOR_MAP_DATA_TYPE_16U4_ALIGN8B, CU_TENSOR_MAP_DATA_TYPE_16U4_ALIGN16B,
        CU_TENSOR_MAP_DATA_TYPE_16U6_ALIGN16B}) {
    arguments.type = type;
    EXPECT_EQ(tiled(arguments), expected) << type;
  }
  arguments.box[0] = 64;
  EXPECT_EQ(tiled(arguments), CUDA_ERROR_INVALID_VALUE) << "boxes of padded elements have 128";
  arguments.fill = CU_TENSOR_MAP_FLOAT_OOB_FILL_NAN_REQUEST_ZERO_FMA;
  arguments.type = CU_TENSOR_MAP_DATA_TYPE_16U4_ALIGN8B;
  EXPECT_EQ(tiled(arguments), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(DriverTensorMaps, UndocumentedArgumentsAreRefused) {
  expect_refused("rank", [](Arguments& a) { a.rank = 0; });
  expect_refused("rank", [](Arguments& a) { a.rank = 6; });
  expect_refused("type", [](Arguments& a) { a.type = static_cast<CUtensorMapDataType>(99); });
  expect_refused("elements of 4 bits", [](Arguments& a) { a.type = CU_TENSOR_MAP_DATA_TYPE_16U4_ALIGN8B; });
  expect_refused("address", [](Arguments& a) { a.address = 0x10008; });
  expect_refused("null address", [](Arguments& a) { a.address = 0; });
  expect_refused("size 0", [](Arguments& a) { a.sizes[2] = 0; });
  expect_refused("size", [](Arguments& a) { a.sizes[3] = (1ull << 32) + 1; });
  expect_refused("stride", [](Arguments& a) { a.strides[1] = 1288; });
  expect_refused("stride", [](Arguments& a) { a.strides[2] = 1ull << 40; });
  expect_refused("step 0", [](Arguments& a) { a.steps[1] = 0; });
  expect_refused("step", [](Arguments& a) { a.steps[3] = 9; });
  expect_refused("interleave", [](Arguments& a) { a.interleave = static_cast<CUtensorMapInterleave>(3); });
  expect_refused("swizzle", [](Arguments& a) { a.swizzle = static_cast<CUtensorMapSwizzle>(7); });
  expect_refused("interleave of 32 bytes", [](Arguments& a) { a.interleave = CU_TENSOR_MAP_INTERLEAVE_32B; });
  expect_refused("swizzle span", [](Arguments& a) { a.swizzle = CU_TENSOR_MAP_SWIZZLE_32B; });
  expect_refused("promotion", [](Arguments& a) { a.promotion = static_cast<CUtensorMapL2promotion>(4); });
  expect_refused("fill", [](Arguments& a) { a.fill = static_cast<CUtensorMapFloatOOBfill>(2); });
  expect_refused("NaN of integers", [](Arguments& a) { a.type = CU_TENSOR_MAP_DATA_TYPE_UINT16; });
  Arguments arguments;
  arguments.box[1] = 257;
  EXPECT_EQ(tiled(arguments), CUDA_ERROR_INVALID_VALUE);
  arguments.box = {7, 1, 1, 1, 1};
  EXPECT_EQ(tiled(arguments), CUDA_ERROR_INVALID_VALUE) << "14 bytes";
  arguments = {};
  arguments.pixels = 1025;
  EXPECT_EQ(im2col(arguments), CUDA_ERROR_INVALID_VALUE);
  arguments = {};
  arguments.lower[0] = -129;
  EXPECT_EQ(im2col(arguments), CUDA_ERROR_INVALID_VALUE);
  arguments.lower[0] = -65537;
  EXPECT_EQ(im2col(arguments), CUDA_ERROR_INVALID_VALUE);
  arguments.lower[0] = 11;
  EXPECT_EQ(im2col(arguments), CUDA_ERROR_INVALID_VALUE) << "the pixel box is empty";
  arguments = {};
  arguments.rank = 2;
  EXPECT_EQ(im2col(arguments), CUDA_ERROR_INVALID_VALUE);
}

}  // namespace
}  // namespace lynxpp::device::cpu::test
