#include "device/cpu/simt/execute/launch_control.h"

namespace lynxpp::device::cpu {
namespace {

std::atomic<bool> abandoned{false};

}  // namespace

std::atomic<std::chrono::milliseconds>& first_running_report() {
  static std::atomic<std::chrono::milliseconds> after{std::chrono::seconds(10)};
  return after;
}

void abandon_launches() { abandoned.store(true, std::memory_order_relaxed); }
bool launches_abandoned() { return abandoned.load(std::memory_order_relaxed); }

}  // namespace lynxpp::device::cpu
