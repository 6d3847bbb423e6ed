// Relocatable modules (`nvcc -rdc=true`) ▶ one module, as text.
#pragma once

#include <span>
#include <string>

#include "support/result.h"

namespace lynxpp::ptx {

/// Resolves declarations in one module to definitions in another; local names of modules stay separate. Line
/// information is kept for the first module only. Fails if a text is malformed or two modules define the same
/// name.
Result<std::string> link_modules(std::span<const std::string> texts);

}  // namespace lynxpp::ptx
