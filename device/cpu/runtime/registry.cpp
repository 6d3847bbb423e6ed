#include "device/cpu/runtime/registry.h"

#include <algorithm>
#include <cstring>
#include <set>
#include <utility>

#include "device/cpu/runtime/allocations.h"
#include "device/cpu/runtime/error.h"
#include "device/cpu/runtime/streams.h"
#include "image/fatbinary.h"
#include "support/log.h"
#include "support/text.h"

namespace lynxpp::device::cpu {
namespace {

/// Why the image of `symbol` has no PTX to run, and what to do about it.
std::string why_no_ptx(const void* wrapper, const std::string& symbol) {
  const auto containers = image::prelinked_containers(wrapper);
  if (containers.empty()) {
    return "its fatbinary holds no PTX; build with -arch=compute_XX or keep PTX in the fatbinary "
           "(-gencode arch=compute_XX,code=compute_XX)";
  }
  for (const auto container : containers) {
    const auto texts = image::ptx_modules(container, 0);
    if (!texts) continue;
    for (const std::string& text : *texts) {
      // The names that nvcc gives the device's launch functions, now and before CUDA 12.
      const bool launches = text.find("__cudaCDP2LaunchDevice") != std::string::npos ||
                            text.find("cudaLaunchDevice") != std::string::npos;
      if (launches && text.find(symbol) != std::string::npos) {
        return "its image holds relocatable device code (-rdc=true) that launches kernels from the device "
               "(CUDA dynamic parallelism), which the cpu device does not have; launch them from the host "
               "and "
               "build without -rdc=true";
      }
    }
  }
  return "its image holds relocatable device code (-rdc=true), which the cpu device does not link; build "
         "without "
         "-rdc=true, every kernel in one source file with the device functions and variables it uses";
}

}  // namespace

Registry& registry() {
  static auto* const all = new Registry;
  return *all;
}

// ---------------------------------------------------------------- Binary

cudaError_t Binary::decode() {
  if (retired_) return cudaErrorCudartUnloading;
  if (decoded_) return decode_error_;
  decoded_ = true;
  auto bytes = image::image_bytes(wrapper_);
  if (!bytes) {
    log().error("a fatbinary of the program cannot be read: {}", one_line(bytes.error()));
    return decode_error_ = cudaErrorInvalidKernelImage;
  }
  auto versions = image::ptx_versions(*bytes, compute_capability);
  // PTX made for newer hardware only: no compute capability keeps the cpu device from running what it can.
  if (versions && versions->empty()) versions = image::ptx_versions(*bytes, 0);
  if (!versions) {
    log().error("a fatbinary of the program cannot be read: {}", one_line(versions.error()));
    return decode_error_ = cudaErrorInvalidKernelImage;
  }
  for (const std::vector<image::Entry>& of_container : *versions) {
    auto text = image::ptx_text(of_container.front());
    if (!text) {
      log().error("a fatbinary of the program cannot be read: {}", one_line(text.error()));
      modules_.clear();
      return decode_error_ = cudaErrorInvalidKernelImage;
    }
    modules_.push_back({std::make_shared<const std::string>(std::move(*text)),
                        {of_container.rbegin(), of_container.rend() - 1}});
  }
  return decode_error_ = modules_.empty() ? cudaErrorNoKernelImageForDevice : cudaSuccess;
}

cudaError_t Binary::load_module_of(Module& module, const std::string& symbol) {
  if (module.loaded != nullptr || module.load_error != cudaSuccess) return module.load_error;
  auto loaded = load_module(*module.ptx, "<module of " + symbol + ">", allocations());
  if (!loaded) {
    log().error("the PTX of {} cannot be loaded: {}", demangle(symbol), one_line(loaded.error()));
    return module.load_error = cudaErrorInvalidPtx;
  }
  module.loaded = std::move(*loaded);
  place_variables(module);
  return cudaSuccess;
}

bool Binary::holds(Module& module, const Kernel& kernel) {
  // Scanning a module costs much more than this look.
  if (module.ptx->find(kernel.name) == std::string::npos) return false;
  if (load_module_of(module, kernel.name) != cudaSuccess) return false;
  const auto names = module.loaded->kernel_names();
  return std::find(names.begin(), names.end(), kernel.name) != names.end();
}

/// Takes older PTX of the module where the cpu device cannot run the kernel as it is there and the program
/// has nothing of the module yet. False: nothing has changed.
bool Binary::fall_back(Module& module, const Kernel& kernel) {
  if (module.in_use || module.older.empty()) return false;
  const Status compiled = module.loaded->compile(kernel.name, {});
  if (compiled) return false;
  const auto text = image::ptx_text(module.older.back());
  if (!text) return false;
  log().warn("kernel {}: {}; its PTX for compute_{} is run instead", demangle(kernel.name),
             one_line(compiled.error()), module.older.back().sm);
  module.older.pop_back();
  for (const auto& variable : variables) {
    if (variable->storage == nullptr || !module.loaded->variable(variable->name)) continue;
    variable->storage = nullptr;
    variable->initial_value.clear();
  }
  module.entered.reset();
  module.loaded.reset();
  module.ptx = std::make_shared<const std::string>(*text);
  return true;
}

cudaError_t Binary::load(Kernel& kernel, std::shared_ptr<const LoadedKernel>& loaded) {
  const std::lock_guard lock(mutex_);
  if (kernel.loaded == nullptr && kernel.load_error == cudaSuccess) {
    kernel.load_error = decode();
    if (kernel.load_error == cudaErrorNoKernelImageForDevice) {
      log().error("kernel {} cannot run on the cpu device: {}", demangle(kernel.name),
                  why_no_ptx(wrapper_, kernel.name));
    }
    for (Module& module : modules_) {
      if (kernel.load_error != cudaSuccess || kernel.loaded != nullptr) break;
      bool has_kernel = holds(module, kernel);
      while (has_kernel && fall_back(module, kernel)) has_kernel = holds(module, kernel);
      if (!has_kernel) continue;
      auto info = module.loaded->kernel(kernel.name);
      if (!info) {
        log().error("kernel {} cannot be loaded: {}", demangle(kernel.name), one_line(info.error()));
        kernel.load_error = cudaErrorInvalidPtx;
        break;
      }
      kernel.loaded =
          std::make_shared<const LoadedKernel>(LoadedKernel{module.loaded, module.ptx, std::move(*info)});
      module.in_use = true;
    }
    if (kernel.loaded == nullptr && kernel.load_error == cudaSuccess) {
      const auto broken = std::find_if(modules_.begin(), modules_.end(),
                                       [](const Module& module) { return module.load_error != cudaSuccess; });
      kernel.load_error = broken != modules_.end() ? broken->load_error : cudaErrorInvalidDeviceFunction;
      if (broken == modules_.end())
        log().error("kernel {} is not in the PTX of its fatbinary", demangle(kernel.name));
    }
  }
  loaded = kernel.loaded;
  return kernel.load_error;
}

void Binary::place_variables(Module& module) {
  std::set<std::string_view> managed;
  for (const auto& variable : variables) {
    if (variable->managed_pointer != nullptr) managed.insert(variable->name);
    if (variable->storage != nullptr) continue;
    const auto storage = module.loaded->variable(variable->name);
    if (!storage) continue;
    variable->storage = storage->address;
    variable->bytes = std::min<std::size_t>(variable->bytes, storage->bytes);
    const auto* first = static_cast<const std::byte*>(storage->address);
    variable->initial_value.assign(first, first + storage->bytes);
  }
  // Kernels may access those that the host code does not know, too.
  module.entered = std::make_unique<ModuleVariables>(
      *module.loaded, [&](std::string_view name) { return managed.contains(name); });
}

cudaError_t Binary::place(Variable& variable) {
  if (variable.storage != nullptr) return cudaSuccess;
  if (const cudaError_t error = decode(); error != cudaSuccess) {
    if (error == cudaErrorNoKernelImageForDevice && !std::exchange(variable.failure_logged, true)) {
      log().error("variable {} cannot be used on the cpu device: {}", demangle(variable.name),
                  why_no_ptx(wrapper_, variable.name));
    }
    return error;
  }
  for (Module& module : modules_) {
    if (module.ptx->find(variable.name) == std::string::npos) continue;
    if (const cudaError_t error = load_module_of(module, variable.name); error != cudaSuccess) return error;
    if (variable.storage == nullptr) continue;
    module.in_use = true;
    return cudaSuccess;
  }
  return cudaErrorInvalidSymbol;
}

cudaError_t Binary::load(Variable& variable) {
  const std::lock_guard lock(mutex_);
  return place(variable);
}

cudaError_t Binary::load_managed() {
  const std::lock_guard lock(mutex_);
  for (const auto& variable : variables) {
    if (variable->managed_pointer == nullptr) continue;
    if (const cudaError_t error = place(*variable); error != cudaSuccess) return error;
    *variable->managed_pointer = variable->storage;
  }
  return cudaSuccess;
}

std::optional<LoadedModule::VariableStorage> Binary::variable_of(Kernel& kernel, const std::string& name) {
  std::shared_ptr<const LoadedKernel> loaded;
  if (kernel.binary->load(kernel, loaded) != cudaSuccess) return std::nullopt;
  return loaded->module->variable(name);
}

cudaError_t Binary::load_all(const std::string& name) {
  const std::lock_guard lock(mutex_);
  if (const cudaError_t error = decode(); error != cudaSuccess) return error;
  for (Module& module : modules_) {
    if (const cudaError_t error = load_module_of(module, name); error != cudaSuccess) return error;
  }
  return cudaSuccess;
}

std::vector<std::string> Binary::kernel_names() {
  const std::lock_guard lock(mutex_);
  std::vector<std::string> names;
  for (const Module& module : modules_) {
    for (std::string& name : module.loaded->kernel_names()) names.push_back(std::move(name));
  }
  return names;
}

std::optional<LoadedModule::VariableStorage> Binary::find_variable(const std::string& name) {
  const std::lock_guard lock(mutex_);
  for (Module& module : modules_) {
    const auto found = module.loaded->variable(name);
    if (!found) continue;
    module.in_use = true;
    return found;
  }
  return std::nullopt;
}

void Binary::restore_variables() {
  const std::lock_guard lock(mutex_);
  for (const auto& variable : variables) {
    if (variable->storage == nullptr) continue;
    std::memcpy(variable->storage, variable->initial_value.data(), variable->initial_value.size());
  }
}

void Binary::retire(const std::vector<Kernel*>& kernels) {
  const std::lock_guard lock(mutex_);
  for (Kernel* kernel : kernels) {
    kernel->loaded.reset();
    kernel->load_error = cudaErrorCudartUnloading;
  }
  variables.clear();
  // What is still to run may use them; then they stay.
  if (streams().all_idle()) modules_.clear();
  decoded_ = retired_ = true;
}

// ---------------------------------------------------------------- Registry

Binary* Registry::add_binary(const void* wrapper) {
  const std::unique_lock lock(mutex_);
  return binaries_.emplace_back(std::make_unique<Binary>(wrapper)).get();
}

bool Registry::is_binary(const Binary* binary) const {
  const std::shared_lock lock(mutex_);
  return std::any_of(binaries_.begin(), binaries_.end(),
                     [&](const auto& known) { return known.get() == binary; });
}

void Registry::remove_binary(Binary* binary) {
  std::vector<Kernel*> gone;
  {
    const std::unique_lock lock(mutex_);
    const auto found = std::find_if(binaries_.begin(), binaries_.end(),
                                    [&](const auto& known) { return known.get() == binary; });
    if (found == binaries_.end()) return;
    std::erase_if(kernel_of_, [&](const auto& entry) { return entry.second->binary == binary; });
    std::erase_if(variable_of_, [&](const auto& entry) { return entry.second->binary == binary; });
    retired_.push_back(std::move(*found));
    binaries_.erase(found);
    for (const auto& kernel : kernels_) {
      if (kernel->binary == binary) gone.push_back(kernel.get());
    }
  }
  binary->retire(gone);
}

Kernel* Registry::add_kernel(Binary* binary, const void* host_function, const char* name) {
  auto kernel = std::make_unique<Kernel>();
  kernel->binary = binary;
  kernel->host_function = host_function;
  kernel->name = name;
  const std::unique_lock lock(mutex_);
  if (host_function != nullptr) kernel_of_[host_function] = kernel.get();
  kernel_of_[kernel.get()] = kernel.get();
  return kernels_.emplace_back(std::move(kernel)).get();
}

void Registry::add_variable(Binary* binary, std::unique_ptr<Variable> variable) {
  variable->binary = binary;
  const std::unique_lock lock(mutex_);
  variable_of_[variable->host_address] = variable.get();
  binary->variables.push_back(std::move(variable));
}

Kernel* Registry::find_kernel(const void* function) const {
  const std::shared_lock lock(mutex_);
  const auto found = kernel_of_.find(function);
  return found != kernel_of_.end() ? found->second : nullptr;
}

Variable* Registry::find_variable(const void* symbol) const {
  const std::shared_lock lock(mutex_);
  const auto found = variable_of_.find(symbol);
  if (found != variable_of_.end()) return found->second;
  // `&m` of a managed variable is the address of its storage.
  for (const auto& [host_address, variable] : variable_of_) {
    if (variable->managed_pointer != nullptr && symbol != nullptr && *variable->managed_pointer == symbol)
      return variable;
  }
  return nullptr;
}

void Registry::restore_variables() {
  const std::shared_lock lock(mutex_);
  for (const auto& binary : binaries_) binary->restore_variables();
}

}  // namespace lynxpp::device::cpu
