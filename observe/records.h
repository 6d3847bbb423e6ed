// Converts the records of a run under specification_text() to the models' input.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "models/accesses.h"
#include "observe/transfers.h"
#include "report/reader.h"
#include "support/result.h"

namespace lynxpp::observe {

/// Returns the launches among the records, in order. `transfers_of` analyses a kernel's PTX, given its
/// mangled name; null if it is unknown, and then no load counts as a fetch. Fails if a record is not from
/// that specification.
Result<std::vector<models::Observation>> observations_of(
    const std::vector<report::Record>& records,
    const std::function<const Transfers*(const std::string& kernel)>& transfers_of);

}  // namespace lynxpp::observe
