// Guards the terminal against control characters in output.
#pragma once

#include <string_view>

namespace lynxpp::cli {

/// If standard output or standard error is a terminal, passes everything that is written to it through
/// <cstdio> through printable_lines(): records, PTX and names come from untrusted sources.
void guard_terminals();

/// Writes a control sequence of our own, unguarded; `descriptor` is that of standard output or error.
void write_control(int descriptor, std::string_view sequence);

}  // namespace lynxpp::cli
