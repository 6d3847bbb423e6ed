// The page without data, as report/page/app is bundled.
#pragma once

#include <span>
#include <string_view>

namespace lynxpp::report {

struct EmbeddedText {
  std::string_view name;
  std::string_view source;
};

/// One text; an empty one where lynxpp was built without npm.
std::span<const EmbeddedText> embedded_page();

}  // namespace lynxpp::report
