// Options of the just-in-time compiler in the driver API and the runtime API, and the logs that they request.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace lynxpp::device::cpu {

/// The caller's options and values. `Option` is CUjit_option or cudaJitOption, whose numeric values are
/// identical.
template <typename Option>
struct CompilerOptions {
  const Option* options = nullptr;
  void** values = nullptr;
  unsigned count = 0;

  bool are_missing() const { return count != 0 && (options == nullptr || values == nullptr); }

  /// Returns the option's value; null if the option is not given.
  void** value_of(unsigned option) const {
    const auto is_wanted = [option](Option each) { return static_cast<unsigned>(each) == option; };
    const Option* const found = std::find_if(options, options + count, is_wanted);
    return found == options + count ? nullptr : &values[found - options];
  }

  /// Writes `problem`, null-terminated and truncated if necessary, to the error log, and an empty string to
  /// the information log; sets the sizes of both to those of the texts.
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

/// The log text for an image that cannot be loaded.
inline constexpr std::string_view image_problem = "lynxpp's log gives the reason";

}  // namespace lynxpp::device::cpu
