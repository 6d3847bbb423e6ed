// Source files that a compiler names in PTX.
#pragma once

#include <string_view>

namespace lynxpp::ptx {

/// True for headers of the CUDA toolkit, of the host compiler and of the system. The code of such a header is
/// reported at the call that it was inlined at, not at its own lines.
bool is_library_header(std::string_view path);

}  // namespace lynxpp::ptx
