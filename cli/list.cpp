#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <string>

#include "cli/commands.h"
#include "cli/diagnostics.h"
#include "cli/exit_code.h"
#include "cli/specification_arguments.h"
#include "instrumentors/catalogue.h"
#include "report/tables/table_sink.h"
#include "report/tables/text_table.h"

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
  // If the output is not a terminal, print one line per entry.
  const std::size_t terminal =
      ::isatty(STDOUT_FILENO) == 1 ? report::terminal_width(STDOUT_FILENO) : report::all_kept;
  std::size_t width = 0;
  for (const instrumentors::ReadyMade& entry : instrumentors::ready_made())
    width = std::max(width, entry.name.size());
  for (const instrumentors::ReadyMade& entry : instrumentors::ready_made()) {
    std::string lines = report::wrapped(entry.summary, width + 2, terminal);
    std::copy(entry.name.begin(), entry.name.end(), lines.begin());
    std::fwrite(lines.data(), 1, lines.size(), stdout);
  }
  return exit_success;
}

}  // namespace lynxpp::cli
