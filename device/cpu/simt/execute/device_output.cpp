#include "device/cpu/simt/execute/device_output.h"

#include <cstdio>

namespace lynxpp::device::cpu {

DeviceOutput& device_output() {
  static auto* const output = new DeviceOutput;
  return *output;
}

void DeviceOutput::append(const std::string& text) {
  const std::lock_guard lock(mutex_);
  if (text_.size() + text.size() > limit_) write();
  text_ += text;
  if (text_.size() > limit_) write();
}

void DeviceOutput::flush() {
  const std::lock_guard lock(mutex_);
  write();
}

/// Precondition: `mutex_` is held.
void DeviceOutput::write() {
  std::fwrite(text_.data(), 1, text_.size(), stdout);
  text_.clear();
}

void DeviceOutput::set_limit(std::size_t bytes) {
  const std::lock_guard lock(mutex_);
  limit_ = bytes;
}

std::size_t DeviceOutput::limit() const {
  const std::lock_guard lock(mutex_);
  return limit_;
}

}  // namespace lynxpp::device::cpu
