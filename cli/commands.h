// One function per subcommand; each returns the exit code of the process.
#pragma once

#include "cli/arguments.h"

namespace lynxpp::cli {

/// Returns only when the program could not be started.
int run(const RunArguments& arguments);
int check(const CheckArguments& arguments);
int instrument(const InstrumentArguments& arguments);
int list(const ListArguments& arguments);

}  // namespace lynxpp::cli
