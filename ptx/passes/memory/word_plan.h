// Describes how memory words are counted (counted_words.h), for --print-after word-plan.
#pragma once

#include <string>
#include <vector>

#include "ptx/passes/memory/counted_words.h"
#include "ptx/passes/probe.h"

namespace lynxpp::ptx {

/// Returns a line per probe with inline counters, per access of WordPlan::sites and per stored address.
std::string word_plan_text(const WordPlan& plan, const std::vector<Probe>& probes);

}  // namespace lynxpp::ptx
