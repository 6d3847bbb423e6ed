#include "device/cpu/driver/contexts.h"

#include <array>
#include <utility>
#include <vector>

#include "device/cpu/runtime/api.h"
#include "device/cpu/runtime/error.h"
#include "device/cpu/runtime/memory/allocations.h"
#include "device/cpu/runtime/modules/loaded_images.h"
#include "device/cpu/runtime/streams.h"
#include "device/cpu/runtime/textures/arrays.h"

namespace lynxpp::device::cpu {
namespace {

/// A thread's contexts. The first few are stored in the object: a thread_local object with a destructor would
/// make the thread wait for the dynamic linker's lock, which another thread in a library's constructor may
/// hold for a long time.
class ContextStack {
 public:
  bool empty() const { return depth_ == 0; }
  CUcontext& back() { return at(depth_ - 1); }
  void push_back(CUcontext context) {
    if (depth_ >= few) more().push_back(nullptr);
    at(depth_++) = context;
  }
  void pop_back() {
    if (depth_-- > few) more().pop_back();
  }
  void erase(CUcontext context) {
    std::size_t kept = 0;
    for (std::size_t i = 0; i < depth_; ++i) {
      if (at(i) != context) at(kept++) = at(i);
    }
    while (depth_ > kept) pop_back();
  }

 private:
  static constexpr std::size_t few = 16;
  static std::vector<CUcontext>& more() {
    thread_local std::vector<CUcontext> rest;
    return rest;
  }
  CUcontext& at(std::size_t i) { return i < few ? few_[i] : more()[i - few]; }

  std::array<CUcontext, few> few_ = {};
  std::size_t depth_ = 0;
};
constinit thread_local ContextStack context_stack;

/// The thread's last lookup, and the value of Contexts::ended() at that time.
thread_local CUcontext found_context = nullptr;
thread_local std::uint64_t found_when = 0;
/// The value of device_choices() when the stack was last updated.
thread_local std::uint64_t choices_seen = 0;

}  // namespace

CUresult result_of(cudaError_t error) {
  switch (error) {
    // The driver has the same errors with values below 100.
    case cudaSuccess:
    case cudaErrorInvalidValue:
    case cudaErrorMemoryAllocation:
    case cudaErrorInitializationError:
    case cudaErrorCudartUnloading: return static_cast<CUresult>(error);
    case cudaErrorInvalidDeviceFunction: return CUDA_ERROR_INVALID_HANDLE;
    case cudaErrorInvalidSymbol: return CUDA_ERROR_NOT_FOUND;
    default: break;
  }
  constexpr int first_common = 100;
  return error < first_common ? CUDA_ERROR_INVALID_VALUE : static_cast<CUresult>(error);
}

std::atomic<bool>& driver_initialized() {
  static std::atomic<bool> initialized{false};
  return initialized;
}

Contexts& contexts() {
  static auto* const all = new Contexts;
  return *all;
}

/// Precondition: `mutex_` is held.
CUcontext Contexts::add(int device, unsigned flags, bool is_primary) {
  auto context = std::make_shared<Context>();
  context->device = device;
  context->is_primary = is_primary;
  context->flags = flags;
  context->id = next_id_++;
  auto* const handle = reinterpret_cast<CUcontext>(context.get());
  contexts_[handle] = std::move(context);
  return handle;
}

CUcontext Contexts::create(int device, unsigned flags) {
  const std::lock_guard lock(mutex_);
  return add(device, flags, false);
}

std::shared_ptr<Context> Contexts::find(CUcontext handle) {
  const std::lock_guard lock(mutex_);
  const auto found = contexts_.find(handle);
  return found != contexts_.end() ? found->second : nullptr;
}

void Contexts::end(CUcontext handle) {
  streams().wait_for_all();
  std::shared_ptr<Context> gone;
  {
    const std::lock_guard lock(mutex_);
    const auto found = contexts_.find(handle);
    if (found == contexts_.end()) return;
    gone = std::move(found->second);
    contexts_.erase(found);
    ended_.fetch_add(1, std::memory_order_release);
  }
  for (LoadedImage* const module : gone->modules) loaded_images().remove(module);
  for (CUstream const stream : gone->streams) streams().destroy(stream);
  for (void* const pointer : gone->memory) {
    if (allocations().release(pointer, MemoryKind::device, MemoryKind::managed) != cudaSuccess)
      allocations().release(pointer, MemoryKind::pinned_host, MemoryKind::pinned_host);
  }
  for (const void* const array : gone->arrays) {
    if (!arrays().destroy(array)) arrays().destroy_mipmapped(array);
  }
  for (const int peer : gone->peers) peer_access().disable(gone->device, peer);
  if (!gone->peers.empty()) allocations().note_lost_access();
  // The failure of a kernel ends with the context.
  clear_sticky_error(gone->device);
}

bool Contexts::destroy(CUcontext handle) {
  const auto context = find(handle);
  if (context == nullptr || context->is_primary) return false;
  end(handle);
  context_stack.erase(handle);
  return true;
}

CUcontext Contexts::retain_primary(int device) {
  const std::lock_guard lock(mutex_);
  Primary& primary = primary_of(device);
  if (primary.handle == nullptr) primary.handle = add(device, primary.flags, true);
  ++primary.holders;
  return primary.handle;
}

bool Contexts::release_primary(int device) {
  {
    const std::lock_guard lock(mutex_);
    Primary& primary = primary_of(device);
    if (primary.holders == 0) return false;
    if (--primary.holders != 0) return true;
  }
  reset_primary(device);
  return true;
}

void Contexts::reset_primary(int device) {
  CUcontext ended = nullptr;
  {
    const std::lock_guard lock(mutex_);
    Primary& primary = primary_of(device);
    ended = std::exchange(primary.handle, nullptr);
    primary.holders = 0;
  }
  if (ended != nullptr) end(ended);
}

bool Contexts::primary_active(int device) {
  const std::lock_guard lock(mutex_);
  return primary_of(device).handle != nullptr;
}

unsigned Contexts::primary_flags(int device) {
  const std::lock_guard lock(mutex_);
  return primary_of(device).flags;
}

void Contexts::set_primary_flags(int device, unsigned flags) {
  const std::lock_guard lock(mutex_);
  Primary& primary = primary_of(device);
  primary.flags = flags;
  if (primary.handle != nullptr) contexts_[primary.handle]->flags = flags;
}

CUcontext Contexts::primary_of_runtime(int device) {
  const std::lock_guard lock(mutex_);
  Primary& primary = primary_of(device);
  if (primary.handle == nullptr) {
    primary.handle = add(device, primary.flags, true);
    ++primary.holders;  // held by the runtime
  }
  return primary.handle;
}

namespace {

/// Applies a device that the thread has chosen through the runtime since the last update of the stack.
void take_over_choice() {
  if (const std::uint64_t now = device_choices(); std::exchange(choices_seen, now) == now) return;
  if (!context_stack.empty()) context_stack.back() = contexts().primary_of_runtime(current_device());
}

void follow_top() {
  if (context_stack.empty()) return;
  if (const auto top = contexts().find(context_stack.back()); top != nullptr) follow_device(top->device);
}

}  // namespace

CUcontext current_context() {
  take_over_choice();
  if (context_stack.empty()) {
    return uses_runtime() ? contexts().primary_of_runtime(current_device()) : nullptr;
  }
  CUcontext const top = context_stack.back();
  const std::uint64_t ended = contexts().ended();
  if (top == found_context && ended == found_when) return top;
  if (contexts().find(top) == nullptr) return nullptr;
  found_context = top;
  found_when = ended;
  return top;
}

void push_context(CUcontext handle) {
  take_over_choice();
  context_stack.push_back(handle);
  follow_top();
}

CUcontext pop_context() {
  take_over_choice();
  if (context_stack.empty()) return nullptr;
  CUcontext const top = context_stack.back();
  context_stack.pop_back();
  follow_top();
  return top;
}

void set_current_context(CUcontext handle) {
  pop_context();
  if (handle != nullptr) push_context(handle);
}

}  // namespace lynxpp::device::cpu
