// The number of cpu devices (LYNXPP_CPU_DEVICES), and each thread's current device. They share the host's
// processors and threads; each has its own memory, streams, events, variables and errors.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "device/cpu/simt/execute/memory/global_memory.h"

namespace lynxpp::device::cpu {

/// Returns LYNXPP_CPU_DEVICES, which is read once; 1 if it is unset or not a number from 1 to 16, which is
/// logged.
int device_count();
inline bool is_device(int device) { return device >= 0 && device < device_count(); }

/// Returns the calling thread's device: its choice, or the device of its current context; initially 0. Work
/// in a stream runs with the stream's device.
int current_device();
/// Records the program's choice for the calling thread (cudaSetDevice).
void choose_device(int device);
/// Returns how often the calling thread has chosen a device, so that owners of its context detect a new
/// choice.
std::uint64_t device_choices();
/// Follows the thread's context.
void follow_device(int device);

/// Replaces the calling thread's current device while it lives.
class DeviceScope {
 public:
  explicit DeviceScope(int device);
  ~DeviceScope();
  DeviceScope(const DeviceScope&) = delete;
  DeviceScope& operator=(const DeviceScope&) = delete;

 private:
  int before_;
};

/// Records which peers' memory kernels of a device may access (cudaDeviceEnablePeerAccess).
class PeerAccess {
 public:
  bool enabled(int device, int peer) const {
    return (peers_[static_cast<std::size_t>(device)].load() >> peer & 1) != 0;
  }
  /// Returns false if access is already in that state.
  bool enable(int device, int peer);
  bool disable(int device, int peer);
  void disable_all(int device) { peers_[static_cast<std::size_t>(device)] = 0; }

 private:
  std::array<std::atomic<std::uint32_t>, most_devices> peers_{};  ///< bit mask of peers, per device
};

PeerAccess& peer_access();

}  // namespace lynxpp::device::cpu
