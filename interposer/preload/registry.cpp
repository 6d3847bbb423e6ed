#include "interposer/preload/registry.h"

#include <atomic>
#include <cstring>
#include <mutex>
#include <new>

#include "image/fatbinary.h"

namespace lynxpp::preload {
namespace {

using Bytes = std::span<const std::byte>;

std::size_t aligned(std::size_t size) { return (size + 7) & ~std::size_t{7}; }

}  // namespace

ImagePtr Image::remember(const void* address) {
  const auto bytes = image::image_bytes(address);
  if (!bytes) return nullptr;
  static std::atomic<std::uint64_t> next_id = 1;
  auto result = std::make_shared<Image>();
  result->view_ = {next_id.fetch_add(1, std::memory_order_relaxed), bytes->data(), bytes->size()};

  // The device code of a wrapper is part of a loaded program or library. The program may free any other image
  // after the load.
  const auto prelinked = image::prelinked_containers(address);
  if (image::is_wrapper(address) && prelinked.empty()) return result;
  std::size_t size = aligned(bytes->size()) + 8;  // zeros after the last one: PTX text ends in a zero byte
  for (const Bytes container : prelinked) size += aligned(container.size());
  result->copy_ = std::make_unique<std::byte[]>(size);
  std::memcpy(result->copy_.get(), bytes->data(), bytes->size());
  std::size_t end = bytes->size();
  for (const Bytes container : prelinked) {
    end = aligned(end);
    std::memcpy(result->copy_.get() + end, container.data(), container.size());
    end += container.size();
  }
  result->view_.bytes = result->copy_.get();
  result->view_.size = end;
  return result;
}

void Registry::add_module(void* module, ImagePtr image, void* context) {
  const Changing changing(*this);
  modules_[module] = {std::move(image), nullptr, context};
}

void Registry::add_module_of_library(void* module, void* library, void* context) {
  const Changing changing(*this);
  const auto found = modules_.find(library);
  if (found == modules_.end()) return;
  const ImagePtr image = found->second.image;
  modules_[module] = {image, library, context};
}

void Registry::add_function(void* function, void* module, const char* name, In in) {
  {
    // Runtimes look the same function up repeatedly.
    const SharedLock lock(mutex_);
    const auto known = functions_.find(function);
    const auto owner = modules_.find(module);
    if (known != functions_.end() && known->second.kernel->module == module &&
        known->second.kernel->name == name &&
        known->second.kernel->image == (owner != modules_.end() ? owner->second.image : nullptr)) {
      return;
    }
  }
  put_function(function, module, name, nullptr, in == In::module);
}

KernelPtr Registry::add_late_function(void* function, void* module, const char* name, void* context) {
  return put_function(function, module, name, context, context != nullptr);
}

/// A function of a known module becomes invalid with that module's context.
KernelPtr Registry::put_function(void* function, void* module, const char* name, void* context,
                                 bool is_context_function) {
  const Changing changing(*this);
  const auto owner = modules_.find(module);
  auto kernel = std::make_shared<const Kernel>(
      Kernel{name, owner != modules_.end() ? owner->second.image : nullptr, module, -1});
  if (owner != modules_.end()) context = owner->second.context;
  functions_[function] = {kernel, is_context_function, context};
  return kernel;
}

void Registry::add_alias(void* alias, void* function, void* context) {
  {
    const SharedLock lock(mutex_);
    const auto known = functions_.find(function);
    if (known == functions_.end()) return;
    const auto present = functions_.find(alias);
    if (present != functions_.end() && present->second.kernel == known->second.kernel) return;
  }
  const Changing changing(*this);
  const auto known = functions_.find(function);
  if (known == functions_.end()) return;
  // Copied first: the insertion may move the elements.
  KernelPtr kernel = known->second.kernel;
  functions_[alias] = {std::move(kernel), true, context};
}

void Registry::set_cache_config(void* function, int config) {
  const Changing changing(*this);
  const auto known = functions_.find(function);
  if (known == functions_.end()) return;
  const KernelPtr before = known->second.kernel;
  auto changed = std::make_shared<Kernel>(*before);
  changed->cache_config = config;
  for (auto& [handle, each] : functions_) {
    if (each.kernel == before) each.kernel = changed;
  }
}

bool Registry::knows_module(void* module) const {
  const SharedLock lock(mutex_);
  return modules_.contains(module);
}

Function Registry::find_function(void* function) const {
  const SharedLock lock(mutex_);
  const auto found = functions_.find(function);
  return found != functions_.end() ? found->second : Function();
}

std::vector<void*> Registry::kernels_named(const char* name) const {
  std::vector<void*> handles;
  const SharedLock lock(mutex_);
  for (const auto& [handle, each] : functions_) {
    const bool is_kernel = each.context == nullptr && !each.is_context_function;
    if (is_kernel && each.kernel->image != nullptr && each.kernel->name == name) handles.push_back(handle);
  }
  return handles;
}

template <typename FunctionDies, typename ModuleDies>
Registry::Removed Registry::remove(const FunctionDies& function_dies, const ModuleDies& module_dies) {
  Removed removed;
  for (auto entry = functions_.begin(); entry != functions_.end();) {
    if (function_dies(entry->second)) {
      removed.functions.emplace_back(entry->first, std::move(entry->second));
      entry = functions_.erase(entry);
    } else {
      ++entry;
    }
  }
  for (auto entry = modules_.begin(); entry != modules_.end();) {
    if (module_dies(entry->first, entry->second)) {
      removed.modules.emplace_back(entry->first, std::move(entry->second));
      entry = modules_.erase(entry);
    } else {
      ++entry;
    }
  }
  return removed;
}

Registry::Removed Registry::remove_module(void* module) {
  const Changing changing(*this);
  const auto dies = [&](void* handle, const Module& known) {
    return handle == module || known.library == module;
  };
  return remove(
      [&](const Function& function) {
        const auto owner = modules_.find(function.kernel->module);
        return function.kernel->module == module ||
               (owner != modules_.end() && dies(owner->first, owner->second));
      },
      dies);
}

Registry::Removed Registry::remove_context(void* context) {
  const Changing changing(*this);
  return remove([&](const Function& function) { return function.context == context; },
                [&](void*, const Module& module) { return module.context == context; });
}

void Registry::restore(const Removed& removed) {
  const Changing changing(*this);
  for (const auto& [handle, module] : removed.modules) modules_.try_emplace(handle, module);
  for (const auto& [function, kernel] : removed.functions) functions_.try_emplace(function, kernel);
}

Registry& registry() {
  alignas(Registry) static std::byte storage[sizeof(Registry)];
  static Registry* const instance = new (storage) Registry;
  return *instance;
}

}  // namespace lynxpp::preload
