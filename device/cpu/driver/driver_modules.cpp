// Modules, libraries, the linker.
#include <algorithm>
#include <cstring>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "device/cpu/driver/api.h"
#include "device/cpu/driver/contexts.h"
#include "device/cpu/runtime/compiler_log.h"
#include "device/cpu/runtime/error.h"
#include "device/cpu/runtime/modules/loaded_images.h"
#include "image/fatbinary.h"
#include "ptx/parser/linking.h"
#include "support/log.h"

namespace lynxpp::device::cpu::driver_api {
namespace {

CUresult load_image(CUmodule* module, const void* image) {
  if (module == nullptr) return CUDA_ERROR_INVALID_VALUE;
  LoadedImage* loaded = nullptr;
  if (const cudaError_t error = loaded_images().load(image, current_device(), loaded); error != cudaSuccess)
    return result_of(error);
  contexts().with(current_context(), [&](Context& context) { context.modules.insert(loaded); });
  *module = reinterpret_cast<CUmodule>(loaded);
  return CUDA_SUCCESS;
}

using JitOptions = CompilerOptions<CUjit_option>;

/// Returns the log text for an image.
std::string_view problem_of(CUresult result) { return result == CUDA_SUCCESS ? "" : image_problem; }

CUresult read_file(const char* path, std::vector<char>& bytes) { return result_of(read_image(path, bytes)); }

CUresult unload_module(LoadedImage* module) {
  if (loaded_images().find(module) == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  contexts().with_all([&](Context& context) { context.modules.erase(module); });
  loaded_images().remove(module);
  return CUDA_SUCCESS;
}

/// Returns a kernel by its name, as any type of handle.
template <typename Handle>
CUresult store_kernel(Handle* handle, const void* module, const char* name) {
  if (handle == nullptr || name == nullptr) return CUDA_ERROR_INVALID_VALUE;
  LoadedImage* const found = loaded_images().find(module);
  if (found == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  Kernel* const kernel = found->kernel(name);
  if (kernel == nullptr) return CUDA_ERROR_NOT_FOUND;
  *handle = reinterpret_cast<Handle>(kernel);
  return CUDA_SUCCESS;
}

CUresult count_kernels(unsigned* count, const void* module) {
  if (count == nullptr) return CUDA_ERROR_INVALID_VALUE;
  LoadedImage* const found = loaded_images().find(module);
  if (found == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  *count = static_cast<unsigned>(found->kernel_names().size());
  return CUDA_SUCCESS;
}

template <typename Handle>
CUresult list_kernels(Handle* handles, unsigned count, const void* module) {
  if (handles == nullptr || count == 0) return CUDA_ERROR_INVALID_VALUE;
  LoadedImage* const found = loaded_images().find(module);
  if (found == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  for (const std::string& name : found->kernel_names()) {
    if (count-- == 0) break;
    *handles++ = reinterpret_cast<Handle>(found->kernel(name));
  }
  return CUDA_SUCCESS;
}

CUresult store_variable(CUdeviceptr* address, size_t* bytes, const void* module, const char* name) {
  if (name == nullptr || (address == nullptr && bytes == nullptr)) return CUDA_ERROR_INVALID_VALUE;
  LoadedImage* const found = loaded_images().find(module);
  if (found == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  const auto storage = found->variable(name);
  if (!storage) return CUDA_ERROR_NOT_FOUND;
  if (address != nullptr) *address = reinterpret_cast<CUdeviceptr>(storage->address);
  if (bytes != nullptr) *bytes = storage->bytes;
  return CUDA_SUCCESS;
}

CUresult load_library(CUlibrary* library, const void* image, const JitOptions& options) {
  if (library == nullptr || options.are_missing()) return CUDA_ERROR_INVALID_VALUE;
  LoadedImage* loaded = nullptr;
  const CUresult result = result_of(loaded_images().load(image, std::nullopt, loaded));
  options.write_log(problem_of(result));
  if (result != CUDA_SUCCESS) return result;
  *library = reinterpret_cast<CUlibrary>(loaded);
  return CUDA_SUCCESS;
}

/// A linker invocation. Its output is PTX, which the device loads as an image: a single input unchanged, or
/// several inputs linked into one text.
struct Link {
  std::vector<CUjit_option> options;
  void** values = nullptr;                ///< owned by the caller for the lifetime of the link
  std::vector<std::vector<char>> inputs;  ///< each null-terminated
  std::vector<char> image;                ///< set when linking completes
};
std::mutex links_mutex;
std::map<CUlinkState, std::unique_ptr<Link>> links;

Link* find_link(CUlinkState state) {
  const std::lock_guard lock(links_mutex);
  const auto found = links.find(state);
  return found != links.end() ? found->second.get() : nullptr;
}

CUresult create_link(const JitOptions& options, CUlinkState* state) {
  if (state == nullptr || options.are_missing()) return CUDA_ERROR_INVALID_VALUE;
  auto link = std::make_unique<Link>();
  link->options.assign(options.options, options.options + options.count);
  link->values = options.values;
  *state = reinterpret_cast<CUlinkState>(link.get());
  const std::lock_guard lock(links_mutex);
  links[*state] = std::move(link);
  return CUDA_SUCCESS;
}

CUresult add_to_link(CUlinkState state, CUjitInputType type, const void* data, size_t bytes) {
  Link* const link = find_link(state);
  if (link == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  if (data == nullptr || bytes == 0) return CUDA_ERROR_INVALID_VALUE;
  if (type != CU_JIT_INPUT_PTX && type != CU_JIT_INPUT_FATBINARY) {
    log().error("the cpu device can only link PTX");
    return CUDA_ERROR_NOT_SUPPORTED;
  }
  const auto* const first = static_cast<const char*>(data);
  link->inputs.emplace_back(first, first + bytes).push_back('\0');
  return CUDA_SUCCESS;
}

/// Returns the PTX of the inputs; from fatbinaries, the PTX for this device.
CUresult texts_of(const Link& link, std::vector<std::string>& texts) {
  for (const std::vector<char>& input : link.inputs) {
    const auto found = image::ptx_modules(std::as_bytes(std::span(input)), compute_capability());
    if (!found || found->empty()) return found ? CUDA_ERROR_NO_BINARY_FOR_GPU : CUDA_ERROR_INVALID_IMAGE;
    texts.insert(texts.end(), found->begin(), found->end());
  }
  return CUDA_SUCCESS;
}

CUresult complete(Link& link, std::string& problem) {
  if (link.inputs.size() == 1) {
    link.image = link.inputs.front();
    return CUDA_SUCCESS;
  }
  std::vector<std::string> texts;
  if (const CUresult error = texts_of(link, texts); error != CUDA_SUCCESS) return error;
  const Result<std::string> linked = ptx::link_modules(texts);
  if (!linked) {
    problem = "cannot link the modules: " + one_line(linked.error());
    log().error("{}", problem);
    return CUDA_ERROR_INVALID_PTX;
  }
  link.image.assign(linked->begin(), linked->end());
  link.image.push_back('\0');
  return CUDA_SUCCESS;
}

CUresult add_file_to_link(CUlinkState state, CUjitInputType type, const char* path) {
  std::vector<char> bytes;
  if (const CUresult error = read_file(path, bytes); error != CUDA_SUCCESS) return error;
  return add_to_link(state, type, bytes.data(), bytes.size());
}

}  // namespace

// ---------------------------------------------------------------- modules

CUresult cuModuleLoadData(CUmodule* module, const void* image) { return load_image(module, image); }

// Options are ignored: none affects the program's results.
CUresult cuModuleLoadDataEx(CUmodule* module, const void* image, unsigned int count, CUjit_option* options,
                            void** values) {
  const JitOptions given{options, values, count};
  if (given.are_missing()) return CUDA_ERROR_INVALID_VALUE;
  const CUresult result = load_image(module, image);
  given.write_log(problem_of(result));
  return result;
}

CUresult cuModuleLoadFatBinary(CUmodule* module, const void* image) { return load_image(module, image); }

CUresult cuModuleLoad(CUmodule* module, const char* path) {
  std::vector<char> bytes;
  if (const CUresult error = read_file(path, bytes); error != CUDA_SUCCESS) return error;
  return load_image(module, bytes.data());
}

CUresult cuModuleUnload(CUmodule module) { return unload_module(reinterpret_cast<LoadedImage*>(module)); }

CUresult cuModuleGetFunction(CUfunction* function, CUmodule module, const char* name) {
  return store_kernel(function, module, name);
}
CUresult cuModuleGetFunctionCount(unsigned int* count, CUmodule module) {
  return count_kernels(count, module);
}
CUresult cuModuleEnumerateFunctions(CUfunction* functions, unsigned int count, CUmodule module) {
  return list_kernels(functions, count, module);
}
CUresult cuModuleGetGlobal_v2(CUdeviceptr* address, size_t* bytes, CUmodule module, const char* name) {
  return store_variable(address, bytes, module, name);
}

CUresult cuModuleGetLoadingMode(CUmoduleLoadingMode* mode) {
  if (mode == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *mode = CU_MODULE_LAZY_LOADING;  // kernels are compiled at their first launch
  return CUDA_SUCCESS;
}

// ---------------------------------------------------------------- libraries

CUresult cuLibraryLoadData(CUlibrary* library, const void* image, CUjit_option* options, void** values,
                           unsigned int count, CUlibraryOption*, void**, unsigned int) {
  return load_library(library, image, {options, values, count});
}

CUresult cuLibraryLoadFromFile(CUlibrary* library, const char* path, CUjit_option* options, void** values,
                               unsigned int count, CUlibraryOption*, void**, unsigned int) {
  std::vector<char> bytes;
  if (const CUresult error = read_file(path, bytes); error != CUDA_SUCCESS) return error;
  return load_library(library, bytes.data(), {options, values, count});
}

CUresult cuLibraryUnload(CUlibrary library) { return unload_module(reinterpret_cast<LoadedImage*>(library)); }

CUresult cuLibraryGetKernel(CUkernel* kernel, CUlibrary library, const char* name) {
  return store_kernel(kernel, library, name);
}
CUresult cuLibraryGetKernelCount(unsigned int* count, CUlibrary library) {
  return count_kernels(count, library);
}
CUresult cuLibraryEnumerateKernels(CUkernel* kernels, unsigned int count, CUlibrary library) {
  return list_kernels(kernels, count, library);
}

CUresult cuLibraryGetModule(CUmodule* module, CUlibrary library) {
  if (module == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (loaded_images().find(library) == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  if (current_context() == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
  *module = reinterpret_cast<CUmodule>(library);
  return CUDA_SUCCESS;
}

CUresult cuLibraryGetGlobal(CUdeviceptr* address, size_t* bytes, CUlibrary library, const char* name) {
  return store_variable(address, bytes, library, name);
}
CUresult cuLibraryGetManaged(CUdeviceptr* address, size_t* bytes, CUlibrary library, const char* name) {
  LoadedImage* const found = loaded_images().find(library);
  if (found != nullptr && name != nullptr && !found->managed_variable(name)) return CUDA_ERROR_NOT_FOUND;
  return store_variable(address, bytes, library, name);
}
// Images contain only device code, so the host cannot call their functions.
CUresult cuLibraryGetUnifiedFunction(void** function, CUlibrary library, const char* name) {
  if (function == nullptr || name == nullptr) return CUDA_ERROR_INVALID_VALUE;
  return loaded_images().find(library) != nullptr ? CUDA_ERROR_NOT_FOUND : CUDA_ERROR_INVALID_HANDLE;
}

// ---------------------------------------------------------------- the linker

CUresult cuLinkCreate(unsigned int count, CUjit_option* options, void** values, CUlinkState* state) {
  return create_link({options, values, count}, state);
}
CUresult cuLinkCreate_v2(unsigned int count, CUjit_option* options, void** values, CUlinkState* state) {
  return create_link({options, values, count}, state);
}
CUresult cuLinkAddData(CUlinkState state, CUjitInputType type, void* data, size_t bytes, const char*,
                       unsigned int, CUjit_option*, void**) {
  return add_to_link(state, type, data, bytes);
}
CUresult cuLinkAddData_v2(CUlinkState state, CUjitInputType type, void* data, size_t bytes, const char*,
                          unsigned int, CUjit_option*, void**) {
  return add_to_link(state, type, data, bytes);
}
CUresult cuLinkAddFile(CUlinkState state, CUjitInputType type, const char* path, unsigned int, CUjit_option*,
                       void**) {
  return add_file_to_link(state, type, path);
}
CUresult cuLinkAddFile_v2(CUlinkState state, CUjitInputType type, const char* path, unsigned int,
                          CUjit_option*, void**) {
  return add_file_to_link(state, type, path);
}

CUresult cuLinkComplete(CUlinkState state, void** image, size_t* bytes) {
  Link* const link = find_link(state);
  if (link == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  if (image == nullptr || link->inputs.empty()) return CUDA_ERROR_INVALID_VALUE;
  std::string problem;
  const CUresult result = complete(*link, problem);
  if (problem.empty()) problem = problem_of(result);
  const JitOptions options{link->options.data(), link->values, static_cast<unsigned>(link->options.size())};
  options.write_log(problem);
  if (result != CUDA_SUCCESS) return result;
  *image = link->image.data();
  if (bytes != nullptr) *bytes = link->image.size();
  return CUDA_SUCCESS;
}

CUresult cuLinkDestroy(CUlinkState state) {
  const std::lock_guard lock(links_mutex);
  return links.erase(state) != 0 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

}  // namespace lynxpp::device::cpu::driver_api
