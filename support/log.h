// Log messages on stderr, through spdlog, from level LYNXPP_LOG upwards (default: warn).
//
//   log().warn("kernel {} runs uninstrumented: {}", name, reason);
//
// Formats are checked at compile time. spdlog and fmt's implementation are compiled only in log.cpp: each
// file that logs would otherwise take 11 s to compile.
#pragma once

#include <fmt/core.h>

#include <cstdint>

namespace lynxpp {

enum class LogLevel : std::uint8_t { trace, debug, info, warn, error };

/// Thread safe. Not in spdlog's registry, so it cannot conflict with a logger of the host program.
class Log {
 public:
  /// For text that is costly to compute and only logged at this level.
  bool shows(LogLevel level) const;

  template <typename... Values>
  void trace(fmt::format_string<Values...> text, const Values&... values) const {
    write(LogLevel::trace, text, fmt::make_format_args(values...));
  }
  template <typename... Values>
  void debug(fmt::format_string<Values...> text, const Values&... values) const {
    write(LogLevel::debug, text, fmt::make_format_args(values...));
  }
  template <typename... Values>
  void info(fmt::format_string<Values...> text, const Values&... values) const {
    write(LogLevel::info, text, fmt::make_format_args(values...));
  }
  template <typename... Values>
  void warn(fmt::format_string<Values...> text, const Values&... values) const {
    write(LogLevel::warn, text, fmt::make_format_args(values...));
  }
  template <typename... Values>
  void error(fmt::format_string<Values...> text, const Values&... values) const {
    write(LogLevel::error, text, fmt::make_format_args(values...));
  }

 private:
  void write(LogLevel level, fmt::string_view text, fmt::format_args values) const;
};

const Log& log();

}  // namespace lynxpp
