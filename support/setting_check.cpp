// Apart from setting.cpp, which the preload library links.
#include <algorithm>

#include "support/setting.h"

namespace lynxpp {

Diagnostics check_debug_settings() {
  Diagnostics problems;
  for (const DebugSetting& each : debug_settings()) {
    if (std::ranges::find(debug_keys, each.key) != debug_keys.end()) continue;
    const std::string close = closest_match(each.key, {debug_keys.begin(), debug_keys.end()});
    problems.push_back({Severity::error,
                        {},
                        "LYNXPP_DEBUG: no setting '" + each.key + "'",
                        close.empty() ? "`man lynxpp` lists them" : "did you mean '" + close + "'?"});
  }
  return problems;
}

}  // namespace lynxpp
