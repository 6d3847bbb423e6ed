// Arrays: allocation and queries. Copies are in driver_copies.cpp.
#include "device/cpu/driver/api.h"
#include "device/cpu/driver/contexts.h"
#include "device/cpu/driver/textures/descriptions.h"
#include "device/cpu/runtime/api.h"
#include "device/cpu/runtime/call_scopes.h"
#include "device/cpu/runtime/textures/arrays.h"

namespace lynxpp::device::cpu::driver_api {
namespace {

/// Records that the current context owns the array, which is freed with it.
void own(const void* array) {
  contexts().with(current_context(), [&](Context& context) { context.arrays.insert(array); });
}
void disown(const void* array) {
  contexts().with_all([&](Context& context) { context.arrays.erase(array); });
}

CUresult shape_of(const CUDA_ARRAY3D_DESCRIPTOR& description, ArrayShape& shape) {
  const auto format = texel_format(description.Format, description.NumChannels);
  if (!format) {
    const bool is_other = description.Format > CU_AD_FORMAT_FLOAT && description.Format < CU_AD_FORMAT_MAX;
    return is_other ? CUDA_ERROR_NOT_SUPPORTED : CUDA_ERROR_INVALID_VALUE;
  }
  shape = {*format, {description.Width, description.Height, description.Depth}, description.Flags};
  return CUDA_SUCCESS;
}

CUresult create(CUarray* array, const CUDA_ARRAY3D_DESCRIPTOR& description) {
  *array = nullptr;
  ArrayShape shape;
  if (const CUresult error = shape_of(description, shape); error != CUDA_SUCCESS) return error;
  std::shared_ptr<Array> made;
  if (const cudaError_t error = arrays().create(shape, made); error != cudaSuccess) return result_of(error);
  own(made.get());
  *array = reinterpret_cast<CUarray>(made.get());
  return CUDA_SUCCESS;
}

CUresult describe(CUDA_ARRAY3D_DESCRIPTOR& description, CUarray array) {
  const auto found = arrays().find(array);
  if (found == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  const ArrayShape& shape = found->shape;
  description = {shape.extent.width,         shape.extent.height,   shape.extent.depth,
                 array_format(shape.format), shape.format.channels, shape.flags};
  return CUDA_SUCCESS;
}

template <typename Requirements>
CUresult store_requirements(Requirements* to, const Image& image, CUdevice device) {
  if (to == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (device != 0) return CUDA_ERROR_INVALID_DEVICE;
  *to = {};
  to->size = bytes_of(image);
  to->alignment = array_alignment;
  return CUDA_SUCCESS;
}

}  // namespace

CUresult cuArrayCreate_v2(CUarray* array, const CUDA_ARRAY_DESCRIPTOR* description) {
  if (array == nullptr || description == nullptr) return CUDA_ERROR_INVALID_VALUE;
  return create(
      array, {description->Width, description->Height, 0, description->Format, description->NumChannels, 0});
}

CUresult cuArray3DCreate_v2(CUarray* array, const CUDA_ARRAY3D_DESCRIPTOR* description) {
  if (array == nullptr || description == nullptr) return CUDA_ERROR_INVALID_VALUE;
  return create(array, *description);
}

CUresult cuArrayGetDescriptor_v2(CUDA_ARRAY_DESCRIPTOR* description, CUarray array) {
  if (description == nullptr) return CUDA_ERROR_INVALID_VALUE;
  CUDA_ARRAY3D_DESCRIPTOR all{};
  if (const CUresult error = describe(all, array); error != CUDA_SUCCESS) return error;
  *description = {all.Width, all.Height, all.Format, all.NumChannels};
  return CUDA_SUCCESS;
}

CUresult cuArray3DGetDescriptor_v2(CUDA_ARRAY3D_DESCRIPTOR* description, CUarray array) {
  return description != nullptr ? describe(*description, array) : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuArrayDestroy(CUarray array) {
  if (CallbackScope::active()) return CUDA_ERROR_NOT_PERMITTED;
  if (arrays().find(array) == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  if (!arrays().destroy(array)) return CUDA_ERROR_INVALID_VALUE;  // level of a mipmapped array
  disown(array);
  return CUDA_SUCCESS;
}

/// Arrays have no planes, because video formats are not supported.
CUresult cuArrayGetPlane(CUarray* plane, CUarray array, unsigned int) {
  if (plane == nullptr) return CUDA_ERROR_INVALID_VALUE;
  return arrays().find(array) == nullptr ? CUDA_ERROR_INVALID_HANDLE : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuArrayGetMemoryRequirements(CUDA_ARRAY_MEMORY_REQUIREMENTS* requirements, CUarray array,
                                      CUdevice device) {
  const auto found = arrays().find(array);
  return found != nullptr ? store_requirements(requirements, found->image, device)
                          : CUDA_ERROR_INVALID_HANDLE;
}

CUresult cuMipmappedArrayCreate(CUmipmappedArray* array, const CUDA_ARRAY3D_DESCRIPTOR* description,
                                unsigned int levels) {
  if (array == nullptr || description == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *array = nullptr;
  ArrayShape shape;
  if (const CUresult error = shape_of(*description, shape); error != CUDA_SUCCESS) return error;
  std::shared_ptr<MipmappedArray> made;
  if (const cudaError_t error = arrays().create(shape, levels, made); error != cudaSuccess)
    return result_of(error);
  own(made.get());
  *array = reinterpret_cast<CUmipmappedArray>(made.get());
  return CUDA_SUCCESS;
}

CUresult cuMipmappedArrayGetLevel(CUarray* level_array, CUmipmappedArray array, unsigned int level) {
  if (level_array == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const auto found = arrays().find_mipmapped(array);
  if (found == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  std::shared_ptr<Array> made;
  if (const cudaError_t error = arrays().level(found, level, made); error != cudaSuccess)
    return result_of(error);
  *level_array = reinterpret_cast<CUarray>(made.get());
  return CUDA_SUCCESS;
}

CUresult cuMipmappedArrayDestroy(CUmipmappedArray array) {
  if (CallbackScope::active()) return CUDA_ERROR_NOT_PERMITTED;
  if (!arrays().destroy_mipmapped(array)) return CUDA_ERROR_INVALID_HANDLE;
  disown(array);
  return CUDA_SUCCESS;
}

CUresult cuMipmappedArrayGetMemoryRequirements(CUDA_ARRAY_MEMORY_REQUIREMENTS* requirements,
                                               CUmipmappedArray array, CUdevice device) {
  const auto found = arrays().find_mipmapped(array);
  return found != nullptr ? store_requirements(requirements, found->image, device)
                          : CUDA_ERROR_INVALID_HANDLE;
}

}  // namespace lynxpp::device::cpu::driver_api
