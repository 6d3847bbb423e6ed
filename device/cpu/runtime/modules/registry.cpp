#include "device/cpu/runtime/modules/registry.h"

#include <algorithm>
#include <cctype>
#include <cstring>
#include <set>
#include <utility>

#include "device/cpu/runtime/devices.h"
#include "device/cpu/runtime/error.h"
#include "device/cpu/runtime/memory/allocations.h"
#include "device/cpu/runtime/streams.h"
#include "image/bytes.h"
#include "image/compiler_caches.h"
#include "image/fatbinary.h"
#include "ptx/parser/linking.h"
#include "support/log.h"
#include "support/text.h"

namespace lynxpp::device::cpu {
namespace {

/// True if the text is that of CUDA's library for kernels that launch kernels (libcudadevrt), whose functions
/// the cpu device implements.
bool is_device_runtime(std::string_view text) {
  constexpr std::string_view name = "__cudaCDP2LaunchDeviceV2";
  const std::size_t at = text.find(name);
  if (at == std::string_view::npos) return false;
  const std::size_t before = text.find_last_of(";}", at);
  const std::string_view header = text.substr(before == std::string_view::npos ? 0 : before, at - before);
  return header.find(".func") != std::string_view::npos && header.find(".extern") == std::string_view::npos;
}

/// True if the text declares a variable of that name with .attribute(.managed).
bool has_managed(std::string_view text, std::string_view name) {
  constexpr std::string_view attribute = ".managed";
  for (std::size_t at = text.find(attribute); at != std::string_view::npos;
       at = text.find(attribute, at + 1)) {
    std::string_view declared = text.substr(at, text.find_first_of(";=[", at) - at);
    while (!declared.empty() && std::isspace(static_cast<unsigned char>(declared.back())) != 0)
      declared.remove_suffix(1);
    if (!declared.ends_with(name)) continue;
    declared.remove_suffix(name.size());
    if (!declared.empty() && std::isspace(static_cast<unsigned char>(declared.back())) != 0) return true;
  }
  return false;
}

/// Returns the PTX of modules linked into a program of relocatable device code (-rdc=true).
std::vector<std::string> relocatable_texts(const void* wrapper) {
  std::vector<std::string> texts;
  for (const auto container : image::prelinked_containers(wrapper)) {
    auto found = image::ptx_modules(container, compute_capability());
    if (found && found->empty()) found = image::ptx_modules(container, 0);
    if (!found) continue;
    for (std::string& text : *found) {
      if (!is_device_runtime(text)) texts.push_back(std::move(text));
    }
  }
  return texts;
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
  auto versions = image::ptx_versions(*bytes, compute_capability());
  // If all PTX targets newer hardware, use it anyway: the cpu device does not depend on the compute
  // capability.
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
  if (modules_.empty()) {
    const cudaError_t linked = link_relocatable();
    if (linked != cudaErrorNoKernelImageForDevice) return decode_error_ = linked;
  }
  return decode_error_ = take_machine_code(*bytes);
}

/// Adds the PTX from which machine code was compiled, for containers without PTX. Errors:
/// cudaErrorNoKernelImageForDevice if no module is found.
cudaError_t Binary::take_machine_code(std::span<const std::byte> image) {
  auto found = image::ptx_of_machine_code(image);
  if (!found) {
    log().error("a fatbinary of the program cannot be read: {}", one_line(found.error()));
    return cudaErrorInvalidKernelImage;
  }
  for (image::CubinPtx& each : *found) {
    if (!each.problem.empty()) machine_code_problem_ = each.problem;
    std::erase_if(each.texts, is_device_runtime);
    if (each.texts.empty()) continue;
    std::string text = each.texts.front();
    if (each.texts.size() > 1) {
      Result<std::string> linked = ptx::link_modules(each.texts);
      if (!linked) {
        machine_code_problem_ = "the PTX in " + std::string(describe(each.origin)) +
                                " cannot be linked: " + one_line(linked.error());
        continue;
      }
      text = std::move(*linked);
    }
    Module& module = modules_.emplace_back();
    module.ptx = std::make_shared<const std::string>(std::move(text));
    module.origin = each.origin;
  }
  return modules_.empty() ? cudaErrorNoKernelImageForDevice : cudaSuccess;
}

std::string Binary::why_no_ptx() const {
  if (!machine_code_problem_.empty()) return machine_code_problem_;
  const auto bytes = image::image_bytes(wrapper_);
  const std::string cache = bytes && image::load<std::uint32_t>(*bytes, 0) == image::elf_magic
                                ? image::unobserved_compilation()
                                : "";
  if (!cache.empty()) return "the PTX of its machine code is not available" + cache;
  const bool is_relocatable = !image::prelinked_containers(wrapper_).empty();
  return std::string(is_relocatable ? "its relocatable device code holds no PTX"
                                    : "its fatbinary holds no PTX") +
         "; build with -lineinfo or -arch=compute_XX, or keep PTX in the fatbinary "
         "(-gencode arch=compute_XX,code=compute_XX)";
}

/// Links the modules of all source files into one.
cudaError_t Binary::link_relocatable() {
  const std::vector<std::string> texts = relocatable_texts(wrapper_);
  if (texts.empty()) return cudaErrorNoKernelImageForDevice;
  Result<std::string> linked = ptx::link_modules(texts);
  if (!linked) {
    log().error("relocatable device code of the program cannot be linked: {}", one_line(linked.error()));
    return cudaErrorInvalidKernelImage;
  }
  modules_.push_back({std::make_shared<const std::string>(std::move(*linked)), {}});
  return cudaSuccess;
}

/// Returns the addresses of managed variables that some device has already placed.
SharedVariables Binary::managed_variables() const {
  SharedVariables found;
  for (const auto& variable : variables) {
    void* const place = variable->managed_pointer != nullptr ? variable->storage_anywhere() : nullptr;
    if (place != nullptr) found[variable->name] = {place, variable->bytes};
  }
  return found;
}

cudaError_t Binary::load_module_of(Module& module, int device, const std::string& symbol) {
  Module::OnDevice& here = module.devices[device];
  if (here.loaded != nullptr || here.load_error != cudaSuccess) return here.load_error;
  auto loaded = load_module(*module.ptx, "<module of " + symbol + ">", allocations().of_device(device),
                            managed_variables());
  if (!loaded) {
    log().error("the PTX of {} cannot be loaded: {}", demangle(symbol), one_line(loaded.error()));
    return here.load_error = cudaErrorInvalidPtx;
  }
  here.loaded = std::move(*loaded);
  place_variables(module, device);
  return cudaSuccess;
}

bool Binary::holds(Module& module, int device, const Kernel& kernel) {
  // Searching the text for the name is much cheaper than scanning the module.
  if (module.ptx->find(kernel.name) == std::string::npos) return false;
  if (load_module_of(module, device, kernel.name) != cudaSuccess) return false;
  const auto names = module.devices[device].loaded->kernel_names();
  return std::find(names.begin(), names.end(), kernel.name) != names.end();
}

/// Switches to older PTX of the module if the cpu device cannot run the kernel's current PTX and the program
/// does not use the module yet. Returns false if nothing has changed.
bool Binary::fall_back(Module& module, int device, const Kernel& kernel) {
  if (module.in_use || module.older.empty()) return false;
  const std::shared_ptr<LoadedModule> loaded = module.devices[device].loaded;
  const Status compiled = loaded->compile(kernel.name, {});
  if (compiled) return false;
  const auto text = image::ptx_text(module.older.back());
  if (!text) return false;
  log().warn("kernel {}: {}; its PTX for compute_{} is run instead", demangle(kernel.name),
             one_line(compiled.error()), module.older.back().sm);
  module.older.pop_back();
  for (const auto& variable : variables) {
    if (loaded->variable(variable->name)) variable->devices = {};
  }
  module.devices.clear();
  module.ptx = std::make_shared<const std::string>(*text);
  return true;
}

cudaError_t Binary::load(Kernel& kernel, int device, std::shared_ptr<const LoadedKernel>& loaded) {
  const std::lock_guard lock(mutex_);
  Kernel::OnDevice& here = kernel.on(device);
  if (here.loaded == nullptr && here.load_error == cudaSuccess)
    here.load_error = find_and_load(kernel, device);
  loaded = here.loaded;
  return here.load_error;
}

cudaError_t Binary::find_and_load(Kernel& kernel, int device) {
  const cudaError_t decoded = decode();
  if (decoded == cudaErrorNoKernelImageForDevice) {
    log().error("kernel {} cannot run on the cpu device: {}", demangle(kernel.name), why_no_ptx());
  }
  if (decoded != cudaSuccess) return decoded;
  for (Module& module : modules_) {
    bool has_kernel = holds(module, device, kernel);
    while (has_kernel && fall_back(module, device, kernel)) has_kernel = holds(module, device, kernel);
    if (!has_kernel) continue;
    const std::shared_ptr<LoadedModule>& found = module.devices[device].loaded;
    auto info = found->kernel(kernel.name);
    if (!info) {
      log().error("kernel {} cannot be loaded: {}", demangle(kernel.name), one_line(info.error()));
      return cudaErrorInvalidPtx;
    }
    kernel.on(device).loaded = std::make_shared<const LoadedKernel>(
        LoadedKernel{found, module.ptx, module.origin, std::move(*info)});
    module.in_use = true;
    return cudaSuccess;
  }
  for (Module& module : modules_) {
    if (module.devices[device].load_error != cudaSuccess) return module.devices[device].load_error;
  }
  log().error("kernel {} is not in the PTX of its fatbinary", demangle(kernel.name));
  return cudaErrorInvalidDeviceFunction;
}

void Binary::place_variables(Module& module, int device) {
  LoadedModule& loaded = *module.devices[device].loaded;
  std::set<std::string_view> managed;
  for (const auto& variable : variables) {
    if (variable->managed_pointer != nullptr) managed.insert(variable->name);
    if (variable->storage_on(device) != nullptr) continue;
    const auto storage = loaded.variable(variable->name);
    if (!storage) continue;
    variable->bytes = std::min<std::size_t>(variable->bytes, storage->bytes);
    Variable::OnDevice here{storage->address, {}};
    const auto* first = static_cast<const std::byte*>(storage->address);
    // The initial value of a managed variable is known only before any device has placed it.
    if (variable->managed_pointer == nullptr || variable->storage_anywhere() == nullptr)
      here.initial_value.assign(first, first + storage->bytes);
    variable->on(device) = std::move(here);
  }
  // Kernels may also access variables that the host code does not register.
  module.devices[device].entered = std::make_unique<ModuleVariables>(
      loaded, device, [&](std::string_view name) { return managed.contains(name); });
}

cudaError_t Binary::place(Variable& variable, int device) {
  if (variable.storage_on(device) != nullptr) return cudaSuccess;
  if (const cudaError_t error = decode(); error != cudaSuccess) {
    if (error == cudaErrorNoKernelImageForDevice && !std::exchange(variable.failure_logged, true)) {
      log().error("variable {} cannot be used on the cpu device: {}", demangle(variable.name), why_no_ptx());
    }
    return error;
  }
  for (Module& module : modules_) {
    if (module.ptx->find(variable.name) == std::string::npos) continue;
    if (const cudaError_t error = load_module_of(module, device, variable.name); error != cudaSuccess)
      return error;
    if (variable.storage_on(device) == nullptr) continue;
    module.in_use = true;
    return cudaSuccess;
  }
  return cudaErrorInvalidSymbol;
}

cudaError_t Binary::load(Variable& variable, int device) {
  const std::lock_guard lock(mutex_);
  return place(variable, device);
}

cudaError_t Binary::load_managed() {
  const std::lock_guard lock(mutex_);
  const int device = current_device();
  for (const auto& variable : variables) {
    if (variable->managed_pointer == nullptr) continue;
    if (const cudaError_t error = place(*variable, device); error != cudaSuccess) return error;
    *variable->managed_pointer = variable->storage_on(device);
  }
  return cudaSuccess;
}

std::optional<VariableStorage> Binary::variable_of(Kernel& kernel, int device, const std::string& name) {
  std::shared_ptr<const LoadedKernel> loaded;
  if (kernel.binary->load(kernel, device, loaded) != cudaSuccess) return std::nullopt;
  return loaded->module->variable(name);
}

cudaError_t Binary::load_all(const std::string& name, int device) {
  const std::lock_guard lock(mutex_);
  if (const cudaError_t error = decode(); error != cudaSuccess) return error;
  for (Module& module : modules_) {
    if (const cudaError_t error = load_module_of(module, device, name); error != cudaSuccess) return error;
  }
  return cudaSuccess;
}

std::vector<std::string> Binary::kernel_names() {
  const std::lock_guard lock(mutex_);
  std::vector<std::string> names;
  for (const Module& module : modules_) {
    const auto loaded = std::ranges::find_if(
        module.devices, [](const auto& device) { return device.second.loaded != nullptr; });
    if (loaded == module.devices.end()) continue;
    for (std::string& name : loaded->second.loaded->kernel_names()) names.push_back(std::move(name));
  }
  return names;
}

std::optional<VariableStorage> Binary::find_variable(const std::string& name, int device) {
  const std::lock_guard lock(mutex_);
  for (Module& module : modules_) {
    if (load_module_of(module, device, name) != cudaSuccess) continue;
    const auto found = module.devices[device].loaded->variable(name);
    if (!found) continue;
    module.in_use = true;
    return found;
  }
  return std::nullopt;
}

bool Binary::declares_managed(const std::string& name) {
  const std::lock_guard lock(mutex_);
  return std::ranges::any_of(modules_, [&](const Module& module) { return has_managed(*module.ptx, name); });
}

void Binary::restore_variables(int device) {
  const std::lock_guard lock(mutex_);
  for (const auto& variable : variables) {
    const Variable::OnDevice& here = variable->on(device);
    if (!here.initial_value.empty())
      std::memcpy(here.storage, here.initial_value.data(), here.initial_value.size());
  }
}

void Binary::retire(const std::vector<Kernel*>& kernels) {
  const std::lock_guard lock(mutex_);
  for (Kernel* kernel : kernels) {
    for (Kernel::OnDevice& device : kernel->devices) {
      device.loaded.reset();
      device.load_error = cudaErrorCudartUnloading;
    }
  }
  variables.clear();
  // Pending work may use the modules; then keep them.
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

void Registry::restore_variables(int device) {
  const std::shared_lock lock(mutex_);
  for (const auto& binary : binaries_) binary->restore_variables(device);
}

}  // namespace lynxpp::device::cpu
