// How many devices the cpu device shows (LYNXPP_CPU_DEVICES), and which of them is a thread's current one.
// They share the host's processors and threads; each has memory, streams, events, variables and errors of its
// own.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "device/cpu/simt/execute/global_memory.h"

namespace lynxpp::device::cpu {

/// LYNXPP_CPU_DEVICES when it was first asked for; 1 without it, and for what is no number from 1 to 16,
/// which is logged.
int device_count();
inline bool is_device(int device) { return device >= 0 && device < device_count(); }

/// Of the calling thread: what it has chosen, or the device of its current context; 0 at first. Work in a
/// stream runs with the stream's.
int current_device();
/// The program chooses for the calling thread (cudaSetDevice).
void choose_device(int device);
/// How often it has, on the calling thread: whoever keeps the thread's context looks for what is new.
std::uint64_t device_choices();
/// The thread's context says which.
void follow_device(int device);

/// While it lives, the calling thread's current device is another one.
class DeviceScope {
 public:
  explicit DeviceScope(int device);
  ~DeviceScope();
  DeviceScope(const DeviceScope&) = delete;
  DeviceScope& operator=(const DeviceScope&) = delete;

 private:
  int before_;
};

/// Whether kernels of `device` may access memory of `peer` that is not its own (cudaDeviceEnablePeerAccess).
class PeerAccess {
 public:
  bool enabled(int device, int peer) const {
    return (peers_[static_cast<std::size_t>(device)].load() >> peer & 1) != 0;
  }
  /// False when it is so already.
  bool enable(int device, int peer);
  bool disable(int device, int peer);
  void disable_all(int device) { peers_[static_cast<std::size_t>(device)] = 0; }

 private:
  std::array<std::atomic<std::uint32_t>, most_devices> peers_{};  ///< a bit for each peer
};

PeerAccess& peer_access();

}  // namespace lynxpp::device::cpu
