// Plans how memory words are counted for the specifications (word_sites.h, word_runs.h).
#pragma once

#include <string>
#include <vector>

#include "ptx/passes/memory/counted_words.h"
#include "ptx/passes/module/hidden_layout.h"
#include "ptx/passes/options.h"
#include "ptx/passes/probe.h"
#include "ptx/passes/reached.h"

namespace lynxpp::ptx {

/// Finds the runs of WordPlan::counted. Adds the parameter slots of runs, loop records and shared addresses.
void plan_words(const ReachedFunctions& reached, const std::vector<Probe>& probes,
                const VariantOptions& options, HiddenLayout& hidden, WordPlan& plan);

/// Returns a line per probe with inline counters, per access of WordPlan::sites, per run and per stored
/// address.
std::string word_plan_text(const WordPlan& plan, const ReachedFunctions& reached,
                           const std::vector<Probe>& probes);

}  // namespace lynxpp::ptx
