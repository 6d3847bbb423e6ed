#include "device/cpu/runtime/devices.h"

#include <charconv>
#include <cstdlib>
#include <string_view>
#include <utility>

#include "support/log.h"
#include "support/setting.h"

namespace lynxpp::device::cpu {
namespace {

thread_local int thread_device = 0;
thread_local std::uint64_t choices = 0;

int wanted_devices() {
  const char* const value = setting("LYNXPP_CPU_DEVICES");
  if (value == nullptr || *value == '\0') return 1;
  const std::string_view text(value);
  int count = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), count);
  if (error == std::errc() && end == text.data() + text.size() && count >= 1 && count <= most_devices)
    return count;
  log().error("'{}' is not a valid LYNXPP_CPU_DEVICES, which must be 1 to {}; using one device", text,
              most_devices);
  return 1;
}

}  // namespace

int device_count() {
  static const int count = wanted_devices();
  return count;
}

int current_device() { return thread_device; }
void choose_device(int device) {
  thread_device = device;
  ++choices;
}
std::uint64_t device_choices() { return choices; }
void follow_device(int device) { thread_device = device; }

DeviceScope::DeviceScope(int device) : before_(std::exchange(thread_device, device)) {}
DeviceScope::~DeviceScope() { thread_device = before_; }

bool PeerAccess::enable(int device, int peer) {
  const std::uint32_t bit = std::uint32_t{1} << peer;
  return (peers_[static_cast<std::size_t>(device)].fetch_or(bit) & bit) == 0;
}

bool PeerAccess::disable(int device, int peer) {
  const std::uint32_t bit = std::uint32_t{1} << peer;
  return (peers_[static_cast<std::size_t>(device)].fetch_and(~bit) & bit) != 0;
}

PeerAccess& peer_access() {
  static PeerAccess access;
  return access;
}

}  // namespace lynxpp::device::cpu
