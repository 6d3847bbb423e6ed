// Devices: count, properties, peers, limits, synchronization.
#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <optional>
#include <string>
#include <type_traits>

#include "device/cpu/runtime/api.h"
#include "device/cpu/runtime/call_scopes.h"
#include "device/cpu/runtime/devices.h"
#include "device/cpu/runtime/error.h"
#include "device/cpu/runtime/graphs/executable_graphs.h"
#include "device/cpu/runtime/graphs/graphs.h"
#include "device/cpu/runtime/memory/allocations.h"
#include "device/cpu/runtime/modules/registry.h"
#include "device/cpu/runtime/properties.h"
#include "device/cpu/runtime/runtime.h"
#include "device/cpu/runtime/streams.h"
#include "device/cpu/runtime/textures/arrays.h"
#include "device/cpu/runtime/textures/texture_objects.h"
#include "device/cpu/simt/execute/device_output.h"
#include "device/cpu/simt/execute/memory/device_heap.h"

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

/// Hardware limits per thread.
constexpr std::size_t most_stack_bytes = 512 * 1024;
constexpr std::size_t most_fetch_bytes = 128;
constexpr std::size_t default_fetch_bytes = 64;

/// Hints that a program can set and query; they have no effect.
struct Settings {
  std::atomic<unsigned> flags{cudaDeviceScheduleAuto};
  std::atomic<cudaFuncCache> cache{cudaFuncCachePreferNone};
  std::atomic<cudaSharedMemConfig> banks{cudaSharedMemBankSizeFourByte};
  std::atomic<std::size_t> fetch_bytes{default_fetch_bytes};
};
std::array<Settings, most_devices> all_settings;

Settings& settings() { return all_settings[static_cast<std::size_t>(current_device())]; }

/// Resets the current device's limits; the print buffer's limit is shared by all devices.
void reset_limits() {
  stack_limit(current_device()) = default_stack_limit;
  device_heap(current_device()).reset();
  device_output().set_limit(DeviceOutput::default_limit);
  settings().fetch_bytes = default_fetch_bytes;
}

/// Stores a getter's result.
template <typename T>
cudaError_t give(T* to, std::type_identity_t<T> value) {
  if (to == nullptr) return cudaErrorInvalidValue;
  *to = value;
  return cudaSuccess;
}

cudaError_t check_device(int device) { return is_device(device) ? cudaSuccess : cudaErrorInvalidDevice; }

cudaError_t set_flags(unsigned flags) {
  if ((flags & ~known_device_flags) != 0) return cudaErrorInvalidValue;
  settings().flags = flags;
  return cudaSuccess;
}

/// True if `device` and `peer` are two different devices.
bool are_peers(int device, int peer) { return is_device(device) && is_device(peer) && device != peer; }

}  // namespace

cudaError_t cudaGetDeviceCount(int* count) { return give(count, device_count()); }

cudaError_t cudaSetDevice(int device) {
  if (const cudaError_t error = check_device(device); error != cudaSuccess) return error;
  choose_device(device);
  return cudaSuccess;
}

cudaError_t cudaGetDevice(int* device) { return give(device, current_device()); }

cudaError_t cudaInitDevice(int device, unsigned int flags_of_device, unsigned int flags) {
  if (const cudaError_t error = check_device(device); error != cudaSuccess) return error;
  if ((flags & ~unsigned{cudaInitDeviceFlagsAreValid}) != 0) return cudaErrorInvalidValue;
  const DeviceScope scope(device);
  return (flags & cudaInitDeviceFlagsAreValid) != 0 ? set_flags(flags_of_device) : cudaSuccess;
}

cudaError_t cudaSetValidDevices(int* devices, int count) {
  if (count < 0 || (devices == nullptr && count > 0)) return cudaErrorInvalidValue;
  const bool all_known = std::all_of(devices, devices + count, is_device);
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
  *properties = device_properties(device);
  return cudaSuccess;
}

cudaError_t cudaDeviceGetAttribute(int* value, enum cudaDeviceAttr attribute, int device) {
  if (value == nullptr) return cudaErrorInvalidValue;
  if (const cudaError_t error = check_device(device); error != cudaSuccess) return error;
  const auto found = device_attribute(attribute, device);
  if (!found) return cudaErrorInvalidValue;
  *value = *found;
  return cudaSuccess;
}

cudaError_t cudaDeviceGetPCIBusId(char* text, int length, int device) {
  if (const cudaError_t error = check_device(device); error != cudaSuccess) return error;
  const std::string id = device_bus_id(device);
  if (text == nullptr || length <= static_cast<int>(id.size())) return cudaErrorInvalidValue;
  std::strcpy(text, id.c_str());
  return cudaSuccess;
}

cudaError_t cudaDeviceGetByPCIBusId(int* device, const char* text) {
  if (device == nullptr || text == nullptr) return cudaErrorInvalidValue;
  for (int each = 0; each < device_count(); ++each) {
    if (device_bus_id(each) == text) return give(device, each);
  }
  return cudaErrorInvalidDevice;
}

// ---------------------------------------------------------------- peers: every other device

cudaError_t cudaDeviceGetP2PAttribute(int* value, enum cudaDeviceP2PAttr attribute, int device, int peer) {
  if (value == nullptr) return cudaErrorInvalidValue;
  if (!are_peers(device, peer)) return cudaErrorInvalidDevice;
  switch (attribute) {
    case cudaDevP2PAttrAccessSupported:
    case cudaDevP2PAttrNativeAtomicSupported: return give(value, 1);
    case cudaDevP2PAttrPerformanceRank:
    case cudaDevP2PAttrCudaArrayAccessSupported:
    case cudaDevP2PAttrOnlyPartialNativeAtomicSupported: return give(value, 0);
  }
  return cudaErrorInvalidValue;
}

cudaError_t cudaDeviceCanAccessPeer(int* can, int device, int peer) {
  if (can == nullptr) return cudaErrorInvalidValue;
  if (!is_device(device) || !is_device(peer)) return cudaErrorInvalidDevice;
  return give(can, are_peers(device, peer) ? 1 : 0);
}

cudaError_t cudaDeviceEnablePeerAccess(int peer, unsigned int flags) {
  if (!are_peers(current_device(), peer)) return cudaErrorInvalidDevice;
  if (flags != 0) return cudaErrorInvalidValue;
  return peer_access().enable(current_device(), peer) ? cudaSuccess : cudaErrorPeerAccessAlreadyEnabled;
}

cudaError_t cudaDeviceDisablePeerAccess(int peer) {
  if (!is_device(peer)) return cudaErrorInvalidDevice;
  if (!peer_access().enabled(current_device(), peer)) return cudaErrorPeerAccessNotEnabled;
  streams().wait_for_device(current_device());
  peer_access().disable(current_device(), peer);
  allocations().note_lost_access();
  return cudaSuccess;
}

// ---------------------------------------------------------------- state

cudaError_t cudaSetDeviceFlags(unsigned int flags) { return set_flags(flags); }

cudaError_t cudaGetDeviceFlags(unsigned int* flags) {
  return give(flags, settings().flags | cudaDeviceMapHost);
}

cudaError_t cudaDeviceSynchronize() {
  if (CallbackScope::active()) return cudaErrorNotPermitted;
  streams().wait_for_device(current_device());
  program_has_waited();
  return sticky_error();
}

cudaError_t cudaDeviceReset() {
  if (CallbackScope::active()) return cudaErrorNotPermitted;
  const int device = current_device();
  // Peers may be using its memory, too.
  streams().wait_for_all();
  streams().destroy_all(device);
  graphs().destroy_all(device);
  executable_graphs().destroy_all(device);
  texture_objects().destroy_all(device);
  for (const Allocation& array : allocations().live_arrays()) {
    if (array.device == device && !arrays().destroy(array.pointer()))
      arrays().destroy_mipmapped(array.pointer());
  }
  peer_access().disable_all(device);
  allocations().release_all(device);
  registry().restore_variables(device);
  reset_limits();
  settings().cache = cudaFuncCachePreferNone;
  settings().flags = cudaDeviceScheduleAuto;
  clear_sticky_error(device);
  return cudaSuccess;
}

cudaError_t cudaDeviceSetLimit(enum cudaLimit limit, size_t value) {
  switch (limit) {
    case cudaLimitStackSize:
      if (value > most_stack_bytes) return cudaErrorInvalidValue;
      stack_limit(current_device()) = value;
      return cudaSuccess;
    case cudaLimitMallocHeapSize:
      return device_heap(current_device()).set_limit(value) ? cudaSuccess : cudaErrorInvalidValue;
    case cudaLimitPrintfFifoSize: device_output().set_limit(value); return cudaSuccess;
    case cudaLimitMaxL2FetchGranularity:
      if (value > most_fetch_bytes) return cudaErrorInvalidValue;
      settings().fetch_bytes = value;
      return cudaSuccess;
    default: return cudaErrorUnsupportedLimit;  // no launches from kernels, no persisting cache
  }
}

cudaError_t cudaDeviceGetLimit(size_t* value, enum cudaLimit limit) {
  switch (limit) {
    case cudaLimitStackSize: return give(value, stack_limit(current_device()));
    case cudaLimitMallocHeapSize: return give(value, device_heap(current_device()).limit());
    case cudaLimitPrintfFifoSize: return give(value, device_output().limit());
    case cudaLimitMaxL2FetchGranularity: return give(value, settings().fetch_bytes);
    default: return value == nullptr ? cudaErrorInvalidValue : cudaErrorUnsupportedLimit;
  }
}

cudaError_t cudaDeviceSetCacheConfig(enum cudaFuncCache configuration) {
  settings().cache = configuration;
  return cudaSuccess;
}

cudaError_t cudaDeviceGetCacheConfig(enum cudaFuncCache* configuration) {
  return give(configuration, settings().cache);
}

cudaError_t cudaDeviceSetSharedMemConfig(enum cudaSharedMemConfig configuration) {
  settings().banks = configuration;
  return cudaSuccess;
}

cudaError_t cudaDeviceGetSharedMemConfig(enum cudaSharedMemConfig* configuration) {
  return give(configuration, settings().banks);
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
