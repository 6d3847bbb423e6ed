#include "device/cpu/runtime/call_scopes.h"

#include <unistd.h>

#include <atomic>
#include <utility>

#include "device/cpu/runtime/runtime.h"

namespace lynxpp::device::cpu {
namespace {

std::atomic<WaitObserver> wait_observer{nullptr};
std::atomic<bool> is_held{false};

thread_local bool null_is_per_thread = false;
thread_local bool in_callback = false;
thread_local bool in_driver_call = false;

}  // namespace

void set_wait_observer(WaitObserver observer) { wait_observer = observer; }

DriverCall::DriverCall() : before_(std::exchange(in_driver_call, true)) {}
DriverCall::~DriverCall() { in_driver_call = before_; }
bool DriverCall::active() { return in_driver_call; }

void hold_program() { is_held = true; }

void wait_if_held() {
  while (is_held.load(std::memory_order_relaxed)) pause();
}

void program_has_waited() {
  if (in_driver_call) return;
  if (const WaitObserver observer = wait_observer) observer();
}

PerThreadDefaultStream::PerThreadDefaultStream() : before_(std::exchange(null_is_per_thread, true)) {}
PerThreadDefaultStream::~PerThreadDefaultStream() { null_is_per_thread = before_; }
bool PerThreadDefaultStream::active() { return null_is_per_thread; }

CallbackScope::CallbackScope() { in_callback = true; }
CallbackScope::~CallbackScope() { in_callback = false; }
bool CallbackScope::active() { return in_callback; }

}  // namespace lynxpp::device::cpu
