// Texture and surface objects.
#include "device/cpu/runtime/api.h"
#include "device/cpu/runtime/call_scopes.h"
#include "device/cpu/runtime/textures/texture_objects.h"

namespace lynxpp::device::cpu::api {
namespace {

cudaError_t create_object(unsigned long long* object, const ObjectDescription& description) {
  *object = 0;
  return texture_objects().create(description, *object);
}

cudaError_t destroy_object(unsigned long long object, bool is_surface) {
  if (CallbackScope::active()) return cudaErrorNotPermitted;
  // As in CUDA, destroying a handle of 0 does nothing.
  return object == 0 || texture_objects().destroy(object, is_surface) ? cudaSuccess : cudaErrorInvalidValue;
}

}  // namespace

cudaError_t cudaCreateTextureObject(cudaTextureObject_t* object, const struct cudaResourceDesc* resource,
                                    const struct cudaTextureDesc* texture,
                                    const struct cudaResourceViewDesc* view) {
  if (object == nullptr || resource == nullptr || texture == nullptr) return cudaErrorInvalidValue;
  ObjectDescription description{*resource, *texture, {}, false};
  if (view != nullptr) description.view = *view;
  return create_object(object, description);
}

cudaError_t cudaDestroyTextureObject(cudaTextureObject_t object) { return destroy_object(object, false); }

cudaError_t cudaGetTextureObjectResourceDesc(struct cudaResourceDesc* resource, cudaTextureObject_t object) {
  const auto found = texture_objects().find(object, false);
  if (resource == nullptr || !found) return cudaErrorInvalidValue;
  *resource = found->resource;
  return cudaSuccess;
}

cudaError_t cudaGetTextureObjectTextureDesc(struct cudaTextureDesc* texture, cudaTextureObject_t object) {
  const auto found = texture_objects().find(object, false);
  if (texture == nullptr || !found) return cudaErrorInvalidValue;
  *texture = found->texture;
  return cudaSuccess;
}

cudaError_t cudaGetTextureObjectResourceViewDesc(struct cudaResourceViewDesc* view,
                                                 cudaTextureObject_t object) {
  const auto found = texture_objects().find(object, false);
  if (view == nullptr || !found || !found->view) return cudaErrorInvalidValue;
  *view = *found->view;
  return cudaSuccess;
}

cudaError_t cudaCreateSurfaceObject(cudaSurfaceObject_t* object, const struct cudaResourceDesc* resource) {
  if (object == nullptr || resource == nullptr) return cudaErrorInvalidValue;
  return create_object(object, {*resource, {}, {}, true});
}

cudaError_t cudaDestroySurfaceObject(cudaSurfaceObject_t object) { return destroy_object(object, true); }

cudaError_t cudaGetSurfaceObjectResourceDesc(struct cudaResourceDesc* resource, cudaSurfaceObject_t object) {
  const auto found = texture_objects().find(object, true);
  if (resource == nullptr || !found) return cudaErrorInvalidValue;
  *resource = found->resource;
  return cudaSuccess;
}

}  // namespace lynxpp::device::cpu::api
