// Modules and libraries of the stand-in for the driver: images that the program has loaded.
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "device/cpu/driver/api.h"
#include "device/cpu/runtime/registry.h"

namespace lynxpp::device::cpu {

/// One loaded image: a CUmodule or a CUlibrary, whose CUmodule it is, too. A kernel has one handle, its
/// Kernel's address, as CUfunction and CUkernel.
class DriverModule {
 public:
  /// The device it was loaded for; nullopt: a library, of all devices.
  std::optional<int> device() const { return device_; }
  /// The kernel of that name; null when there is none.
  Kernel* kernel(const std::string& name);
  std::vector<std::string> kernel_names() { return binary_->kernel_names(); }
  std::optional<LoadedModule::VariableStorage> variable(const std::string& name) {
    return binary_->find_variable(name, device_.value_or(current_device()));
  }
  bool holds(const Kernel* kernel) const { return kernel->binary == binary_; }

 private:
  friend class DriverModules;
  std::vector<std::byte> image_;
  std::optional<int> device_;
  Binary* binary_ = nullptr;  ///< the registry's
  std::mutex mutex_;
  std::map<std::string, Kernel*> kernels_;
};

/// Thread safe.
class DriverModules {
 public:
  /// Takes a copy of the image and loads it, for `device` alone or, as a library, for all. Errors, logged but
  /// for the last: CUDA_ERROR_INVALID_IMAGE, CUDA_ERROR_INVALID_PTX, CUDA_ERROR_NO_BINARY_FOR_GPU (no PTX),
  /// CUDA_ERROR_INVALID_VALUE.
  CUresult load(const void* image, std::optional<int> device, DriverModule*& module);
  /// Waits for the device first. False when it is no module.
  bool remove(DriverModule* module);
  /// The module of a handle; null when it is none.
  DriverModule* find(const void* handle);
  DriverModule* owner_of(const Kernel* kernel);

 private:
  std::mutex mutex_;
  std::map<const void*, std::unique_ptr<DriverModule>> modules_;
};

/// The process's modules. Never destroyed.
DriverModules& driver_modules();

}  // namespace lynxpp::device::cpu
