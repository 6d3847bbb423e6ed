// Source lines for the PTX in a cubin (image/debug_ptx.h), from which ptxas drops .loc and .file.
//
// A cubin maps each machine instruction to its source line (.debug_line) and to its PTX line
// (.nv_debug_line_sass); both are DWARF 2 line number programs. Joining them by address yields the source
// line of each PTX line that has machine code.
#pragma once

#include <string>
#include <vector>

#include "image/bytes.h"

namespace lynxpp::image {

/// Writes .loc directives into empty lines of the text, so that line numbers do not change, and .file
/// directives at its end. Lines without information get .loc 1 0, so that they do not inherit an earlier
/// line's location. Texts are those of debug_ptx(); they stay unchanged if the line information is missing or
/// damaged.
void add_source_lines(Bytes cubin, std::vector<std::string>& modules);

}  // namespace lynxpp::image
