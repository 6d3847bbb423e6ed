// The `lynxpp` command.
#include <exception>

#include "cli/commands.h"
#include "cli/diagnostics.h"

namespace {

struct Dispatcher {
  int operator()(const lynxpp::cli::Finished& finished) const { return finished.exit_code; }
  int operator()(const lynxpp::cli::RunArguments& arguments) const { return lynxpp::cli::run(arguments); }
  int operator()(const lynxpp::cli::BenchArguments& arguments) const { return lynxpp::cli::bench(arguments); }
  int operator()(const lynxpp::cli::ReportArguments& arguments) const {
    return lynxpp::cli::report(arguments);
  }
  int operator()(const lynxpp::cli::CheckArguments& arguments) const { return lynxpp::cli::check(arguments); }
  int operator()(const lynxpp::cli::InstrumentArguments& arguments) const {
    return lynxpp::cli::instrument(arguments);
  }
  int operator()(const lynxpp::cli::PtxArguments& arguments) const {
    using Command = lynxpp::cli::PtxArguments::Command;
    if (arguments.command == Command::cfg) return lynxpp::cli::ptx_cfg(arguments);
    return arguments.command == Command::stat ? lynxpp::cli::ptx_stat(arguments)
                                              : lynxpp::cli::ptx_annotate(arguments);
  }
  int operator()(const lynxpp::cli::ListArguments& arguments) const { return lynxpp::cli::list(arguments); }
};

}  // namespace

int main(int count, char** values) {
  try {
    return std::visit(Dispatcher{}, lynxpp::cli::parse_arguments(count, values));
  } catch (const std::exception& problem) {  // no memory, for example
    lynxpp::cli::print_error(problem.what());
    return lynxpp::cli::exit_input_error;
  }
}
