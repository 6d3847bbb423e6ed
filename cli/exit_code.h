// The exit codes of `lynxpp`.
#pragma once

namespace lynxpp::cli {

/// Exit codes of lynxpp itself; otherwise `lynxpp run` exits with the program's code.
enum ExitCode {
  exit_success = 0,
  exit_input_error = 1,       ///< a specification or PTX file has errors
  exit_usage_error = 2,       ///< invalid command line or unknown specification
  exit_nothing_measured = 3,  ///< the program exited with status 0, and nothing was measured or checked
  exit_limit_exceeded = 4,    ///< `diff`: a budget or --fail-over fails
  exit_cannot_execute = 126,  ///< the program of `run` exists but cannot be executed
  exit_not_found = 127,       ///< the program of `run` does not exist
};

}  // namespace lynxpp::cli
