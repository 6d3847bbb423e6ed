// Texture and surface objects, created from CUDA's descriptions, which programs may query.
#pragma once

#include <cuda_runtime_api.h>

#include <map>
#include <mutex>
#include <optional>

#include "device/cpu/simt/textures/image.h"

namespace lynxpp::device::cpu {

/// The descriptions from which an object was created.
struct ObjectDescription {
  cudaResourceDesc resource = {};
  cudaTextureDesc texture = {};  ///< textures only
  std::optional<cudaResourceViewDesc> view;
  bool is_surface = false;
  int device = 0;  ///< owner of the object's context
};

/// Thread safe. Errors of create(): cudaErrorInvalidValue, cudaErrorInvalidResourceHandle for an invalid
/// array, cudaErrorInvalidChannelDescriptor, cudaErrorInvalidFilterSetting for linear filtering of integers,
/// cudaErrorNotSupported for views of compressed elements.
class TextureObjects {
 public:
  cudaError_t create(const ObjectDescription& description, unsigned long long& handle);
  /// Waits for all work that may use the object. Returns false if the handle is not an object of that kind.
  /// Must not be called in a callback.
  bool destroy(unsigned long long handle, bool is_surface);
  std::optional<ObjectDescription> find(unsigned long long handle, bool is_surface);
  void destroy_all(int device);

 private:
  std::mutex mutex_;
  std::map<unsigned long long, ObjectDescription> objects_;
};

/// Returns the process's objects. Never destroyed.
TextureObjects& texture_objects();

}  // namespace lynxpp::device::cpu
