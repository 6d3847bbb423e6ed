// Dispatches the command line of `lynxpp` to its commands.
#include "cli/entry.h"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <exception>
#include <new>
#include <string>

#include "cli/arguments.h"
#include "cli/commands.h"
#include "cli/diagnostics.h"
#include "cli/terminal.h"

namespace {

struct Dispatcher {
  int operator()(const lynxpp::cli::Finished& finished) const { return finished.exit_code; }
  int operator()(const lynxpp::cli::RunArguments& arguments) const { return lynxpp::cli::run(arguments); }
  int operator()(const lynxpp::cli::RecordArguments& arguments) const {
    return lynxpp::cli::record(arguments);
  }
  int operator()(const lynxpp::cli::TritonArguments& arguments) const {
    return lynxpp::cli::triton(arguments);
  }
  int operator()(const lynxpp::cli::CheckRunArguments& arguments) const {
    return lynxpp::cli::check_run(arguments);
  }
  int operator()(const lynxpp::cli::BenchArguments& arguments) const { return lynxpp::cli::bench(arguments); }
  int operator()(const lynxpp::cli::LimitsArguments& arguments) const {
    return lynxpp::cli::limits(arguments);
  }
  int operator()(const lynxpp::cli::CharacterizeArguments& arguments) const {
    return lynxpp::cli::characterize(arguments);
  }
  int operator()(const lynxpp::cli::ReportArguments& arguments) const {
    return lynxpp::cli::report(arguments);
  }
  int operator()(const lynxpp::cli::MergeArguments& arguments) const { return lynxpp::cli::merge(arguments); }
  int operator()(const lynxpp::cli::TraceArguments& arguments) const { return lynxpp::cli::trace(arguments); }
  int operator()(const lynxpp::cli::DiffArguments& arguments) const { return lynxpp::cli::diff(arguments); }
  int operator()(const lynxpp::cli::CheckArguments& arguments) const { return lynxpp::cli::check(arguments); }
  int operator()(const lynxpp::cli::InstrumentArguments& arguments) const {
    return lynxpp::cli::instrument(arguments);
  }
  int operator()(const lynxpp::cli::PtxArguments& arguments) const {
    using Command = lynxpp::cli::PtxArguments::Command;
    switch (arguments.command) {
      case Command::stat: return lynxpp::cli::ptx_stat(arguments);
      case Command::cfg: return lynxpp::cli::ptx_cfg(arguments);
      case Command::annotate: return lynxpp::cli::ptx_annotate(arguments);
      case Command::perturb: return lynxpp::cli::ptx_perturb(arguments);
      case Command::run: break;
    }
    return lynxpp::cli::ptx_run(arguments);
  }
  int operator()(const lynxpp::cli::AdviseArguments& arguments) const {
    return lynxpp::cli::advise(arguments);
  }
  int operator()(const lynxpp::cli::QualityArguments& arguments) const {
    return lynxpp::cli::quality(arguments);
  }
  int operator()(const lynxpp::cli::CalibrateArguments& arguments) const {
    return lynxpp::cli::calibrate(arguments);
  }
  int operator()(const lynxpp::cli::BandArguments& arguments) const { return lynxpp::cli::band(arguments); }
  int operator()(const lynxpp::cli::ListArguments& arguments) const { return lynxpp::cli::list(arguments); }
  int operator()(const lynxpp::cli::LspArguments& arguments) const {
    return lynxpp::cli::serve_editor(arguments);
  }
  int operator()(const lynxpp::cli::ControlArguments& arguments) const {
    using Command = lynxpp::cli::ControlArguments::Command;
    switch (arguments.command.value()) {
      case Command::attach: return lynxpp::cli::attach(arguments);
      case Command::detach: return lynxpp::cli::detach(arguments);
      case Command::why: return lynxpp::cli::why(arguments);
      case Command::status: return lynxpp::cli::status(arguments);
      case Command::top: break;
    }
    return lynxpp::cli::top(arguments);
  }
};

/// Fails if output could not be written, for example because the disk is full.
int finished(int exit_code) {
  const bool was_written = std::fflush(stdout) == 0 && std::ferror(stdout) == 0;
  if (was_written || exit_code != 0) return exit_code;
  lynxpp::cli::print_error(std::string("cannot write to standard output: ") + std::strerror(errno));
  return lynxpp::cli::exit_input_error;
}

}  // namespace

int lynxpp_run_command(int count, char** values) {
  try {
    lynxpp::cli::guard_terminals();
    return finished(std::visit(Dispatcher{}, lynxpp::cli::parse_arguments(count, values)));
  } catch (const std::bad_alloc&) {
    lynxpp::cli::print_error("there is not enough memory for an input of this size");
  } catch (const std::exception& problem) {
    lynxpp::cli::print_error(problem.what());
  }
  return lynxpp::cli::exit_input_error;
}
