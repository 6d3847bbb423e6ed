#include "cli/advise/words.h"

#include <cmath>
#include <cstdio>
#include <nlohmann/json.hpp>

namespace lynxpp::cli {

std::string term_text(double value) {
  char text[32];
  std::snprintf(text, sizeof text, value != 0 && std::abs(value) < 0.01 ? "%.2e" : "%.4f", value);
  return text;
}

const char* word_of(models::cumapz::Statement::Kind kind) {
  using Kind = models::cumapz::Statement::Kind;
  switch (kind) {
    case Kind::fetch: return "fetch";
    case Kind::store: return "store";
    case Kind::write: return "write";
    default: return "read";
  }
}

void print_text(const std::string& text) { std::fwrite(text.data(), 1, text.size(), stdout); }

void print_line(const nlohmann::ordered_json& object) {
  print_text(object.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n");
}

}  // namespace lynxpp::cli
