// Plans how memory words are counted for the specifications (word_sites.h, word_runs.h).
#pragma once

#include <string>

#include "ptx/passes/unit.h"
#include "support/result.h"

namespace lynxpp::ptx {

/// Calls WordPlan::demand, which fills in the rest of InstrumentationUnit::words and disables the probes of
/// accesses that need none.
Status plan_words(InstrumentationUnit& unit);

/// Returns a line for each probe that counts words, each access that is not counted every time, and each run.
std::string word_plan_text(const InstrumentationUnit& unit);

}  // namespace lynxpp::ptx
