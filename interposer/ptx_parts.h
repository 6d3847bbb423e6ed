// The part of a module's text that a kernel's places lie in, for who shows them.
#pragma once

#include <string_view>
#include <vector>

#include "cod/site_table.h"
#include "report/record.h"

namespace lynxpp::interposer {

/// The functions that have sites, each whole, the module's `.file` lines, and, where functions were inlined,
/// the section that holds their names. In the order of their lines.
std::vector<report::SitesRecord::PtxPart> ptx_parts(std::string_view ptx, const cod::SiteTable& sites);

}  // namespace lynxpp::interposer
