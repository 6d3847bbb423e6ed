#include "interposer/preload/hooks.h"

#include "interposer/preload/capture_hooks.h"
#include "interposer/preload/compilers/linked_compilers.h"
#include "interposer/preload/control.h"
#include "interposer/preload/cpu_binding.h"
#include "interposer/preload/engine_client.h"
#include "interposer/preload/file_content.h"
#include "interposer/preload/memory_hooks.h"
#include "interposer/preload/process.h"
#include "interposer/preload/quietly.h"
#include "interposer/preload/registry.h"
#include "interposer/preload/tensor_map_hooks.h"

namespace lynxpp::preload {
namespace {

using GetProcAddress = CUresult (*)(const char*, void**, int, std::uint64_t);
using GetProcAddressV2 = CUresult (*)(const char*, void**, int, std::uint64_t, int*);
using LibraryLoadData = CUresult (*)(CUlibrary*, const void*, int*, void**, unsigned, int*, void**, unsigned);
using LibraryGetKernel = CUresult (*)(CUkernel*, CUlibrary, const char*);
using LibraryGetModule = CUresult (*)(CUmodule*, CUlibrary);
using KernelGetFunction = CUresult (*)(CUfunction*, CUkernel);
using ModuleLoadData = CUresult (*)(CUmodule*, const void*);
using ModuleLoadDataEx = CUresult (*)(CUmodule*, const void*, unsigned, int*, void**);
using ModuleGetFunction = CUresult (*)(CUfunction*, CUmodule, const char*);
using Unload = CUresult (*)(void*);
using LaunchKernel = CUresult (*)(CUfunction, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                                  unsigned, CUstream, void**, void**);
using LaunchKernelEx = CUresult (*)(const CUlaunchConfig*, CUfunction, void**, void**);
using LaunchCooperativeKernel = CUresult (*)(CUfunction, unsigned, unsigned, unsigned, unsigned, unsigned,
                                             unsigned, unsigned, CUstream, void**);
using ContextDestroy = CUresult (*)(CUcontext);
using PrimaryContextEnd = CUresult (*)(CUdevice);
using Synchronize = CUresult (*)(const void*);
using SynchronizeContext = CUresult (*)();
using Copy = CUresult (*)(std::uintptr_t, std::uintptr_t, std::size_t);
using CopyAsync = CUresult (*)(std::uintptr_t, std::uintptr_t, std::size_t, CUstream);
using GetName = CUresult (*)(const char**, void*);
using GetOwner = CUresult (*)(void**, void*);

constexpr bool per_thread_stream(Slot slot) {
  return slot == Slot::cuLaunchKernel_ptsz || slot == Slot::cuLaunchKernelEx_ptsz ||
         slot == Slot::cuLaunchCooperativeKernel_ptsz;
}

// ---- modules ---------------------------------------------------------------------------------------------

void forget_in_engine(const Registry::Removed& removed) {
  const lynxpp_engine* const engine = opened_engine();
  if (engine == nullptr) return;
  const Passthrough passthrough;
  for (const auto& [handle, module] : removed.modules) {
    if (module.image != nullptr && module.library == nullptr) engine->forget_image(module.image->view().id);
  }
}

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

/// A graph node refers to the CUfunction of a kernel that the program knows only by its CUkernel.
KernelPtr ask_for_kernel_of(void* function, const char* name) {
  const auto function_of = reinterpret_cast<KernelGetFunction>(lookup_driver("cuKernelGetFunction"));
  if (function_of == nullptr) return nullptr;
  for (void* const handle : registry().kernels_named(name)) {
    CUfunction found = nullptr;
    if (function_of(&found, static_cast<CUkernel>(handle)) != cuda_success || found != function) continue;
    registry().add_alias(function, handle, current_context());
    return registry().find_function(function).kernel;
  }
  return nullptr;
}

/// Handles a function obtained in a way that we do not intercept (cuModuleLoad from a file, cuLinkComplete,
/// enumeration): the driver reports its name and module. Precondition: Passthrough is active.
KernelPtr ask_driver(void* function) {
  const auto ask = [function](const char* get_name, const char* get_owner, CUcontext context) -> KernelPtr {
    const auto name_of = reinterpret_cast<GetName>(lookup_driver(get_name));
    const char* name = nullptr;
    if (name_of == nullptr || name_of(&name, function) != cuda_success || name == nullptr) return nullptr;
    if (KernelPtr kernel = ask_for_kernel_of(function, name)) return kernel;
    void* owner = nullptr;
    const auto owner_of = reinterpret_cast<GetOwner>(lookup_driver(get_owner));
    if (owner_of == nullptr || owner_of(&owner, function) != cuda_success) owner = nullptr;
    return registry().add_late_function(function, owner, name, context);
  };
  KernelPtr kernel = ask("cuFuncGetName", "cuFuncGetModule", current_context());
  if (kernel == nullptr) kernel = ask("cuKernelGetName", "cuKernelGetLibrary", nullptr);
  if (kernel == nullptr)
    kernel = registry().add_late_function(function, nullptr, "(unnamed kernel)", current_context());
  return kernel;
}

// ---- attributes of functions -----------------------------------------------------------------------------
//
// The engine queries attributes before it loads a variant; this code notifies it of later changes. Cache
// configurations cannot be queried, so they are recorded here.

std::atomic<std::uint64_t>& attribute_changes() {
  static constinit std::atomic<std::uint64_t> changes = 0;
  return changes;
}

void note_attribute(CUresult result) {
  if (result == cuda_success && !Passthrough::active()) ++attribute_changes();
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

#include "interposer/preload/compilers/link_hooks.h"
#include "interposer/preload/graph_hooks.h"
// These headers use the hooks of graphs.
#include "interposer/preload/context_hooks.h"

namespace lynxpp::preload {
namespace {

// ---- synchronisation -------------------------------------------------------------------------------------

/// The program has waited for the device.
CUresult waited(CUresult result) {
  const lynxpp_engine* const engine = attached() && !Passthrough::active() ? opened_engine() : nullptr;
  if (engine == nullptr) return result;
  const Passthrough passthrough;
  quietly([&] { engine->waited(); });
  return result;
}

/// Wraps synchronization with streams, events and contexts, and blocking copies described by structures.
template <Slot slot, Binding binding>
CUresult synchronize(const void* what) {
  return waited(original<slot, binding, Synchronize>()(what));
}

template <Slot slot, Binding binding>
CUresult synchronize_context() {
  return waited(original<slot, binding, SynchronizeContext>()());
}

/// Reports a copy to the engine that the driver has accepted.
CUresult told_of_copy(CUresult result, const lynxpp_copy& made) {
  const lynxpp_engine* const engine = attached() && !Passthrough::active() ? opened_engine() : nullptr;
  if (engine == nullptr || result != cuda_success || made.bytes == 0) return result;
  const Passthrough passthrough;
  quietly([&] { engine->copied(&made); });
  return result;
}

template <Slot slot, Binding binding>
CUresult copy(std::uintptr_t destination, std::uintptr_t source, std::size_t bytes) {
  const CUresult result = waited(original<slot, binding, Copy>()(destination, source, bytes));
  return told_of_copy(result, {destination, source, bytes, nullptr, 0});
}

template <Slot slot, Binding binding>
CUresult copy_async(std::uintptr_t destination, std::uintptr_t source, std::size_t bytes, CUstream stream) {
  const CUresult result = original<slot, binding, CopyAsync>()(destination, source, bytes, stream);
  return told_of_copy(result, {destination, source, bytes, stream, 1});
}

// ---- start and end of a measurement ----------------------------------------------------------------------

template <Slot slot, Binding binding>
CUresult profiler_start() {
  const CUresult result = original<slot, binding, SynchronizeContext>()();
  if (!Passthrough::active()) profiler_called(true);
  return result;
}

template <Slot slot, Binding binding>
CUresult profiler_stop() {
  if (!Passthrough::active()) profiler_called(false);
  return original<slot, binding, SynchronizeContext>()();
}

// ---- launches --------------------------------------------------------------------------------------------
//
// The function that the program calls is short: if nothing is attached, it is one load and a jump to the
// original. The rest is in its counterpart, seen_…, which is out of line so that the short function needs no
// stack frame.

void set(std::uint32_t (&shape)[3], unsigned x, unsigned y, unsigned z) {
  shape[0] = x;
  shape[1] = y;
  shape[2] = z;
}

/// Sets the fields that all launching calls share. Assigns individual members: clearing the structure first
/// would take a quarter of the time of a launch that no filter selects.
void set_call(lynxpp_launch& launch, Slot slot, CUfunction function, CUstream stream, void** parameters,
              void** extra) {
  launch.function = function;
  launch.kernel = nullptr;
  launch.image = nullptr;
  launch.stream = stream;
  launch.per_thread_stream = per_thread_stream(slot) ? 1 : 0;
  launch.cooperative = 0;
  launch.parameters = parameters;
  launch.extra = extra;
  launch.attributes = nullptr;
  launch.attribute_count = 0;
  launch.cache_config = -1;
  launch.is_context_function = 0;
}

/// Offers the launch to the engine. Returns true if the engine made it.
bool launched_by_engine(lynxpp_launch& launch, int* result) {
  if (Passthrough::active()) return false;
  launch.number = next_launch_number();
  if (!attached()) return false;
  bool launched = false;
  quietly([&] {
    const lynxpp_engine* const engine = attached_engine();
    if (engine == nullptr) return;
    const Passthrough passthrough;
    launch.modules = registry().changes();
    launch.attribute_changes = attribute_changes().load();
    launch.may_be_captured = captures().load() != 0 ? 1 : 0;
    if (const int known = engine->launch_again(&launch, result); known != 0) {
      launched = known == 2;
      return;
    }
    Function function = registry().find_function(launch.function);
    if (function.kernel == nullptr) {
      ask_driver(launch.function);
      function = registry().find_function(launch.function);
    }
    const KernelPtr& kernel = function.kernel;
    launch.kernel = kernel->name.c_str();
    launch.image = kernel->image != nullptr ? &kernel->image->view() : nullptr;
    launch.cache_config = kernel->cache_config;
    launch.is_context_function = function.is_context_function ? 1 : 0;
    launched = engine->launch(&launch, lookup_driver, result) == 1;
  });
  return launched;
}

template <Slot slot, Binding binding>
[[gnu::noinline]] CUresult seen_launch_kernel(CUfunction function, unsigned grid_x, unsigned grid_y,
                                              unsigned grid_z, unsigned block_x, unsigned block_y,
                                              unsigned block_z, unsigned shared_bytes, CUstream stream,
                                              void** parameters, void** extra) {
  lynxpp_launch launch;
  set_call(launch, slot, function, stream, parameters, extra);
  set(launch.grid, grid_x, grid_y, grid_z);
  set(launch.block, block_x, block_y, block_z);
  launch.shared_bytes = shared_bytes;
  int result = cuda_success;
  if (launched_by_engine(launch, &result)) return result;
  const Passthrough passthrough;
  return original<slot, binding, LaunchKernel>()(function, grid_x, grid_y, grid_z, block_x, block_y, block_z,
                                                 shared_bytes, stream, parameters, extra);
}

template <Slot slot, Binding binding>
CUresult launch_kernel(CUfunction function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                       unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared_bytes,
                       CUstream stream, void** parameters, void** extra) {
  const auto known = known_original<slot, binding, LaunchKernel>();
  const bool is_seen = known == nullptr || attached();
  if (!is_seen) next_launch_number();
  const auto next = is_seen ? seen_launch_kernel<slot, binding> : known;
  return next(function, grid_x, grid_y, grid_z, block_x, block_y, block_z, shared_bytes, stream, parameters,
              extra);
}

template <Slot slot, Binding binding>
[[gnu::noinline]] CUresult seen_launch_kernel_ex(const CUlaunchConfig* config, CUfunction function,
                                                 void** parameters, void** extra) {
  if (config != nullptr) {
    lynxpp_launch launch;
    set_call(launch, slot, function, config->hStream, parameters, extra);
    set(launch.grid, config->gridDimX, config->gridDimY, config->gridDimZ);
    set(launch.block, config->blockDimX, config->blockDimY, config->blockDimZ);
    launch.shared_bytes = config->sharedMemBytes;
    launch.attributes = config->attrs;  // includes the attribute for cooperative launches
    launch.attribute_count = config->attrs != nullptr ? config->numAttrs : 0;
    int result = cuda_success;
    if (launched_by_engine(launch, &result)) return result;
  }
  const Passthrough passthrough;
  return original<slot, binding, LaunchKernelEx>()(config, function, parameters, extra);
}

template <Slot slot, Binding binding>
CUresult launch_kernel_ex(const CUlaunchConfig* config, CUfunction function, void** parameters,
                          void** extra) {
  const auto known = known_original<slot, binding, LaunchKernelEx>();
  const bool is_seen = known == nullptr || attached();
  if (!is_seen) next_launch_number();
  const auto next = is_seen ? seen_launch_kernel_ex<slot, binding> : known;
  return next(config, function, parameters, extra);
}

template <Slot slot, Binding binding>
[[gnu::noinline]] CUresult seen_launch_cooperative_kernel(CUfunction function, unsigned grid_x,
                                                          unsigned grid_y, unsigned grid_z, unsigned block_x,
                                                          unsigned block_y, unsigned block_z,
                                                          unsigned shared_bytes, CUstream stream,
                                                          void** parameters) {
  lynxpp_launch launch;
  set_call(launch, slot, function, stream, parameters, nullptr);
  set(launch.grid, grid_x, grid_y, grid_z);
  set(launch.block, block_x, block_y, block_z);
  launch.shared_bytes = shared_bytes;
  launch.cooperative = 1;
  int result = cuda_success;
  if (launched_by_engine(launch, &result)) return result;
  const Passthrough passthrough;
  return original<slot, binding, LaunchCooperativeKernel>()(
      function, grid_x, grid_y, grid_z, block_x, block_y, block_z, shared_bytes, stream, parameters);
}

template <Slot slot, Binding binding>
CUresult launch_cooperative_kernel(CUfunction function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                                   unsigned block_x, unsigned block_y, unsigned block_z,
                                   unsigned shared_bytes, CUstream stream, void** parameters) {
  const auto known = known_original<slot, binding, LaunchCooperativeKernel>();
  const bool is_seen = known == nullptr || attached();
  if (!is_seen) next_launch_number();
  const auto next = is_seen ? seen_launch_cooperative_kernel<slot, binding> : known;
  return next(function, grid_x, grid_y, grid_z, block_x, block_y, block_z, shared_bytes, stream, parameters);
}

// ---- look-ups --------------------------------------------------------------------------------------------

/// Replaces the function that cuGetProcAddress found by our wrapper.
void substitute(const char* name, void** function, int version, std::uint64_t flags) {
  if (name == nullptr || function == nullptr || *function == nullptr || Passthrough::active()) return;
  const Slot slot = slot_of_request(name, version, (flags & per_thread_default_stream) != 0);
  if (slot == Slot::count) return note_unknown(name);
  remember_looked_up(slot, *function);
  *function = looked_up_wrapper(slot);
}

template <Slot slot, Binding binding>
CUresult get_proc_address(const char* name, void** function, int version, std::uint64_t flags) {
  const CUresult result = original<slot, binding, GetProcAddress>()(name, function, version, flags);
  if (result == cuda_success) substitute(name, function, version, flags);
  return result;
}

template <Slot slot, Binding binding>
CUresult get_proc_address_v2(const char* name, void** function, int version, std::uint64_t flags,
                             int* status) {
  const CUresult result = original<slot, binding, GetProcAddressV2>()(name, function, version, flags, status);
  if (result == cuda_success) substitute(name, function, version, flags);
  return result;
}

}  // namespace

void* looked_up_wrapper(Slot slot) {
  static void* const wrappers[] = {
#define LYNXPP_DRIVER_HOOK(exported, asked, per_thread_stream, since, wrapper) \
  reinterpret_cast<void*>(&wrapper<Slot::exported, Binding::looked_up>),
#include "interposer/driver_api.def"
#undef LYNXPP_DRIVER_HOOK
  };
  return wrappers[static_cast<unsigned>(slot)];
}

}  // namespace lynxpp::preload

// Targets of the exported driver functions in entry_points.S, in the order of driver_api.def.
extern "C" [[gnu::visibility("hidden")]] void* const lynxpp_linked_wrappers[] = {
#define LYNXPP_DRIVER_HOOK(exported, asked, per_thread_stream, since, wrapper) \
  reinterpret_cast<void*>(                                                     \
      &lynxpp::preload::wrapper<lynxpp::preload::Slot::exported, lynxpp::preload::Binding::linked>),
#include "interposer/driver_api.def"
#undef LYNXPP_DRIVER_HOOK
};
