// The program's CUDA contexts, each with the device that its launches use.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "device/cuda/driver.h"
#include "device/device.h"
#include "interposer/engine_api.h"
#include "interposer/owned_mutex.h"

namespace lynxpp::interposer {

/// Thread safe.
class DeviceContexts {
 public:
  using Make = std::function<std::unique_ptr<device::Device>(const device::cuda::Driver& driver)>;

  /// Returns the device of the calling thread's context, created by `make` on its first launch; null without
  /// a context. Takes no lock if the thread's last launch was in the same context.
  device::Device* current_device(lynxpp_driver_lookup lookup, const Make& make);

  /// The driver's functions; null until a device has been requested.
  const device::cuda::Driver* driver() const { return driver_.load(std::memory_order_acquire); }

  /// The driver and device that a context's launches use.
  struct OfContext {
    CUcontext handle = nullptr;  ///< compared only
    std::unique_ptr<device::cuda::Driver> driver;
    std::unique_ptr<device::Device> device;
  };
  /// Contexts whose devices are no longer found by launches.
  class Retired {
   public:
    explicit Retired(std::vector<OfContext*> contexts);
    const std::vector<const device::Device*>& devices() const { return devices_; }
    /// Called when the contexts are gone or about to go: the driver is not queried about them again.
    void end() const;

   private:
    std::vector<OfContext*> contexts_;
    std::vector<const device::Device*> devices_;
  };
  /// Retires a context, or, if null, all contexts of the device with this number.
  Retired retire(CUcontext context, int ordinal);
  /// Number of calls of retire().
  std::uint64_t retirements() const { return retirements_.load(std::memory_order_acquire); }

 private:
  device::Device* find(lynxpp_driver_lookup lookup, const Make& make, unsigned long long& id);

  std::atomic<std::uint64_t> retirements_ = 0;
  std::atomic<const device::cuda::Driver*> driver_ = nullptr;
  OwnedMutex<std::mutex> mutex_{LockRank::contexts};
  std::unique_ptr<const device::cuda::Driver> loaded_;
  /// By the driver's number.
  std::map<unsigned long long, std::unique_ptr<OfContext>> contexts_ LYNXPP_GUARDED_BY(mutex_);
  /// Another thread may be launching on one of them.
  std::vector<std::unique_ptr<OfContext>> ended_ LYNXPP_GUARDED_BY(mutex_);
};

}  // namespace lynxpp::interposer
