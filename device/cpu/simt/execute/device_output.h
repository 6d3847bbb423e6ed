// What kernels print. As with CUDA, it appears when the host waits for the device.
#pragma once

#include <cstddef>
#include <mutex>
#include <string>

namespace lynxpp::device::cpu {

/// Thread safe.
class DeviceOutput {
 public:
  static constexpr std::size_t default_limit = std::size_t{1} << 20;

  /// Keeps the text; what would exceed the limit makes room by writing what is there. Nothing is lost.
  void append(const std::string& text);
  /// Writes to stdout what is kept.
  void flush();
  void set_limit(std::size_t bytes);
  std::size_t limit() const;

 private:
  void write();

  mutable std::mutex mutex_;
  std::string text_;
  std::size_t limit_ = default_limit;
};

/// The process's output. Never destroyed.
DeviceOutput& device_output();

}  // namespace lynxpp::device::cpu
