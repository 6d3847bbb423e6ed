// Relocatable modules (`nvcc -rdc=true`) ▶ one module, as text.
#pragma once

#include <span>
#include <string>

#include "support/result.h"

namespace lynxpp::ptx {

/// What one module declares and another one defines becomes one thing; names that modules keep for themselves
/// stay apart. Lines of sources are known of the first module alone. Failure: a text is malformed, or two
/// modules define one name.
Result<std::string> link_modules(std::span<const std::string> texts);

}  // namespace lynxpp::ptx
