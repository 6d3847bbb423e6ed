// Words that are counted in runs (ptx/passes/probes/words/word_run_sites.h): which arrays have some, and how
// those of a launch become counts.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "cod/word_map.h"
#include "engine/word_counts.h"
#include "ptx/passes/unit.h"

namespace lynxpp::engine {

/// Finds them among the accesses that keep a probe, and takes two words of the hidden parameter for each
/// array: ProbeWord::Kind::runs, then most_runs. Not with CountingChoices::wide. Precondition:
/// unit.spliced.counted_words is complete.
std::vector<WordCounting::Runs> choose_runs(const Request& request, ptx::InstrumentationUnit& unit);

/// How many bytes the device needs for that many runs.
std::uint64_t bytes_of_runs(std::uint64_t runs);

/// Adds the runs that the device has written down, in room for `most`, to the counts of the words, whose
/// elements `map` tells. Counts of 32 bits stay at their greatest number. How many words have no element.
/// `runs` begins at a multiple of 16.
std::uint64_t add_word_runs(std::span<const std::byte> runs, std::uint64_t most, const cod::WordMap& map,
                            std::span<std::byte> counts, std::uint32_t element_bytes);

/// Whether runs are at least a third of what the device has counted of the array's words. Where fewer are,
/// the code behind loops costs more than it saves in them. `counts` before add_word_runs.
bool word_runs_pay(std::span<const std::byte> runs, std::uint64_t most, std::span<const std::byte> counts,
                   std::uint32_t element_bytes);

}  // namespace lynxpp::engine
