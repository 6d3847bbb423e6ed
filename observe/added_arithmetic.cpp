#include "observe/added_arithmetic.h"

#include "observe/embedded.h"

namespace lynxpp::observe {
namespace {

std::string embedded_text(std::string_view name) {
  for (const EmbeddedText& each : embedded_specification()) {
    if (each.name == name) return std::string(each.source);
  }
  return {};
}

}  // namespace

std::string added_arithmetic_specification(std::uint32_t count) {
  std::string text = embedded_text("added_arithmetic");
  const std::string one = "  spent += 1.0f;\n";
  const std::size_t at = text.find(one);
  for (std::uint32_t i = 1; i < count && at != std::string::npos; ++i) text.insert(at, one);
  return text;
}

std::string access_counts_specification() { return embedded_text("access_counts"); }

}  // namespace lynxpp::observe
