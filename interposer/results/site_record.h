// Converts a kernel's site table to a report record.
#pragma once

#include <string>

#include "cod/site_table.h"
#include "report/record.h"

namespace lynxpp::interposer {

report::SitesRecord site_record(const cod::SiteTable& sites, const std::string& kernel, std::uint64_t table);

/// True if some result has one value per basic block or instruction.
bool has_values_per_site(const report::LaunchRecord& record);

}  // namespace lynxpp::interposer
