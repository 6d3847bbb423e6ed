// Contexts of the stand-in for the driver, and each thread's current one.
#pragma once

#include <cuda_runtime_api.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <set>

#include "device/cpu/driver/api.h"
#include "device/cpu/runtime/devices.h"

namespace lynxpp::device::cpu {

class LoadedImage;  // device/cpu/runtime/modules/loaded_images.h

/// Converts an error of the runtime to the driver's.
CUresult result_of(cudaError_t error);

/// A device's state for one part of the program. All contexts of a device share its memory and default
/// stream; resources created in a context are freed with it.
struct Context {
  int device = 0;
  bool is_primary = false;
  unsigned flags = 0;
  std::uint64_t id = 0;

  // Guarded by Contexts.
  std::set<void*> memory;        ///< allocated and not freed
  std::set<CUstream> streams;    ///< created and not destroyed
  std::set<const void*> arrays;  ///< created and not destroyed, including mipmapped arrays
  std::set<LoadedImage*> modules;
  std::set<int> peers;  ///< devices to whose memory it has access
};

/// Thread safe.
class Contexts {
 public:
  CUcontext create(int device, unsigned flags);
  /// Waits for the device and frees what the context owns. Returns false if the handle is invalid or a
  /// primary context.
  bool destroy(CUcontext handle);
  /// Returns the context of a handle; null if the handle is invalid.
  std::shared_ptr<Context> find(CUcontext handle);

  /// Returns the number of contexts that have ended. While it is unchanged, a context that was found still
  /// exists.
  std::uint64_t ended() const { return ended_.load(std::memory_order_acquire); }

  CUcontext retain_primary(int device);
  bool release_primary(int device);  ///< false if it is not retained
  void reset_primary(int device);
  bool primary_active(int device);
  unsigned primary_flags(int device);
  void set_primary_flags(int device, unsigned flags);
  /// Returns the context of a thread that has called the runtime: the device's primary context.
  CUcontext primary_of_runtime(int device);

  template <typename Change>
  void with(CUcontext handle, Change change) {
    const std::lock_guard lock(mutex_);
    const auto found = contexts_.find(handle);
    if (found != contexts_.end()) change(*found->second);
  }
  /// Calls `change` for every context, to find the one that holds an object.
  template <typename Change>
  void with_all(Change change) {
    const std::lock_guard lock(mutex_);
    for (auto& [handle, context] : contexts_) change(*context);
  }

 private:
  struct Primary {
    CUcontext handle = nullptr;
    unsigned flags = 0;
    unsigned holders = 0;
  };
  Primary& primary_of(int device) { return primaries_[static_cast<std::size_t>(device)]; }
  CUcontext add(int device, unsigned flags, bool is_primary);
  void end(CUcontext handle);

  std::atomic<std::uint64_t> ended_ = 0;
  std::mutex mutex_;
  std::uint64_t next_id_ = 1;
  std::map<CUcontext, std::shared_ptr<Context>> contexts_;
  std::array<Primary, most_devices> primaries_;
};

/// Returns the process's contexts. Never destroyed.
Contexts& contexts();

/// The calling thread's stack of contexts, whose top determines the thread's current device.
/// current_context() is null if the stack is empty or its top has been destroyed. When the thread chooses
/// another device (cudaSetDevice), that device's primary context becomes the top.
CUcontext current_context();
void push_context(CUcontext handle);
CUcontext pop_context();  ///< null if the stack is empty
/// Replaces the top.
void set_current_context(CUcontext handle);

/// True if cuInit has been called.
std::atomic<bool>& driver_initialized();

}  // namespace lynxpp::device::cpu
