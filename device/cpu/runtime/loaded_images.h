// Images that the program has loaded itself: modules and libraries of the driver's API, libraries of the
// runtime's.
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "device/cpu/runtime/registry.h"

namespace lynxpp::device::cpu {

/// A CUmodule, or a CUlibrary or cudaLibrary_t, whose CUmodule it is, too. A kernel has one handle, its
/// Kernel's address, as CUfunction, CUkernel and cudaKernel_t.
class LoadedImage {
 public:
  /// The device it was loaded for; nullopt: a library, for all devices.
  std::optional<int> device() const { return device_; }
  /// The kernel of that name; null when there is none.
  Kernel* kernel(const std::string& name);
  std::vector<std::string> kernel_names() { return binary_->kernel_names(); }
  /// A .global or .const variable.
  std::optional<LoadedModule::VariableStorage> variable(const std::string& name) {
    return binary_->find_variable(name, device_.value_or(current_device()));
  }
  std::optional<LoadedModule::VariableStorage> managed_variable(const std::string& name) {
    return binary_->declares_managed(name) ? variable(name) : std::nullopt;
  }
  bool holds(const Kernel* kernel) const { return kernel->binary == binary_; }

 private:
  friend class LoadedImages;
  std::vector<std::byte> image_;
  std::optional<int> device_;
  Binary* binary_ = nullptr;  ///< the registry's
  std::mutex mutex_;
  std::map<std::string, Kernel*> kernels_;
};

/// Thread safe.
class LoadedImages {
 public:
  /// Takes a copy of the image and loads it, for `device` alone or, as a library, for all. Errors, logged but
  /// for the last: cudaErrorInvalidKernelImage, cudaErrorInvalidPtx, cudaErrorNoKernelImageForDevice (no
  /// PTX), cudaErrorInvalidValue.
  cudaError_t load(const void* image, std::optional<int> device, LoadedImage*& loaded);
  /// The same for the content of a file. Errors: those above and cudaErrorFileNotFound.
  cudaError_t load_file(const char* path, std::optional<int> device, LoadedImage*& loaded);
  /// Waits for the device first. False when it is not a loaded image.
  bool remove(LoadedImage* image);
  /// The image of a handle; null when it is not one.
  LoadedImage* find(const void* handle);
  LoadedImage* owner_of(const Kernel* kernel);

 private:
  std::mutex mutex_;
  std::map<const void*, std::unique_ptr<LoadedImage>> images_;
};

/// The process's. Never destroyed.
LoadedImages& loaded_images();

/// The file's bytes and zeros after them. Errors: cudaErrorInvalidValue, cudaErrorFileNotFound,
/// cudaErrorInvalidKernelImage for an empty file.
cudaError_t read_image(const char* path, std::vector<char>& bytes);

}  // namespace lynxpp::device::cpu
