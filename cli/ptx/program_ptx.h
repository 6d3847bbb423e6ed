// Reads the PTX of an input file: PTX text, or a program, library, archive, fatbinary or cubin that contains
// PTX.
#pragma once

#include <string>

#include "support/result.h"

namespace lynxpp::cli {

/// Returns the text of the only module in the file, or of the module that defines the kernel or function
/// `name` (mangled, demangled, or without its parameter list) for a device of compute capability `sm` (0: the
/// newest). Fails if the file cannot be read, holds no PTX, or `name` does not choose one of its modules.
Result<std::string> read_ptx_module(const std::string& path, const std::string& name, int sm = 0);

}  // namespace lynxpp::cli
