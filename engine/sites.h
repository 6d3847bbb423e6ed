// The site table of an instrumented kernel.
#pragma once

#include "cod/site_table.h"
#include "ptx/passes/unit.h"

namespace lynxpp::engine {

/// Describes every block and instruction of the unit's instrumented functions, in the order of their ids.
cod::SiteTable describe_sites(const ptx::InstrumentationUnit& unit);

}  // namespace lynxpp::engine
