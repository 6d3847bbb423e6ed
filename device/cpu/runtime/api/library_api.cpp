// Libraries: images that the program loads at run time, with their kernels and variables.
#include <optional>
#include <string>

#include "device/cpu/runtime/api.h"
#include "device/cpu/runtime/compiler_log.h"
#include "device/cpu/runtime/modules/loaded_images.h"

namespace lynxpp::device::cpu::api {
namespace {

using JitOptions = CompilerOptions<cudaJitOption>;

template <typename Load>
cudaError_t load_library(cudaLibrary_t* library, const JitOptions& options, Load load) {
  if (library == nullptr || options.are_missing()) return cudaErrorInvalidValue;
  LoadedImage* loaded = nullptr;
  const cudaError_t error = load(loaded);
  options.write_log(error == cudaSuccess ? "" : image_problem);
  if (error == cudaSuccess) *library = reinterpret_cast<cudaLibrary_t>(loaded);
  return error;
}

cudaError_t give(const std::optional<VariableStorage>& storage, void** address, size_t* bytes) {
  if (!storage) return cudaErrorSymbolNotFound;
  if (address != nullptr) *address = storage->address;
  if (bytes != nullptr) *bytes = storage->bytes;
  return cudaSuccess;
}

}  // namespace

// Options are ignored: none affects the program's results.
cudaError_t cudaLibraryLoadData(cudaLibrary_t* library, const void* code, enum cudaJitOption* options,
                                void** values, unsigned int count, enum cudaLibraryOption*, void**,
                                unsigned int) {
  return load_library(library, {options, values, count},
                      [&](LoadedImage*& loaded) { return loaded_images().load(code, std::nullopt, loaded); });
}

cudaError_t cudaLibraryLoadFromFile(cudaLibrary_t* library, const char* path, enum cudaJitOption* options,
                                    void** values, unsigned int count, enum cudaLibraryOption*, void**,
                                    unsigned int) {
  return load_library(library, {options, values, count}, [&](LoadedImage*& loaded) {
    return loaded_images().load_file(path, std::nullopt, loaded);
  });
}

cudaError_t cudaLibraryUnload(cudaLibrary_t library) {
  return loaded_images().remove(reinterpret_cast<LoadedImage*>(library)) ? cudaSuccess
                                                                         : cudaErrorInvalidResourceHandle;
}

cudaError_t cudaLibraryGetKernel(cudaKernel_t* kernel, cudaLibrary_t library, const char* name) {
  if (kernel == nullptr || name == nullptr) return cudaErrorInvalidValue;
  LoadedImage* const found = loaded_images().find(library);
  if (found == nullptr) return cudaErrorInvalidResourceHandle;
  Kernel* const known = found->kernel(name);
  if (known == nullptr) return cudaErrorSymbolNotFound;
  *kernel = reinterpret_cast<cudaKernel_t>(known);
  return cudaSuccess;
}

cudaError_t cudaLibraryGetKernelCount(unsigned int* count, cudaLibrary_t library) {
  if (count == nullptr) return cudaErrorInvalidValue;
  LoadedImage* const found = loaded_images().find(library);
  if (found == nullptr) return cudaErrorInvalidResourceHandle;
  *count = static_cast<unsigned>(found->kernel_names().size());
  return cudaSuccess;
}

cudaError_t cudaLibraryEnumerateKernels(cudaKernel_t* kernels, unsigned int count, cudaLibrary_t library) {
  if (kernels == nullptr || count == 0) return cudaErrorInvalidValue;
  LoadedImage* const found = loaded_images().find(library);
  if (found == nullptr) return cudaErrorInvalidResourceHandle;
  for (const std::string& name : found->kernel_names()) {
    if (count-- == 0) break;
    *kernels++ = reinterpret_cast<cudaKernel_t>(found->kernel(name));
  }
  return cudaSuccess;
}

cudaError_t cudaLibraryGetGlobal(void** address, size_t* bytes, cudaLibrary_t library, const char* name) {
  if (name == nullptr || (address == nullptr && bytes == nullptr)) return cudaErrorInvalidValue;
  LoadedImage* const found = loaded_images().find(library);
  return found != nullptr ? give(found->variable(name), address, bytes) : cudaErrorInvalidResourceHandle;
}

cudaError_t cudaLibraryGetManaged(void** address, size_t* bytes, cudaLibrary_t library, const char* name) {
  if (name == nullptr || (address == nullptr && bytes == nullptr)) return cudaErrorInvalidValue;
  LoadedImage* const found = loaded_images().find(library);
  return found != nullptr ? give(found->managed_variable(name), address, bytes)
                          : cudaErrorInvalidResourceHandle;
}

// Images contain only device code, so the host cannot call their functions.
cudaError_t cudaLibraryGetUnifiedFunction(void** function, cudaLibrary_t library, const char* name) {
  if (function == nullptr || name == nullptr) return cudaErrorInvalidValue;
  return loaded_images().find(library) != nullptr ? cudaErrorSymbolNotFound : cudaErrorInvalidResourceHandle;
}

}  // namespace lynxpp::device::cpu::api
