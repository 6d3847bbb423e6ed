// From the records of a run under specification_text() to what models understand.
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

/// The launches among the records, in their order. `transfers_of` gives what a kernel's PTX says, by its
/// mangled name; null: nothing is known of it, and no load is taken for a fetch. Failure: a record is not one
/// of that specification.
Result<std::vector<models::Observation>> observations_of(
    const std::vector<report::Record>& records,
    const std::function<const Transfers*(const std::string& kernel)>& transfers_of);

}  // namespace lynxpp::observe
