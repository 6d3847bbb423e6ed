// Source lines for PTX that a cubin keeps (image/debug_ptx.h), whose .loc and .file directives ptxas drops.
//
// A cubin says of each instruction of machine code which line of the source it comes from (.debug_line) and
// which line of the PTX (.nv_debug_line_sass); both are line number programs of DWARF 2. Joined by address,
// they give the source line of each PTX line that became machine code.
#pragma once

#include <string>
#include <vector>

#include "image/bytes.h"

namespace lynxpp::image {

/// Puts .loc directives where the text has empty lines, so that no line changes its number, and .file
/// directives at its end. Lines of which nothing is known are .loc 1 0: an earlier line's place is not
/// theirs. Texts are those of debug_ptx(); they stay as they are if the cubin's line information is missing
/// or damaged.
void add_source_lines(Bytes cubin, std::vector<std::string>& modules);

}  // namespace lynxpp::image
