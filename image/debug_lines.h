// Source lines for PTX that a cubin keeps (image/debug_ptx.h), from which ptxas drops .loc and .file.
//
// A cubin maps each machine instruction to its source line (.debug_line) and to
// its PTX line (.nv_debug_line_sass); both are line number programs of DWARF 2. Joined by address,
// they give the source line of each PTX line that became machine code.
#pragma once

#include <string>
#include <vector>

#include "image/bytes.h"

namespace lynxpp::image {

/// Writes .loc directives into empty lines of the text, so that no line changes its number, and .file
/// directives at its end. Lines without information get .loc 1 0, so that they do not inherit an earlier
/// line's location. Texts are those of debug_ptx(); they stay unchanged if the line information is missing
/// or damaged.
void add_source_lines(Bytes cubin, std::vector<std::string>& modules);

}  // namespace lynxpp::image
