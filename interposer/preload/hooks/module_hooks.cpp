#include "interposer/preload/hooks/module_hooks.h"

#include <cstdint>
#include <utility>

#include "interposer/preload/compilers/linked_compilers.h"
#include "interposer/preload/control.h"
#include "interposer/preload/cpu_binding.h"
#include "interposer/preload/driver.h"
#include "interposer/preload/engine_client.h"
#include "interposer/preload/file_content.h"
#include "interposer/preload/process.h"
#include "interposer/preload/quietly.h"

namespace lynxpp::preload {

constinit std::atomic<std::uint64_t> attribute_changes = 0;

namespace {

using LibraryLoadData = CUresult (*)(CUlibrary*, const void*, int*, void**, unsigned, int*, void**, unsigned);
using LibraryGetKernel = CUresult (*)(CUkernel*, CUlibrary, const char*);
using LibraryGetModule = CUresult (*)(CUmodule*, CUlibrary);
using KernelGetFunction = CUresult (*)(CUfunction*, CUkernel);
using ModuleLoadData = CUresult (*)(CUmodule*, const void*);
using ModuleLoadDataEx = CUresult (*)(CUmodule*, const void*, unsigned, int*, void**);
using ModuleGetFunction = CUresult (*)(CUfunction*, CUmodule, const char*);
using Unload = CUresult (*)(void*);
using GetName = CUresult (*)(const char**, void*);
using GetOwner = CUresult (*)(void**, void*);

/// A graph node refers to the CUfunction of a kernel that the program knows only by its CUkernel.
KernelPtr ask_for_kernel_of(void* function, const char* name) {
  const auto function_of = driver_function<KernelGetFunction>("cuKernelGetFunction");
  if (function_of == nullptr) return nullptr;
  for (void* const handle : registry().kernels_named(name)) {
    CUfunction found = nullptr;
    if (function_of(&found, static_cast<CUkernel>(handle)) != cuda_success || found != function) continue;
    registry().add_alias(function, handle, current_context());
    return registry().find_function(function).kernel;
  }
  return nullptr;
}

}  // namespace

void forget_in_engine(const Registry::Removed& removed) {
  const lynxpp_engine* const engine = opened_engine();
  if (engine == nullptr) return;
  const Passthrough passthrough;
  for (const auto& [handle, module] : removed.modules) {
    if (module.image != nullptr && module.library == nullptr) engine->forget_image(module.image->view().id);
  }
}

KernelPtr ask_driver(void* function) {
  const auto ask = [function](const char* get_name, const char* get_owner, CUcontext context) -> KernelPtr {
    const auto name_of = driver_function<GetName>(get_name);
    const char* name = nullptr;
    if (name_of == nullptr || name_of(&name, function) != cuda_success || name == nullptr) return nullptr;
    if (KernelPtr kernel = ask_for_kernel_of(function, name)) return kernel;
    void* owner = nullptr;
    const auto owner_of = driver_function<GetOwner>(get_owner);
    if (owner_of == nullptr || owner_of(&owner, function) != cuda_success) owner = nullptr;
    return registry().add_late_function(function, owner, name, context);
  };
  KernelPtr kernel = ask("cuFuncGetName", "cuFuncGetModule", current_context());
  if (kernel == nullptr) kernel = ask("cuKernelGetName", "cuKernelGetLibrary", nullptr);
  if (kernel == nullptr)
    kernel = registry().add_late_function(function, nullptr, "(unnamed kernel)", current_context());
  return kernel;
}

namespace {

// ---- modules ---------------------------------------------------------------------------------------------

/// Does not query the driver on the program's behalf.
CUcontext context_of_load() {
  const Passthrough passthrough;
  return current_context();
}

/// `context`: the context that owns a CUmodule; null for a CUlibrary.
void remember_module(void* module, const void* image, CUcontext context) {
  if (Passthrough::active()) return;
  begin_control();
  if (settings.checks && driver_is_stand_in()) finish_at_exit();
  bind_linked_compilers();  // for libraries opened since the last call
  if (image == nullptr) return;
  explain_driver_use();
  quietly([&] {
    // A known handle belonged to a module that ended with its context.
    if (registry().knows_module(module)) forget_in_engine(registry().remove_module(module));
    if (ImagePtr remembered = Image::remember(image))
      registry().add_module(module, std::move(remembered), context);
  });
}

template <Slot slot, Binding binding>
CUresult library_load_data(CUlibrary* library, const void* code, int* jit_options, void** jit_values,
                           unsigned jit_count, int* options, void** values, unsigned count) {
  const auto load = original<slot, binding, LibraryLoadData>();
  const CUresult result = load(library, code, jit_options, jit_values, jit_count, options, values, count);
  if (result == cuda_success && library != nullptr) remember_module(*library, code, nullptr);
  return result;
}

template <Slot slot, Binding binding>
CUresult module_load_data(CUmodule* module, const void* image) {
  const CUresult result = original<slot, binding, ModuleLoadData>()(module, image);
  if (result == cuda_success && module != nullptr) remember_module(*module, image, context_of_load());
  return result;
}

template <Slot slot, Binding binding>
CUresult module_load_data_ex(CUmodule* module, const void* image, unsigned count, int* options,
                             void** values) {
  const CUresult result = original<slot, binding, ModuleLoadDataEx>()(module, image, count, options, values);
  if (result == cuda_success && module != nullptr) remember_module(*module, image, context_of_load());
  return result;
}

template <Slot slot, Binding binding>
CUresult module_load_file(CUmodule* module, const char* path) {
  using Load = CUresult (*)(CUmodule*, const char*);
  const CUresult result = original<slot, binding, Load>()(module, path);
  if (result == cuda_success && module != nullptr && !Passthrough::active())
    quietly([&] { remember_module(*module, FileContent(path).image(), context_of_load()); });
  return result;
}

template <Slot slot, Binding binding>
CUresult library_load_file(CUlibrary* library, const char* path, int* jit_options, void** jit_values,
                           unsigned jit_count, int* options, void** values, unsigned count) {
  using Load = CUresult (*)(CUlibrary*, const char*, int*, void**, unsigned, int*, void**, unsigned);
  const auto load = original<slot, binding, Load>();
  const CUresult result = load(library, path, jit_options, jit_values, jit_count, options, values, count);
  if (result == cuda_success && library != nullptr && !Passthrough::active())
    quietly([&] { remember_module(*library, FileContent(path).image(), nullptr); });
  return result;
}

/// The engine releases first: after the driver has unloaded, another thread may get the same handles.
template <Slot slot, Binding binding>
CUresult unload(void* module) {
  const auto really = original<slot, binding, Unload>();
  if (Passthrough::active()) return really(module);
  Registry::Removed removed;
  quietly([&] {
    removed = registry().remove_module(module);
    forget_in_engine(removed);
  });
  const CUresult result = really(module);
  if (result != cuda_success) quietly([&] { registry().restore(removed); });
  return result;
}

template <Slot slot, Binding binding>
CUresult module_unload(CUmodule module) {
  return unload<slot, binding>(module);
}

template <Slot slot, Binding binding>
CUresult library_unload(CUlibrary library) {
  return unload<slot, binding>(library);
}

// ---- functions -------------------------------------------------------------------------------------------

template <Slot slot, Binding binding>
CUresult library_get_kernel(CUkernel* kernel, CUlibrary library, const char* name) {
  const CUresult result = original<slot, binding, LibraryGetKernel>()(kernel, library, name);
  if (result == cuda_success && kernel != nullptr && name != nullptr && !Passthrough::active()) {
    quietly([&] { registry().add_function(*kernel, library, name, Registry::In::library); });
  }
  return result;
}

template <Slot slot, Binding binding>
CUresult library_get_module(CUmodule* module, CUlibrary library) {
  const CUresult result = original<slot, binding, LibraryGetModule>()(module, library);
  if (result == cuda_success && module != nullptr && !Passthrough::active()) {
    quietly([&] { registry().add_module_of_library(*module, library, context_of_load()); });
  }
  return result;
}

template <Slot slot, Binding binding>
CUresult module_get_function(CUfunction* function, CUmodule module, const char* name) {
  const CUresult result = original<slot, binding, ModuleGetFunction>()(function, module, name);
  if (result == cuda_success && function != nullptr && name != nullptr && !Passthrough::active()) {
    quietly([&] { registry().add_function(*function, module, name, Registry::In::module); });
  }
  return result;
}

template <Slot slot, Binding binding>
CUresult kernel_get_function(CUfunction* function, CUkernel kernel) {
  const CUresult result = original<slot, binding, KernelGetFunction>()(function, kernel);
  if (result == cuda_success && function != nullptr && !Passthrough::active()) {
    quietly([&] { registry().add_alias(*function, kernel, context_of_load()); });
  }
  return result;
}

// ---- attributes of functions -----------------------------------------------------------------------------
//
// The engine queries attributes before it loads a variant; this code notifies it of later changes. Cache
// configurations cannot be queried, so they are recorded here.

void note_attribute(CUresult result) {
  if (result == cuda_success && !Passthrough::active()) ++attribute_changes;
}

template <Slot slot, Binding binding>
CUresult function_set_attribute(CUfunction function, int attribute, int value) {
  using Set = CUresult (*)(CUfunction, int, int);
  const CUresult result = original<slot, binding, Set>()(function, attribute, value);
  note_attribute(result);
  return result;
}

template <Slot slot, Binding binding>
CUresult kernel_set_attribute(int attribute, int value, CUkernel kernel, CUdevice device) {
  using Set = CUresult (*)(int, int, CUkernel, CUdevice);
  const CUresult result = original<slot, binding, Set>()(attribute, value, kernel, device);
  note_attribute(result);
  return result;
}

/// Applies to a function, or to a kernel on a device.
template <Slot slot, Binding binding>
CUresult set_cache_config(void* function, int config, CUdevice device) {
  using Set = CUresult (*)(void*, int, CUdevice);
  const CUresult result = original<slot, binding, Set>()(function, config, device);
  if (result == cuda_success && !Passthrough::active())
    quietly([&] { registry().set_cache_config(function, config); });
  return result;
}

}  // namespace
}  // namespace lynxpp::preload

#define LYNXPP_FAMILY_modules LYNXPP_DEFINE_HOOK
#include "interposer/preload/hooks/define_hooks.h"
