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

std::string withheld_terms(const models::Machine& machine) {
  std::string terms;
  for (const auto& [term, correlation] : machine.correlations) {
    if (machine.advises(term)) continue;
    char text[32];
    std::snprintf(text, sizeof text, " (%.2f)", correlation);
    terms += (terms.empty() ? "" : ", ") + term + text;
  }
  if (terms.empty()) return "";
  return "Not named as hurting most: terms whose rank correlation with measured gains is below 0.5: " +
         terms + "\n";
}

void print_text(const std::string& text) { std::fwrite(text.data(), 1, text.size(), stdout); }

void print_line(const nlohmann::ordered_json& object) {
  print_text(object.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n");
}

}  // namespace lynxpp::cli
