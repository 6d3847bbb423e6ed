// The one spdlog logger of lynxpp: named "lynxpp", on stderr, level from LYNXPP_LOG (default: warn).
#pragma once

#include <spdlog/spdlog.h>

namespace lynxpp {

/// Never null; thread safe. The logger is private to lynxpp and not in spdlog's registry, so it cannot
/// meet a logger of the host program.
spdlog::logger& log();

}  // namespace lynxpp
