// Encoding of tensor maps (device/cpu/simt/tensors/tensor_map.h).
#include <algorithm>
#include <cstdint>
#include <optional>
#include <utility>

#include "device/cpu/driver/api.h"
#include "device/cpu/driver/driver.h"
#include "device/cpu/simt/execute/executor.h"
#include "device/cpu/simt/tensors/tensor_map.h"
#include "support/log.h"

namespace lynxpp::device::cpu::driver_api {
namespace {

static_assert(sizeof(CUtensorMap) == tensor_map_bytes);

/// The arguments that the functions share; the rest is in the members of the map.
struct SharedArguments {
  CUtensorMapDataType type = CU_TENSOR_MAP_DATA_TYPE_UINT8;
  cuuint32_t rank = 0;
  void* address = nullptr;
  const cuuint64_t* sizes = nullptr;
  const cuuint64_t* strides = nullptr;
  const cuuint32_t* steps = nullptr;
  CUtensorMapInterleave interleave = CU_TENSOR_MAP_INTERLEAVE_NONE;
  CUtensorMapSwizzle swizzle = CU_TENSOR_MAP_SWIZZLE_NONE;
  CUtensorMapL2promotion promotion = CU_TENSOR_MAP_L2_PROMOTION_NONE;
  CUtensorMapFloatOOBfill fill = CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE;
};

CUresult reject(const char* function, const char* reason) {
  log().warn("{} returns CUDA_ERROR_INVALID_VALUE: {}", function, reason);
  return CUDA_ERROR_INVALID_VALUE;
}

std::optional<TensorElement> element_of(CUtensorMapDataType type) {
  switch (type) {
    case CU_TENSOR_MAP_DATA_TYPE_UINT8: return TensorElement::u8;
    case CU_TENSOR_MAP_DATA_TYPE_UINT16: return TensorElement::u16;
    case CU_TENSOR_MAP_DATA_TYPE_UINT32: return TensorElement::u32;
    case CU_TENSOR_MAP_DATA_TYPE_INT32: return TensorElement::s32;
    case CU_TENSOR_MAP_DATA_TYPE_UINT64: return TensorElement::u64;
    case CU_TENSOR_MAP_DATA_TYPE_INT64: return TensorElement::s64;
    case CU_TENSOR_MAP_DATA_TYPE_FLOAT16: return TensorElement::f16;
    case CU_TENSOR_MAP_DATA_TYPE_FLOAT32: return TensorElement::f32;
    case CU_TENSOR_MAP_DATA_TYPE_FLOAT64: return TensorElement::f64;
    case CU_TENSOR_MAP_DATA_TYPE_BFLOAT16: return TensorElement::bf16;
    case CU_TENSOR_MAP_DATA_TYPE_FLOAT32_FTZ: return TensorElement::f32_ftz;
    case CU_TENSOR_MAP_DATA_TYPE_TFLOAT32: return TensorElement::tf32;
    case CU_TENSOR_MAP_DATA_TYPE_TFLOAT32_FTZ: return TensorElement::tf32_ftz;
    case CU_TENSOR_MAP_DATA_TYPE_16U4_ALIGN8B: return TensorElement::b4x16;
    case CU_TENSOR_MAP_DATA_TYPE_16U4_ALIGN16B: return TensorElement::b4x16_p64;
    case CU_TENSOR_MAP_DATA_TYPE_16U6_ALIGN16B: return TensorElement::b6x16_p32;
  }
  return std::nullopt;
}

bool set_swizzle(CUtensorMapSwizzle swizzle, TensorMap& map) {
  if (swizzle < CU_TENSOR_MAP_SWIZZLE_NONE || swizzle > CU_TENSOR_MAP_SWIZZLE_128B_ATOM_64B) return false;
  map.swizzle = static_cast<TensorSwizzle>(std::min(swizzle, CU_TENSOR_MAP_SWIZZLE_128B));
  map.atom =
      static_cast<SwizzleAtom>(std::max(swizzle, CU_TENSOR_MAP_SWIZZLE_128B) - CU_TENSOR_MAP_SWIZZLE_128B);
  return true;
}

/// Returns null and fills the members that the functions share, or returns what is wrong.
const char* convert(const SharedArguments& arguments, TensorMap& map) {
  const auto element = element_of(arguments.type);
  if (!element) return "tensorDataType is unknown";
  if (arguments.rank < 1 || arguments.rank > most_dimensions) return "tensorRank is not between 1 and 5";
  if (arguments.sizes == nullptr || arguments.steps == nullptr) return "an array is a null pointer";
  if (arguments.strides == nullptr && arguments.rank > 1) return "globalStrides is a null pointer";
  if (arguments.address == nullptr) return "globalAddress is a null pointer";
  if (arguments.interleave < CU_TENSOR_MAP_INTERLEAVE_NONE ||
      arguments.interleave > CU_TENSOR_MAP_INTERLEAVE_32B)
    return "interleave is unknown";
  if (!set_swizzle(arguments.swizzle, map)) return "swizzle is unknown";
  if (arguments.promotion < CU_TENSOR_MAP_L2_PROMOTION_NONE ||
      arguments.promotion > CU_TENSOR_MAP_L2_PROMOTION_L2_256B)
    return "l2Promotion is unknown";
  if (arguments.fill < CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE ||
      arguments.fill > CU_TENSOR_MAP_FLOAT_OOB_FILL_NAN_REQUEST_ZERO_FMA)
    return "oobFill is unknown";
  if (bytes_of(*element) == 0 && compute_capability() < 100)
    return "elements of 4 and 6 bits need compute capability 10.0 (LYNXPP_CPU_CAPABILITY=100)";
  map.rank = arguments.rank;
  map.element = *element;
  map.address = reinterpret_cast<std::uintptr_t>(arguments.address);
  map.interleave = static_cast<TensorInterleave>(arguments.interleave);
  map.l2_promotion = static_cast<std::uint8_t>(arguments.promotion);
  map.fill = static_cast<TensorFill>(arguments.fill);
  std::copy_n(arguments.sizes, map.rank, map.sizes.begin());
  if (map.rank > 1) std::copy_n(arguments.strides, map.rank - 1, map.strides.begin());
  for (std::uint32_t i = 0; i < map.rank; ++i)
    map.steps[i] = static_cast<std::uint8_t>(std::min<cuuint32_t>(arguments.steps[i], UINT8_MAX));
  return nullptr;
}

CUresult finish(const char* function, const TensorMap& map, CUtensorMap* to) {
  if (to == nullptr || reinterpret_cast<std::uintptr_t>(to) % tensor_map_alignment != 0)
    return reject(function, "tensorMap is null or not a multiple of 64");
  if (const char* const problem = problem_of(map); problem != nullptr) return reject(function, problem);
  encode(map, TensorMapBytes(reinterpret_cast<std::byte*>(to), tensor_map_bytes));
  return CUDA_SUCCESS;
}

/// The corners of a pixel box in the first `count` of W, H and D.
struct Corners {
  const int* lower = nullptr;
  const int* upper = nullptr;
  std::uint32_t count = 0;
};

CUresult finish_im2col(const char* function, TensorMap& map, const Corners& corners, cuuint32_t channels,
                       cuuint32_t pixels, CUtensorMap* to) {
  map.box[0] = static_cast<std::uint16_t>(std::min<cuuint32_t>(channels, UINT16_MAX));
  map.pixels = static_cast<std::uint16_t>(std::min<cuuint32_t>(pixels, UINT16_MAX));
  for (std::uint32_t i = 0; i < corners.count; ++i) {
    const auto [lower, upper] = std::pair(corners.lower[i], corners.upper[i]);
    if (std::clamp(lower, INT16_MIN, INT16_MAX) != lower || std::clamp(upper, INT16_MIN, INT16_MAX) != upper)
      return reject(function, "a corner of its pixel box is out of range");
    map.lower[i] = static_cast<std::int16_t>(lower);
    map.upper[i] = static_cast<std::int16_t>(upper);
  }
  return finish(function, map, to);
}

}  // namespace

CUresult cuTensorMapEncodeTiled(CUtensorMap* to, CUtensorMapDataType type, cuuint32_t rank, void* address,
                                const cuuint64_t* sizes, const cuuint64_t* strides, const cuuint32_t* box,
                                const cuuint32_t* steps, CUtensorMapInterleave interleave,
                                CUtensorMapSwizzle swizzle, CUtensorMapL2promotion promotion,
                                CUtensorMapFloatOOBfill fill) {
  TensorMap map;
  const char* problem =
      convert({type, rank, address, sizes, strides, steps, interleave, swizzle, promotion, fill}, map);
  if (problem == nullptr && box == nullptr) problem = "boxDim is a null pointer";
  if (problem != nullptr) return reject(__func__, problem);
  for (std::uint32_t i = 0; i < rank; ++i)
    map.box[i] = static_cast<std::uint16_t>(std::min<cuuint32_t>(box[i], UINT16_MAX));
  return finish(__func__, map, to);
}

CUresult cuTensorMapEncodeIm2col(CUtensorMap* to, CUtensorMapDataType type, cuuint32_t rank, void* address,
                                 const cuuint64_t* sizes, const cuuint64_t* strides, const int* lower,
                                 const int* upper, cuuint32_t channels, cuuint32_t pixels,
                                 const cuuint32_t* steps, CUtensorMapInterleave interleave,
                                 CUtensorMapSwizzle swizzle, CUtensorMapL2promotion promotion,
                                 CUtensorMapFloatOOBfill fill) {
  TensorMap map;
  map.access = TensorAccess::im2col;
  const char* problem =
      convert({type, rank, address, sizes, strides, steps, interleave, swizzle, promotion, fill}, map);
  if (problem == nullptr && rank < 3) problem = "im2col tensors have at least 3 dimensions";
  if (problem == nullptr && (lower == nullptr || upper == nullptr)) problem = "a corner is a null pointer";
  if (problem != nullptr) return reject(__func__, problem);
  return finish_im2col(__func__, map, {lower, upper, rank - 2}, channels, pixels, to);
}

CUresult cuTensorMapEncodeIm2colWide(CUtensorMap* to, CUtensorMapDataType type, cuuint32_t rank,
                                     void* address, const cuuint64_t* sizes, const cuuint64_t* strides,
                                     int lower, int upper, cuuint32_t channels, cuuint32_t pixels,
                                     const cuuint32_t* steps, CUtensorMapInterleave interleave,
                                     CUtensorMapIm2ColWideMode mode, CUtensorMapSwizzle swizzle,
                                     CUtensorMapL2promotion promotion, CUtensorMapFloatOOBfill fill) {
  TensorMap map;
  const char* problem =
      convert({type, rank, address, sizes, strides, steps, interleave, swizzle, promotion, fill}, map);
  if (problem == nullptr && compute_capability() < 100)
    problem = "im2col::w needs compute capability 10.0 (LYNXPP_CPU_CAPABILITY=100)";
  if (problem == nullptr && mode != CU_TENSOR_MAP_IM2COL_WIDE_MODE_W &&
      mode != CU_TENSOR_MAP_IM2COL_WIDE_MODE_W128)
    problem = "mode is unknown";
  if (problem != nullptr) return reject(__func__, problem);
  map.access = mode == CU_TENSOR_MAP_IM2COL_WIDE_MODE_W ? TensorAccess::im2col_w : TensorAccess::im2col_w128;
  return finish_im2col(__func__, map, {&lower, &upper, 1}, channels, pixels, to);
}

CUresult cuTensorMapReplaceAddress(CUtensorMap* map, void* address) {
  if (map == nullptr || reinterpret_cast<std::uintptr_t>(map) % tensor_map_alignment != 0)
    return reject(__func__, "tensorMap is null or not a multiple of 64");
  const TensorMapBytes bytes(reinterpret_cast<std::byte*>(map), tensor_map_bytes);
  TensorMap changed;
  if (const char* const problem = decode(bytes, changed); problem != nullptr)
    return reject(__func__, problem);
  if (address == nullptr) return reject(__func__, "globalAddress is a null pointer");
  changed.address = reinterpret_cast<std::uintptr_t>(address);
  return finish(__func__, changed, map);
}

}  // namespace lynxpp::device::cpu::driver_api

namespace lynxpp::device::cpu {

/// Leaves the size open where an instruction's operand or CUDA's choice of slices determines it, as
/// tiled_box() does.
std::optional<TensorBox> tensor_box(const void* map) {
  TensorMap decoded;
  const ConstTensorMapBytes bytes(static_cast<const std::byte*>(map), tensor_map_bytes);
  if (decode(bytes, decoded) != nullptr || problem_of(decoded) != nullptr) return std::nullopt;
  TensorBox box;
  box.rank = decoded.rank;
  box.is_im2col = decoded.access == TensorAccess::im2col;
  const bool is_tile = decoded.access == TensorAccess::tile;
  if (decoded.interleave != TensorInterleave::none || (!is_tile && !box.is_im2col)) return box;
  std::uint64_t rows = is_tile ? 1 : decoded.pixels;
  for (std::uint32_t i = 1; is_tile && i < decoded.rank; ++i)
    rows *= (decoded.box[i] + decoded.steps[i] - 1u) / decoded.steps[i];
  const ElementUnit unit = unit_of(decoded.element);
  const std::uint32_t row_bytes = decoded.box[0] / unit.elements * unit.global_bytes;
  box.bytes = rows * row_bytes;
  box.is_dense = !is_padded(decoded.element) && row_bytes >= span_of(decoded.swizzle);
  return box;
}

}  // namespace lynxpp::device::cpu
