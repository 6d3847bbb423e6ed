#include "support/log.h"

#include <spdlog/sinks/stdout_color_sinks.h>

#include <cstdlib>
#include <memory>

#include "support/printable.h"
#include "support/write_signals.h"

namespace lynxpp {
namespace {

spdlog::level::level_enum spdlog_level(LogLevel level) {
  switch (level) {
    case LogLevel::trace: return spdlog::level::trace;
    case LogLevel::debug: return spdlog::level::debug;
    case LogLevel::info: return spdlog::level::info;
    case LogLevel::warn: return spdlog::level::warn;
    case LogLevel::error: break;
  }
  return spdlog::level::err;
}

spdlog::logger& logger() {
  // Leaked on purpose: host programs may still launch kernels during static destruction.
  static spdlog::logger* const only = [] {
    auto* made = new spdlog::logger("lynxpp", std::make_shared<spdlog::sinks::stderr_color_sink_mt>());
    made->set_pattern("lynxpp: %^%l%$: %v");
    const char* level = secure_getenv("LYNXPP_LOG");
    made->set_level(level != nullptr ? spdlog::level::from_str(level) : spdlog::level::warn);
    return made;
  }();
  return *only;
}

}  // namespace

bool Log::shows(LogLevel level) const { return logger().should_log(spdlog_level(level)); }

void Log::write(LogLevel level, fmt::string_view text, fmt::format_args values) const {
  if (!shows(level)) return;
  try {
    fmt::memory_buffer message;
    fmt::vformat_to(std::back_inserter(message), text, values);
    const WriteSignalsBlocked blocked;
    logger().log(spdlog_level(level), printable_lines({message.data(), message.size()}));
  } catch (...) {
    // Failing to log, for lack of memory, must not end the host program.
  }
}

const Log& log() {
  static constexpr Log the_log;
  return the_log;
}

}  // namespace lynxpp
