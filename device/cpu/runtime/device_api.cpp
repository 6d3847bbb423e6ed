// The device: count, properties, limits, synchronisation. There is one, number 0.
#include <algorithm>
#include <atomic>
#include <cstring>
#include <optional>
#include <string>
#include <type_traits>

#include "device/cpu/runtime/allocations.h"
#include "device/cpu/runtime/api.h"
#include "device/cpu/runtime/error.h"
#include "device/cpu/runtime/graphs.h"
#include "device/cpu/runtime/properties.h"
#include "device/cpu/runtime/registry.h"
#include "device/cpu/runtime/runtime.h"
#include "device/cpu/runtime/streams.h"
#include "device/cpu/runtime/textures/arrays.h"
#include "device/cpu/runtime/textures/texture_objects.h"
#include "device/cpu/simt/execute/device_heap.h"
#include "device/cpu/simt/execute/device_output.h"

namespace lynxpp::device::cpu {
namespace {
std::atomic<ProfilerObserver> profiler_observer = nullptr;
}
void set_profiler_observer(ProfilerObserver observer) { profiler_observer = observer; }
}  // namespace lynxpp::device::cpu

namespace lynxpp::device::cpu::api {
namespace {

constexpr unsigned known_device_flags =
    cudaDeviceScheduleMask | cudaDeviceMapHost | cudaDeviceLmemResizeToMax | cudaDeviceSyncMemops;

std::atomic<unsigned> device_flags{cudaDeviceScheduleAuto};
std::atomic<cudaFuncCache> cache_configuration{cudaFuncCachePreferNone};
std::atomic<cudaSharedMemConfig> bank_configuration{cudaSharedMemBankSizeFourByte};

/// Of one thread, as hardware has it.
constexpr std::size_t most_stack_bytes = 512 * 1024;
constexpr std::size_t most_fetch_bytes = 128;
constexpr std::size_t default_fetch_bytes = 64;
std::atomic<std::size_t> fetch_bytes{default_fetch_bytes};  // a hint

void reset_limits() {
  stack_limit() = default_stack_limit;
  device_heap().reset();
  device_output().set_limit(DeviceOutput::default_limit);
  fetch_bytes = default_fetch_bytes;
}

/// Stores what a getter returns.
template <typename T>
cudaError_t give(T* to, std::type_identity_t<T> value) {
  if (to == nullptr) return cudaErrorInvalidValue;
  *to = value;
  return cudaSuccess;
}

cudaError_t check_device(int device) { return device == 0 ? cudaSuccess : cudaErrorInvalidDevice; }

cudaError_t set_flags(unsigned flags) {
  if ((flags & ~known_device_flags) != 0) return cudaErrorInvalidValue;
  device_flags = flags;
  return cudaSuccess;
}

}  // namespace

cudaError_t cudaGetDeviceCount(int* count) { return give(count, 1); }

cudaError_t cudaSetDevice(int device) { return check_device(device); }

cudaError_t cudaGetDevice(int* device) { return give(device, 0); }

cudaError_t cudaInitDevice(int device, unsigned int flags_of_device, unsigned int flags) {
  if (const cudaError_t error = check_device(device); error != cudaSuccess) return error;
  if ((flags & ~unsigned{cudaInitDeviceFlagsAreValid}) != 0) return cudaErrorInvalidValue;
  return (flags & cudaInitDeviceFlagsAreValid) != 0 ? set_flags(flags_of_device) : cudaSuccess;
}

cudaError_t cudaSetValidDevices(int* devices, int count) {
  if (count < 0 || (devices == nullptr && count > 0)) return cudaErrorInvalidValue;
  const bool all_known = std::all_of(devices, devices + count, [](int device) { return device == 0; });
  return all_known ? cudaSuccess : cudaErrorInvalidDevice;
}

cudaError_t cudaChooseDevice(int* device, const struct cudaDeviceProp* wanted) {
  if (device == nullptr || wanted == nullptr) return cudaErrorInvalidValue;
  *device = 0;
  return cudaSuccess;
}

cudaError_t cudaGetDeviceProperties(struct cudaDeviceProp* properties, int device) {
  if (properties == nullptr) return cudaErrorInvalidValue;
  if (const cudaError_t error = check_device(device); error != cudaSuccess) return error;
  *properties = device_properties();
  return cudaSuccess;
}

cudaError_t cudaDeviceGetAttribute(int* value, enum cudaDeviceAttr attribute, int device) {
  if (value == nullptr) return cudaErrorInvalidValue;
  if (const cudaError_t error = check_device(device); error != cudaSuccess) return error;
  const auto found = device_attribute(attribute);
  if (!found) return cudaErrorInvalidValue;
  *value = *found;
  return cudaSuccess;
}

cudaError_t cudaDeviceGetPCIBusId(char* text, int length, int device) {
  if (const cudaError_t error = check_device(device); error != cudaSuccess) return error;
  if (text == nullptr || length <= static_cast<int>(std::strlen(device_bus_id))) return cudaErrorInvalidValue;
  std::strcpy(text, device_bus_id);
  return cudaSuccess;
}

cudaError_t cudaDeviceGetByPCIBusId(int* device, const char* text) {
  if (device == nullptr || text == nullptr) return cudaErrorInvalidValue;
  if (std::string(text) != device_bus_id) return cudaErrorInvalidDevice;
  *device = 0;
  return cudaSuccess;
}

// ---------------------------------------------------------------- peers: a single device has none

cudaError_t cudaDeviceGetP2PAttribute(int* value, enum cudaDeviceP2PAttr, int, int) {
  return value == nullptr ? cudaErrorInvalidValue : cudaErrorInvalidDevice;
}

cudaError_t cudaDeviceCanAccessPeer(int* can, int device, int peer) {
  if (can == nullptr) return cudaErrorInvalidValue;
  if (device != 0 || peer != 0) return cudaErrorInvalidDevice;
  *can = 0;
  return cudaSuccess;
}

cudaError_t cudaDeviceEnablePeerAccess(int, unsigned int) { return cudaErrorInvalidDevice; }
cudaError_t cudaDeviceDisablePeerAccess(int peer) {
  return peer == 0 ? cudaErrorPeerAccessNotEnabled : cudaErrorInvalidDevice;
}

// ---------------------------------------------------------------- state

cudaError_t cudaSetDeviceFlags(unsigned int flags) { return set_flags(flags); }

cudaError_t cudaGetDeviceFlags(unsigned int* flags) { return give(flags, device_flags | cudaDeviceMapHost); }

cudaError_t cudaDeviceSynchronize() {
  if (CallbackScope::active()) return cudaErrorNotPermitted;
  streams().wait_for_all();
  program_has_waited();
  return sticky_error();
}

cudaError_t cudaDeviceReset() {
  if (CallbackScope::active()) return cudaErrorNotPermitted;
  streams().wait_for_all();
  streams().destroy_all();
  graphs().destroy_all();
  texture_objects().destroy_all();
  arrays().forget_all();
  allocations().release_all();
  registry().restore_variables();
  reset_limits();
  cache_configuration = cudaFuncCachePreferNone;
  device_flags = cudaDeviceScheduleAuto;
  clear_sticky_error();
  return cudaSuccess;
}

cudaError_t cudaDeviceSetLimit(enum cudaLimit limit, size_t value) {
  switch (limit) {
    case cudaLimitStackSize:
      if (value > most_stack_bytes) return cudaErrorInvalidValue;
      stack_limit() = value;
      return cudaSuccess;
    case cudaLimitMallocHeapSize: return device_heap().set_limit(value) ? cudaSuccess : cudaErrorInvalidValue;
    case cudaLimitPrintfFifoSize: device_output().set_limit(value); return cudaSuccess;
    case cudaLimitMaxL2FetchGranularity:
      if (value > most_fetch_bytes) return cudaErrorInvalidValue;
      fetch_bytes = value;
      return cudaSuccess;
    default: return cudaErrorUnsupportedLimit;  // kernels launch no kernels, and no cache persists
  }
}

cudaError_t cudaDeviceGetLimit(size_t* value, enum cudaLimit limit) {
  switch (limit) {
    case cudaLimitStackSize: return give(value, stack_limit());
    case cudaLimitMallocHeapSize: return give(value, device_heap().limit());
    case cudaLimitPrintfFifoSize: return give(value, device_output().limit());
    case cudaLimitMaxL2FetchGranularity: return give(value, fetch_bytes);
    default: return value == nullptr ? cudaErrorInvalidValue : cudaErrorUnsupportedLimit;
  }
}

cudaError_t cudaDeviceSetCacheConfig(enum cudaFuncCache configuration) {
  cache_configuration = configuration;
  return cudaSuccess;
}

cudaError_t cudaDeviceGetCacheConfig(enum cudaFuncCache* configuration) {
  return give(configuration, cache_configuration);
}

cudaError_t cudaDeviceSetSharedMemConfig(enum cudaSharedMemConfig configuration) {
  bank_configuration = configuration;
  return cudaSuccess;
}

cudaError_t cudaDeviceGetSharedMemConfig(enum cudaSharedMemConfig* configuration) {
  return give(configuration, bank_configuration);
}

cudaError_t cudaDeviceGetStreamPriorityRange(int* least, int* greatest) {
  if (least != nullptr) *least = least_stream_priority;
  if (greatest != nullptr) *greatest = greatest_stream_priority;
  return cudaSuccess;
}

cudaError_t cudaCtxResetPersistingL2Cache() { return cudaSuccess; }

struct cudaChannelFormatDesc cudaCreateChannelDesc(int x, int y, int z, int w,
                                                   enum cudaChannelFormatKind kind) {
  return {x, y, z, w, kind};
}

// ---------------------------------------------------------------- versions, profiler

cudaError_t cudaDriverGetVersion(int* version) { return give(version, CUDART_VERSION); }

cudaError_t cudaRuntimeGetVersion(int* version) { return give(version, CUDART_VERSION); }

cudaError_t cudaProfilerStart() {
  if (const ProfilerObserver observer = profiler_observer.load()) observer(true);
  return cudaSuccess;
}
cudaError_t cudaProfilerStop() {
  if (const ProfilerObserver observer = profiler_observer.load()) observer(false);
  return cudaSuccess;
}

}  // namespace lynxpp::device::cpu::api
