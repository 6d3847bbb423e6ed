// Hot sites as aligned columns of text.
#pragma once

#include <cstddef>
#include <string>

#include "report/hot_sites.h"

namespace lynxpp::report {

/// Returns a heading and one row per site, in lines of at most `width` characters; values that do not fit
/// follow in another table. `kernel` is its demangled name.
std::string render_hot_sites(const std::string& kernel, const HotSites& hot, std::size_t width);

}  // namespace lynxpp::report
