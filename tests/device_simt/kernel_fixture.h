// Runs PTX text on the executor.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <type_traits>
#include <vector>

#include "device/cpu/simt/execute/executor.h"

namespace lynxpp::device::cpu::test {

/// Puts `.version`, `.target` and `.address_size` before `body`.
std::string with_header(const std::string& body);

/// Loads a module; if that fails, the test fails.
std::shared_ptr<LoadedModule> load(const std::string& body);

/// Returns "file:line:column: error: …" for a failure, or an empty string.
std::string text_of(const Status& status);

/// A kernel's parameter buffer, with each argument at its natural alignment.
class Arguments {
 public:
  template <typename... T>
  explicit Arguments(const T&... values) {
    (append(values), ...);
  }
  std::span<const std::byte> bytes() const { return bytes_; }

 private:
  template <typename T>
  void append(const T& value) {
    static_assert(std::is_trivially_copyable_v<T>);
    while (bytes_.size() % alignof(T) != 0) bytes_.push_back(std::byte{0});
    const auto* const begin = reinterpret_cast<const std::byte*>(&value);
    bytes_.insert(bytes_.end(), begin, begin + sizeof(T));
  }
  std::vector<std::byte> bytes_;
};

/// Returns the counters of one block; all zero if it was not reached.
BlockCounters counters_of(const LaunchCounters& counters, const std::string& function, std::uint32_t block);

}  // namespace lynxpp::device::cpu::test
