// Texture and surface objects.
#include "device/cpu/driver/api.h"
#include "device/cpu/driver/contexts.h"
#include "device/cpu/driver/textures/descriptions.h"
#include "device/cpu/runtime/call_scopes.h"
#include "device/cpu/runtime/textures/limits.h"
#include "device/cpu/runtime/textures/texture_objects.h"

namespace lynxpp::device::cpu::driver_api {
namespace {

CUresult create(unsigned long long* object, const CUDA_RESOURCE_DESC* resource,
                ObjectDescription& description) {
  if (object == nullptr || resource == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *object = 0;
  if (const CUresult error = from_driver(*resource, description.resource); error != CUDA_SUCCESS)
    return error;
  return result_of(texture_objects().create(description, *object));
}

CUresult destroy(unsigned long long object, bool is_surface) {
  if (CallbackScope::active()) return CUDA_ERROR_NOT_PERMITTED;
  return texture_objects().destroy(object, is_surface) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

}  // namespace

CUresult cuTexObjectCreate(CUtexObject* object, const CUDA_RESOURCE_DESC* resource,
                           const CUDA_TEXTURE_DESC* texture, const CUDA_RESOURCE_VIEW_DESC* view) {
  if (texture == nullptr) return CUDA_ERROR_INVALID_VALUE;
  ObjectDescription description;
  description.texture = from_driver(*texture);
  if (view != nullptr) description.view = from_driver(*view);
  return create(object, resource, description);
}

CUresult cuTexObjectDestroy(CUtexObject object) { return destroy(object, false); }

CUresult cuTexObjectGetResourceDesc(CUDA_RESOURCE_DESC* resource, CUtexObject object) {
  const auto found = texture_objects().find(object, false);
  if (resource == nullptr || !found) return CUDA_ERROR_INVALID_VALUE;
  *resource = to_driver(found->resource);
  return CUDA_SUCCESS;
}

CUresult cuTexObjectGetTextureDesc(CUDA_TEXTURE_DESC* texture, CUtexObject object) {
  const auto found = texture_objects().find(object, false);
  if (texture == nullptr || !found) return CUDA_ERROR_INVALID_VALUE;
  *texture = to_driver(found->texture);
  return CUDA_SUCCESS;
}

CUresult cuTexObjectGetResourceViewDesc(CUDA_RESOURCE_VIEW_DESC* view, CUtexObject object) {
  const auto found = texture_objects().find(object, false);
  if (view == nullptr || !found || !found->view) return CUDA_ERROR_INVALID_VALUE;
  *view = to_driver(*found->view);
  return CUDA_SUCCESS;
}

CUresult cuSurfObjectCreate(CUsurfObject* object, const CUDA_RESOURCE_DESC* resource) {
  ObjectDescription description;
  description.is_surface = true;
  return create(object, resource, description);
}

CUresult cuSurfObjectDestroy(CUsurfObject object) { return destroy(object, true); }

CUresult cuSurfObjectGetResourceDesc(CUDA_RESOURCE_DESC* resource, CUsurfObject object) {
  const auto found = texture_objects().find(object, true);
  if (resource == nullptr || !found) return CUDA_ERROR_INVALID_VALUE;
  *resource = to_driver(found->resource);
  return CUDA_SUCCESS;
}

CUresult cuDeviceGetTexture1DLinearMaxWidth(size_t* elements, CUarray_format format, unsigned channels,
                                            CUdevice device) {
  if (elements == nullptr || !texel_format(format, channels)) return CUDA_ERROR_INVALID_VALUE;
  if (device != 0) return CUDA_ERROR_INVALID_DEVICE;
  *elements = texture_size(cudaDevAttrMaxTexture1DLinearWidth);
  return CUDA_SUCCESS;
}

}  // namespace lynxpp::device::cpu::driver_api
