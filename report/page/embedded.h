// The page without data, bundled from report/page/app.
#pragma once

#include <span>
#include <string_view>

namespace lynxpp::report {

struct EmbeddedText {
  std::string_view name;
  std::string_view source;
};

/// Returns one text; it is empty if lynxpp was built without npm.
std::span<const EmbeddedText> embedded_page();

}  // namespace lynxpp::report
