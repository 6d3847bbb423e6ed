// The options of `lynxpp ptx instrument` that print the passes' input and output.
#pragma once

#include <string>
#include <vector>

#include "cli/ptx/arguments.h"
#include "engine/instrument.h"

namespace lynxpp::cli {

/// Returns false and prints an error if a name is neither a pass nor "all".
bool are_passes(const std::vector<std::string>& names);

/// Returns an observer that prints the kernel and the functions it reaches, on standard error, before and
/// after the selected passes.
ptx::PassObserver printing_observer(const InstrumentArguments& arguments);

/// Prints the table of --time-passes on standard error.
void print_pass_timings(const engine::Instrumented& result);

}  // namespace lynxpp::cli
