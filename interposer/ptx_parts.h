// The part of a module's PTX that contains a kernel's sites, for display.
#pragma once

#include <string_view>
#include <vector>

#include "cod/site_table.h"
#include "report/record.h"

namespace lynxpp::interposer {

/// Returns every function that has sites, complete, the module's `.file` lines and, if functions were
/// inlined, the section with their names, in line order.
std::vector<report::SitesRecord::PtxPart> ptx_parts(std::string_view ptx, const cod::SiteTable& sites);

}  // namespace lynxpp::interposer
