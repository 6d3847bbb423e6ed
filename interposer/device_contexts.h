// The program's CUDA contexts, each with the device that its launches go through.
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

namespace lynxpp::interposer {

/// Thread safe.
class DeviceContexts {
 public:
  using Make = std::function<std::unique_ptr<device::Device>(const device::cuda::Driver& driver)>;

  /// The device of the calling thread's context, made by `make` for the context's first launch; null: there
  /// is none. Takes no lock where the thread's last launch was in the same context.
  device::Device* current_device(lynxpp_driver_lookup lookup, const Make& make);

  /// The driver's functions; null until a device has been asked for.
  const device::cuda::Driver* driver() const { return driver_.load(std::memory_order_acquire); }

  /// What launches of a context go through.
  struct OfContext {
    CUcontext handle = nullptr;  ///< compared only
    std::unique_ptr<device::cuda::Driver> driver;
    std::unique_ptr<device::Device> device;
  };
  /// Contexts whose devices no launch finds any more.
  class Retired {
   public:
    explicit Retired(std::vector<OfContext*> contexts);
    const std::vector<const device::Device*>& devices() const { return devices_; }
    /// The contexts are gone, or go now: nothing more is asked of the driver about them.
    void end() const;

   private:
    std::vector<OfContext*> contexts_;
    std::vector<const device::Device*> devices_;
  };
  /// Retires a context, or without one all contexts of the device of this number.
  Retired retire(CUcontext context, int ordinal);
  /// Calls of retire().
  std::uint64_t retirements() const { return retirements_.load(std::memory_order_acquire); }

 private:
  device::Device* find(lynxpp_driver_lookup lookup, const Make& make, unsigned long long& id);

  std::atomic<std::uint64_t> retirements_ = 0;
  std::atomic<const device::cuda::Driver*> driver_ = nullptr;
  std::mutex mutex_;  // guards what follows
  std::unique_ptr<const device::cuda::Driver> loaded_;
  std::map<unsigned long long, std::unique_ptr<OfContext>> contexts_;  // by the driver's number
  std::vector<std::unique_ptr<OfContext>> ended_;  // another thread may be launching on one of them
};

}  // namespace lynxpp::interposer
