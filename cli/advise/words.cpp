#include "cli/advise/words.h"

#include <cmath>
#include <cstdio>

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

}  // namespace lynxpp::cli
