// What the command writes to a terminal.
#pragma once

#include <string_view>

namespace lynxpp::cli {

/// If standard output or standard error is a terminal, everything written there through <cstdio> passes
/// printable_lines() from now on: records, PTX and names come from anybody.
void guard_terminals();

/// Writes a control sequence of our own past the guard; `descriptor` is that of standard output or error.
void write_control(int descriptor, std::string_view sequence);

}  // namespace lynxpp::cli
