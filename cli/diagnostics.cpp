#include "cli/diagnostics.h"

#include <algorithm>
#include <cstdio>
#include <utility>

#include "cli/exit_code.h"

namespace lynxpp::cli {

void print(const Diagnostics& diagnostics, std::string_view source) {
  std::string text;
  for (const Diagnostic& diagnostic : diagnostics) {
    if (diagnostic.location.file.empty()) text += "lynxpp: ";
    text += render(diagnostic, source);
  }
  std::fwrite(text.data(), 1, text.size(), stderr);
}

void print_error(std::string message, std::string hint) {
  print({{Severity::error, {}, std::move(message), std::move(hint)}});
}

void print_warning(std::string message, std::string hint) {
  print({{Severity::warning, {}, std::move(message), std::move(hint)}});
}

void print_reading(const std::string& path, std::size_t records, const Diagnostics& faults,
                   const Status& read) {
  print(records != 0 || faults.empty() ? faults : Diagnostics{faults.front()});
  if (!read) print(read.error().diagnostics);
  if (read && records == 0)
    print_error(path + " holds no records",
                "`lynxpp record` and `lynxpp run -o FILE` write files of records");
}

Failure nothing_measured(std::string message, std::string hint) {
  return Failure{{{Severity::warning, {}, std::move(message), std::move(hint)}}};
}

int failed(const Failure& failure) {
  print(failure.diagnostics);
  return has_error(failure.diagnostics) ? exit_input_error : exit_nothing_measured;
}

bool has_error(const Diagnostics& diagnostics) {
  return std::any_of(diagnostics.begin(), diagnostics.end(),
                     [](const Diagnostic& diagnostic) { return diagnostic.severity == Severity::error; });
}

}  // namespace lynxpp::cli
