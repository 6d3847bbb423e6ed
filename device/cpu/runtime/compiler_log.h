// Options of a just-in-time compiler as the driver's and the runtime's API take them, and the logs they ask
// for.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace lynxpp::device::cpu {

/// The caller's options, with the caller's values. `Option` is CUjit_option or cudaJitOption, whose numbers
/// are the same.
template <typename Option>
struct CompilerOptions {
  const Option* options = nullptr;
  void** values = nullptr;
  unsigned count = 0;

  bool are_missing() const { return count != 0 && (options == nullptr || values == nullptr); }

  /// Null if the option is not given.
  void** value_of(unsigned option) const {
    const auto is_wanted = [option](Option each) { return static_cast<unsigned>(each) == option; };
    const Option* const found = std::find_if(options, options + count, is_wanted);
    return found == options + count ? nullptr : &values[found - options];
  }

  /// Writes what fits of `problem` and a zero to the buffer for errors, a zero alone to the one for
  /// information; their sizes become those of the texts.
  void write_log(std::string_view problem) const {
    constexpr unsigned info_buffer = 3, info_bytes = 4, error_buffer = 5, error_bytes = 6;
    write("", info_buffer, info_bytes);
    write(problem, error_buffer, error_bytes);
  }

 private:
  void write(std::string_view text, unsigned buffer, unsigned size) const {
    void** const place = value_of(buffer);
    void** const bytes = value_of(size);
    if (place == nullptr || bytes == nullptr) return;
    const auto room = static_cast<std::size_t>(reinterpret_cast<std::uintptr_t>(*bytes) & 0xffff'ffff);
    if (*place == nullptr || room == 0) return;
    const std::size_t length = std::min(text.size(), room - 1);
    std::memcpy(*place, text.data(), length);
    static_cast<char*>(*place)[length] = '\0';
    *bytes = reinterpret_cast<void*>(std::min(text.size(), room));
  }
};

/// The log's text for an image that cannot be loaded.
inline constexpr std::string_view image_problem = "lynxpp's log says what is wrong with it";

}  // namespace lynxpp::device::cpu
