// API for nvcc's generated host code: registration, and the two halves of `kernel<<<…>>>(…)`.
#include "device/cpu/runtime/api.h"
#include "device/cpu/runtime/error.h"
#include "device/cpu/runtime/launch.h"
#include "device/cpu/runtime/modules/registry.h"
#include "device/cpu/runtime/process_use.h"
#include "device/cpu/simt/execute/occupancy.h"
#include "support/log.h"
#include "support/text.h"

namespace lynxpp::device::cpu::api {
namespace {

Binary* binary_of(void** handle) {
  auto* binary = reinterpret_cast<Binary*>(handle);
  return registry().is_binary(binary) ? binary : nullptr;
}

struct CallConfiguration {
  dim3 grid;
  dim3 block;
  size_t shared_bytes = 0;
  cudaStream_t stream = nullptr;
};

// Trivially destructible, so that static destructors can launch kernels. Configurations nest if a launch's
// arguments launch kernels themselves.
constexpr unsigned max_nested_configurations = 32;
thread_local CallConfiguration configurations[max_nested_configurations];
thread_local unsigned configuration_count = 0;

cudaError_t launch(const void* function, dim3 grid, dim3 block, void** arguments, size_t shared_bytes,
                   cudaStream_t stream, Launch launch) {
  Kernel* kernel = registry().find_kernel(function);
  if (kernel == nullptr) return cudaErrorInvalidDeviceFunction;
  if (shared_bytes > size_t{optin_shared_limit}) return cudaErrorInvalidValue;
  launch.grid[0] = grid.x;
  launch.grid[1] = grid.y;
  launch.grid[2] = grid.z;
  launch.block[0] = block.x;
  launch.block[1] = block.y;
  launch.block[2] = block.z;
  launch.shared_bytes = static_cast<std::uint32_t>(shared_bytes);
  launch.stream = stream;
  launch.parameters = arguments;
  return launch_kernel(*kernel, launch);
}

void refuse(const char* what, const char* name) {
  log().error("the program declares the {} reference {}, which the cpu device does not have", what,
              name != nullptr ? demangle(name) : "?");
}

}  // namespace

void** __cudaRegisterFatBinary(void* wrapper) {
  return reinterpret_cast<void**>(registry().add_binary(wrapper));
}

void __cudaRegisterFatBinaryEnd(void**) {}  // decoding is deferred to the first use

void __cudaUnregisterFatBinary(void** handle) {
  // Removal would wait for the parent's launches.
  if (!is_stranded()) registry().remove_binary(reinterpret_cast<Binary*>(handle));
}

void __cudaRegisterFunction(void** handle, const char* host_function, char*, const char* device_name, int,
                            uint3*, uint3*, dim3*, dim3*, int*) {
  Binary* binary = binary_of(handle);
  if (binary != nullptr && device_name != nullptr) registry().add_kernel(binary, host_function, device_name);
}

void __cudaRegisterVar(void** handle, char* host_variable, char*, const char* device_name, int, size_t bytes,
                       int, int) {
  Binary* binary = binary_of(handle);
  if (binary == nullptr || device_name == nullptr) return;
  auto variable = std::make_unique<Variable>();
  variable->host_address = host_variable;
  variable->name = device_name;
  variable->bytes = bytes;
  registry().add_variable(binary, std::move(variable));
}

void __cudaRegisterManagedVar(void** handle, void** host_pointer, char*, const char* device_name, int,
                              size_t bytes, int, int) {
  Binary* binary = binary_of(handle);
  if (binary == nullptr || device_name == nullptr) return;
  auto variable = std::make_unique<Variable>();
  variable->host_address = host_pointer;
  variable->name = device_name;
  variable->bytes = bytes;
  variable->managed_pointer = host_pointer;
  registry().add_variable(binary, std::move(variable));
}

void __cudaRegisterTexture(void**, const struct textureReference*, const void**, const char* device_name, int,
                           int, int) {
  refuse("texture", device_name);
}

void __cudaRegisterSurface(void**, const struct surfaceReference*, const void**, const char* device_name, int,
                           int) {
  refuse("surface", device_name);
}

char __cudaInitModule(void** handle) {
  Binary* binary = binary_of(handle);
  const cudaError_t error = binary != nullptr ? binary->load_managed() : cudaErrorInvalidResourceHandle;
  return record_error(error) == cudaSuccess ? 1 : 0;
}

unsigned __cudaPushCallConfiguration(dim3 grid, dim3 block, size_t shared_bytes, struct CUstream_st* stream) {
  if (configuration_count == max_nested_configurations) return record_error(cudaErrorInvalidConfiguration);
  configurations[configuration_count++] = {grid, block, shared_bytes, stream};
  return cudaSuccess;
}

cudaError_t __cudaPopCallConfiguration(dim3* grid, dim3* block, size_t* shared_bytes, void* stream) {
  if (configuration_count == 0) return record_error(cudaErrorMissingConfiguration);
  const CallConfiguration& configuration = configurations[--configuration_count];
  *grid = configuration.grid;
  *block = configuration.block;
  *shared_bytes = configuration.shared_bytes;
  *static_cast<cudaStream_t*>(stream) = configuration.stream;
  return cudaSuccess;
}

cudaError_t __cudaGetKernel(cudaKernel_t* handle, const void* host_function) {
  Kernel* kernel = registry().find_kernel(host_function);
  *handle = reinterpret_cast<cudaKernel_t>(kernel);
  return kernel != nullptr ? cudaSuccess : cudaErrorInvalidDeviceFunction;
}

cudaError_t __cudaLaunchKernel(cudaKernel_t kernel, dim3 grid, dim3 block, void** arguments,
                               size_t shared_bytes, cudaStream_t stream) {
  return launch(kernel, grid, block, arguments, shared_bytes, stream, {});
}

cudaError_t cudaLaunchKernel(const void* function, dim3 grid, dim3 block, void** arguments,
                             size_t shared_bytes, cudaStream_t stream) {
  return launch(function, grid, block, arguments, shared_bytes, stream, {});
}

cudaError_t cudaLaunchCooperativeKernel(const void* function, dim3 grid, dim3 block, void** arguments,
                                        size_t shared_bytes, cudaStream_t stream) {
  Launch cooperative;
  cooperative.cooperative = true;
  return launch(function, grid, block, arguments, shared_bytes, stream, cooperative);
}

cudaError_t cudaLaunchKernelExC(const cudaLaunchConfig_t* configuration, const void* function,
                                void** arguments) {
  if (configuration == nullptr || (configuration->numAttrs != 0 && configuration->attrs == nullptr)) {
    return cudaErrorInvalidValue;
  }
  Launch extended;
  extended.attributes = configuration->attrs;
  extended.attribute_count = configuration->numAttrs;
  for (unsigned i = 0; i < configuration->numAttrs; ++i) {
    const cudaLaunchAttribute& attribute = configuration->attrs[i];
    if (attribute.id == cudaLaunchAttributeCooperative) extended.cooperative = attribute.val.cooperative != 0;
  }
  return launch(function, configuration->gridDim, configuration->blockDim, arguments,
                configuration->dynamicSmemBytes, configuration->stream, extended);
}

}  // namespace lynxpp::device::cpu::api
