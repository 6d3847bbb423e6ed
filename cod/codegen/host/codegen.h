// Compiles ON_REPORT and ON_END to native code.
#pragma once

#include <memory>

#include "cod/host_report.h"
#include "cod/sema/program.h"
#include "support/result.h"

namespace lynxpp::cod {

/// The report keeps the program alive.
Result<std::shared_ptr<const HostReport>> generate_host_report(std::shared_ptr<const Program> program);

}  // namespace lynxpp::cod
