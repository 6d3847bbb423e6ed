#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <string>

#include "cli/commands.h"
#include "cli/diagnostics.h"
#include "instrumentors/catalogue.h"

namespace lynxpp::cli {

int list(const ListArguments& arguments) {
  if (!arguments.name.empty()) {
    const auto found = instrumentors::find_specification(arguments.name);
    if (!found) {
      print(found.error().diagnostics);
      return exit_usage_error;
    }
    std::fwrite(found->source.data(), 1, found->source.size(), stdout);
    return exit_success;
  }
  std::size_t width = 0;
  for (const instrumentors::ReadyMade& entry : instrumentors::ready_made())
    width = std::max(width, entry.name.size());
  for (const instrumentors::ReadyMade& entry : instrumentors::ready_made()) {
    const std::string line = std::string(entry.name) + std::string(width + 2 - entry.name.size(), ' ') +
                             std::string(entry.summary) + "\n";
    std::fwrite(line.data(), 1, line.size(), stdout);
  }
  return exit_success;
}

}  // namespace lynxpp::cli
