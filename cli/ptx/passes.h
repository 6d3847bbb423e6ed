// The options of `lynxpp instrument` that show the passes at work.
#pragma once

#include <string>
#include <vector>

#include "cli/arguments.h"
#include "engine/instrument.h"

namespace lynxpp::cli {

/// Prints what is wrong when a name is neither a pass nor "all".
bool are_passes(const std::vector<std::string>& names);

/// Prints the kernel and the functions it reaches around the passes that were asked for, on standard error.
ptx::PassObserver printing_observer(const InstrumentArguments& arguments);

/// The table of --time-passes, on standard error.
void print_pass_timings(const engine::Instrumented& result);

}  // namespace lynxpp::cli
