#include "support/setting.h"

#include <algorithm>
#include <cctype>
#include <cstdlib>

namespace lynxpp {

const std::vector<DebugSetting>& debug_settings() {
  static const std::vector<DebugSetting> settings = [] {
    const char* const text = ::secure_getenv("LYNXPP_DEBUG");
    return parse_debug_settings(text == nullptr ? "" : text);
  }();
  return settings;
}

std::vector<DebugSetting> parse_debug_settings(std::string_view text) {
  std::vector<DebugSetting> settings;
  while (!text.empty()) {
    const std::string_view piece = text.substr(0, text.find(','));
    text.remove_prefix(std::min(text.size(), piece.size() + 1));
    const std::size_t equals = piece.find('=');
    if (equals != std::string_view::npos) {
      settings.push_back({std::string(piece.substr(0, equals)), std::string(piece.substr(equals + 1))});
    } else if (settings.empty()) {
      settings.push_back({std::string(piece), ""});
    } else {
      settings.back().value += "," + std::string(piece);
    }
  }
  return settings;
}

const char* setting(const char* variable) {
  if (const char* const value = ::secure_getenv(variable)) return value;
  std::string key = std::string_view(variable).substr(sizeof "LYNXPP_" - 1).data();
  std::ranges::transform(key, key.begin(), [](unsigned char each) { return std::tolower(each); });
  // The last one counts, as in a list of options.
  const std::vector<DebugSetting>& settings = debug_settings();
  const auto found = std::find_if(settings.rbegin(), settings.rend(),
                                  [&](const DebugSetting& each) { return each.key == key; });
  return found == settings.rend() ? nullptr : found->value.c_str();
}

}  // namespace lynxpp
