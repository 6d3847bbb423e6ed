// Images that the program loads itself: modules and libraries of the driver API, libraries of the runtime
// API.
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "device/cpu/runtime/modules/registry.h"

namespace lynxpp::device::cpu {

/// A CUmodule, CUlibrary or cudaLibrary_t; a library's handle is also its CUmodule. A kernel has one handle,
/// the address of its Kernel, as CUfunction, CUkernel and cudaKernel_t.
class LoadedImage {
 public:
  /// The device that it was loaded for; nullopt for a library, which serves all devices.
  std::optional<int> device() const { return device_; }
  /// Returns the kernel of that name, or null.
  Kernel* kernel(const std::string& name);
  std::vector<std::string> kernel_names() { return binary_->kernel_names(); }
  /// Returns a .global or .const variable.
  std::optional<VariableStorage> variable(const std::string& name) {
    return binary_->find_variable(name, device_.value_or(current_device()));
  }
  std::optional<VariableStorage> managed_variable(const std::string& name) {
    return binary_->declares_managed(name) ? variable(name) : std::nullopt;
  }
  bool holds(const Kernel* kernel) const { return kernel->binary == binary_; }

 private:
  friend class LoadedImages;
  std::vector<std::byte> image_;
  std::optional<int> device_;
  Binary* binary_ = nullptr;  ///< owned by the registry
  std::mutex mutex_;
  std::map<std::string, Kernel*> kernels_;
};

/// Thread safe.
class LoadedImages {
 public:
  /// Copies the image and loads it for `device` or, as a library, for all devices. Errors, logged except the
  /// last: cudaErrorInvalidKernelImage, cudaErrorInvalidPtx, cudaErrorNoKernelImageForDevice (no PTX),
  /// cudaErrorInvalidValue.
  cudaError_t load(const void* image, std::optional<int> device, LoadedImage*& loaded);
  /// Loads a file. Errors: the same, and cudaErrorFileNotFound.
  cudaError_t load_file(const char* path, std::optional<int> device, LoadedImage*& loaded);
  /// Unloads the image after waiting for the device. Returns false if it is not a loaded image.
  bool remove(LoadedImage* image);
  /// Returns the image of a handle, or null.
  LoadedImage* find(const void* handle);
  LoadedImage* owner_of(const Kernel* kernel);

 private:
  std::mutex mutex_;
  std::map<const void*, std::unique_ptr<LoadedImage>> images_;
};

/// Returns the images of the process. Never destroyed.
LoadedImages& loaded_images();

/// Reads the file and appends zero bytes. Errors: cudaErrorInvalidValue, cudaErrorFileNotFound,
/// cudaErrorInvalidKernelImage for an empty file.
cudaError_t read_image(const char* path, std::vector<char>& bytes);

}  // namespace lynxpp::device::cpu
