// Texture and surface objects: made from CUDA's descriptions, which programs may ask for again.
#pragma once

#include <cuda_runtime_api.h>

#include <map>
#include <mutex>
#include <optional>

#include "device/cpu/simt/textures/image.h"

namespace lynxpp::device::cpu {

/// What an object was made from.
struct ObjectDescription {
  cudaResourceDesc resource = {};
  cudaTextureDesc texture = {};  ///< of a texture
  std::optional<cudaResourceViewDesc> view;
  bool is_surface = false;
  int device = 0;  ///< whose context it belongs to
};

/// Thread safe. Errors of create(): cudaErrorInvalidValue, cudaErrorInvalidResourceHandle for an array that
/// is none, cudaErrorInvalidChannelDescriptor, cudaErrorInvalidFilterSetting for linear filters of integers,
/// cudaErrorNotSupported for views of compressed elements.
class TextureObjects {
 public:
  cudaError_t create(const ObjectDescription& description, unsigned long long& handle);
  /// Waits for everything that may use the object. False when the handle is none of that kind. Not in a
  /// callback.
  bool destroy(unsigned long long handle, bool is_surface);
  std::optional<ObjectDescription> find(unsigned long long handle, bool is_surface);
  void destroy_all(int device);

 private:
  std::mutex mutex_;
  std::map<unsigned long long, ObjectDescription> objects_;
};

/// The process's objects. Never destroyed.
TextureObjects& texture_objects();

}  // namespace lynxpp::device::cpu
