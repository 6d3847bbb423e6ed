#include "device/cpu/driver/modules.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "device/cpu/driver/contexts.h"
#include "device/cpu/runtime/streams.h"
#include "image/fatbinary.h"
#include "support/log.h"

namespace lynxpp::device::cpu {

DriverModules& driver_modules() {
  static auto* const all = new DriverModules;
  return *all;
}

Kernel* DriverModule::kernel(const std::string& name) {
  const std::lock_guard lock(mutex_);
  if (const auto found = kernels_.find(name); found != kernels_.end()) return found->second;
  const auto names = binary_->kernel_names();
  if (std::find(names.begin(), names.end(), name) == names.end()) return nullptr;
  Kernel* const made = registry().add_kernel(binary_, nullptr, name.c_str());
  made->device = device_;
  return kernels_[name] = made;
}

CUresult DriverModules::load(const void* image, std::optional<int> device, DriverModule*& module) {
  if (image == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const auto bytes = image::image_bytes(image);
  if (!bytes) return CUDA_ERROR_INVALID_IMAGE;
  auto made = std::make_unique<DriverModule>();
  made->device_ = device;
  constexpr std::size_t end_of_text = 8;  // PTX text ends in a zero byte
  made->image_.resize(bytes->size() + end_of_text);
  std::memcpy(made->image_.data(), bytes->data(), bytes->size());
  made->binary_ = registry().add_binary(made->image_.data());
  const cudaError_t error = made->binary_->load_all("the program", device.value_or(current_device()));
  if (error != cudaSuccess) {
    if (error == cudaErrorNoKernelImageForDevice)
      log().error("a module cannot be loaded on the cpu device: {}", made->binary_->why_no_ptx());
    registry().remove_binary(made->binary_);
    return result_of(error);
  }
  module = made.get();
  const std::lock_guard lock(mutex_);
  modules_[module] = std::move(made);
  return CUDA_SUCCESS;
}

bool DriverModules::remove(DriverModule* module) {
  std::unique_ptr<DriverModule> gone;
  {
    const std::lock_guard lock(mutex_);
    const auto found = modules_.find(module);
    if (found == modules_.end()) return false;
    gone = std::move(found->second);
    modules_.erase(found);
  }
  streams().wait_for_all();
  registry().remove_binary(gone->binary_);
  return true;
}

DriverModule* DriverModules::find(const void* handle) {
  const std::lock_guard lock(mutex_);
  const auto found = modules_.find(handle);
  return found != modules_.end() ? found->second.get() : nullptr;
}

DriverModule* DriverModules::owner_of(const Kernel* kernel) {
  const std::lock_guard lock(mutex_);
  for (const auto& [handle, module] : modules_) {
    if (module->holds(kernel)) return module.get();
  }
  return nullptr;
}

}  // namespace lynxpp::device::cpu
