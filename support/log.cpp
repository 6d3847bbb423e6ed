#include "support/log.h"

#include <spdlog/sinks/stdout_color_sinks.h>

#include <cstdlib>
#include <memory>

namespace lynxpp {

spdlog::logger& log() {
  // Leaked on purpose: host programs may still launch kernels while their static objects die.
  static spdlog::logger* const logger = [] {
    auto* made = new spdlog::logger("lynxpp", std::make_shared<spdlog::sinks::stderr_color_sink_mt>());
    made->set_pattern("lynxpp: %^%l%$: %v");
    const char* level = std::getenv("LYNXPP_LOG");
    made->set_level(level != nullptr ? spdlog::level::from_str(level) : spdlog::level::warn);
    return made;
  }();
  return *logger;
}

}  // namespace lynxpp
