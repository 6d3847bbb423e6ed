#include "interposer/device_contexts.h"

#include <iterator>
#include <utility>

#include "support/log.h"

namespace lynxpp::interposer {
namespace {

/// The context of a thread's last launch.
struct LastDevice {
  unsigned long long context = 0;  ///< its number
  device::Device* device = nullptr;
  std::uint64_t retirements = 0;  ///< number of retirements when it was found
};

}  // namespace

device::Device* DeviceContexts::current_device(lynxpp_driver_lookup lookup, const Make& make) {
  static thread_local LastDevice last;
  CUcontext context = nullptr;
  unsigned long long id = 0;
  const std::uint64_t retirements_now = retirements();
  const device::cuda::Driver* const known = driver();
  if (last.device != nullptr && last.retirements == retirements_now &&
      known->cuCtxGetCurrent(&context) == CUDA_SUCCESS && context != nullptr &&
      known->cuCtxGetId(context, &id) == CUDA_SUCCESS && id == last.context) {
    return last.device;
  }
  last.device = find(lookup, make, last.context);
  last.retirements = retirements_now;
  return last.device;
}

/// Also returns the context's number.
device::Device* DeviceContexts::find(lynxpp_driver_lookup lookup, const Make& make, unsigned long long& id) {
  const Lock lock(mutex_);
  if (loaded_ == nullptr) {
    Result<device::cuda::Driver> loaded = device::cuda::Driver::load(lookup);
    if (!loaded) {
      log().error("{}", loaded.error().diagnostics.front().message);
      return nullptr;
    }
    loaded_ = std::make_unique<const device::cuda::Driver>(*loaded);
    driver_.store(loaded_.get(), std::memory_order_release);
  }
  CUcontext context = nullptr;
  if (loaded_->cuCtxGetCurrent(&context) != CUDA_SUCCESS || context == nullptr ||
      loaded_->cuCtxGetId(context, &id) != CUDA_SUCCESS)
    return nullptr;
  if (const auto known = contexts_.find(id); known != contexts_.end()) return known->second->device.get();
  auto made = std::make_unique<OfContext>();
  made->handle = context;
  made->driver = std::make_unique<device::cuda::Driver>(*loaded_);
  made->device = make(*made->driver);
  if (made->device == nullptr) return nullptr;
  return contexts_.emplace(id, std::move(made)).first->second->device.get();
}

DeviceContexts::Retired DeviceContexts::retire(CUcontext context, int ordinal) {
  const Lock lock(mutex_);
  std::vector<OfContext*> retired;
  retirements_.fetch_add(1, std::memory_order_release);
  for (auto entry = contexts_.begin(); entry != contexts_.end();) {
    OfContext& each = *entry->second;
    const bool ends = context != nullptr ? each.handle == context : each.device->info().ordinal == ordinal;
    if (ends) {
      retired.push_back(&each);
      ended_.push_back(std::move(entry->second));
    }
    entry = ends ? contexts_.erase(entry) : std::next(entry);
  }
  return Retired(std::move(retired));
}

DeviceContexts::Retired::Retired(std::vector<OfContext*> contexts) : contexts_(std::move(contexts)) {
  for (const OfContext* const each : contexts_) devices_.push_back(each->device.get());
}

void DeviceContexts::Retired::end() const {
  for (OfContext* const each : contexts_) each->driver->end();
}

}  // namespace lynxpp::interposer
