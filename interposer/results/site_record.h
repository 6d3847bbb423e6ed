// A kernel's site table as the report writes it.
#pragma once

#include <string>

#include "cod/site_table.h"
#include "report/record.h"

namespace lynxpp::interposer {

report::SitesRecord site_record(const cod::SiteTable& sites, const std::string& kernel, std::uint64_t table);

/// Whether some result has one value for each basic block or instruction.
bool has_values_per_site(const report::LaunchRecord& record);

}  // namespace lynxpp::interposer
