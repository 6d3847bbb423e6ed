// Source files named by a compiler in PTX.
#pragma once

#include <string_view>

namespace lynxpp::ptx {

/// True for headers of the CUDA toolkit, of the host compiler and of the system. Code inlined from such a
/// header is attributed to the call that it was inlined at, not to its own lines.
bool is_library_header(std::string_view path);

}  // namespace lynxpp::ptx
