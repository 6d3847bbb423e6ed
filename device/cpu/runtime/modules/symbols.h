// Kernels and variables that nvcc's host code registers, and their state on each device.
#pragma once

#include <cuda_runtime_api.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "device/cpu/runtime/device_limits.h"
#include "device/cpu/runtime/devices.h"
#include "device/cpu/simt/execute/executor.h"
#include "image/cubin_ptx.h"

namespace lynxpp::device::cpu {

/// A kernel that is ready to run.
struct LoadedKernel {
  std::shared_ptr<LoadedModule> module;
  std::shared_ptr<const std::string> ptx;
  image::PtxOrigin origin = image::PtxOrigin::image;
  KernelInfo info;
};

class Binary;

/// A registered kernel. Its address is the cudaKernel_t, the cudaFunction_t and device::Launch::function.
/// Never destroyed, so that a handle that outlives its fatbinary never refers to another kernel.
struct Kernel {
  Binary* binary = nullptr;
  const void* host_function = nullptr;
  std::string name;                        ///< mangled
  std::optional<int> device;               ///< the only device it runs on; nullopt for all devices
  std::atomic<std::uint64_t> launches{0};  ///< by the program
  std::atomic<bool> failure_logged{false};

  struct OnDevice {
    std::atomic<int> max_dynamic_shared{default_shared_limit};  ///< value set by cudaFuncSetAttribute
    std::atomic<int> shared_carveout{-1};
    std::atomic<bool> takes_large_clusters{false};
    std::atomic<int> required_cluster[3] = {0, 0, 0};  ///< 0 if not required

    // Guarded by the binary's mutex.
    std::shared_ptr<const LoadedKernel> loaded;
    cudaError_t load_error = cudaSuccess;
  };
  OnDevice& on(int device) { return devices[static_cast<std::size_t>(device)]; }
  const OnDevice& on(int device) const { return devices[static_cast<std::size_t>(device)]; }
  std::array<OnDevice, most_devices> devices;
};

struct Variable {
  Binary* binary = nullptr;
  const void* host_address = nullptr;  ///< address of the shadow variable or of a managed variable's pointer
  std::string name;
  std::size_t bytes = 0;
  void** managed_pointer = nullptr;  ///< receives the address of a managed variable

  // Guarded by the binary's mutex.
  bool failure_logged = false;
  struct OnDevice {
    void* storage = nullptr;  ///< for a managed variable, the same on all devices
    std::vector<std::byte> initial_value;
  };
  std::array<OnDevice, most_devices> devices;

  OnDevice& on(int device) { return devices[static_cast<std::size_t>(device)]; }
  void* storage_on(int device) const { return devices[static_cast<std::size_t>(device)].storage; }
  /// Returns the storage on any device; null if no device has placed the variable.
  void* storage_anywhere() const {
    for (const OnDevice& each : devices) {
      if (each.storage != nullptr) return each.storage;
    }
    return nullptr;
  }
};

}  // namespace lynxpp::device::cpu
