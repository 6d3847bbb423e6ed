// Output of kernels. As with CUDA, it appears when the host synchronizes with the device.
#pragma once

#include <cstddef>
#include <mutex>
#include <string>

namespace lynxpp::device::cpu {

/// Thread safe.
class DeviceOutput {
 public:
  static constexpr std::size_t default_limit = std::size_t{1} << 20;

  /// Buffers the text; writes the buffer first if the limit would be exceeded. No text is lost.
  void append(const std::string& text);
  /// Writes the buffered text to stdout.
  void flush();
  void set_limit(std::size_t bytes);
  std::size_t limit() const;

 private:
  void write();

  mutable std::mutex mutex_;
  std::string text_;
  std::size_t limit_ = default_limit;
};

/// Returns the process's output, which is never destroyed.
DeviceOutput& device_output();

}  // namespace lynxpp::device::cpu
