// Words that are counted in runs (ptx/passes/probes/word_run_sites.h): which arrays have some, and how the
// numbers of a launch become counts.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "engine/word_counts.h"
#include "ptx/passes/unit.h"

namespace lynxpp::engine {

/// Finds them among the accesses that keep a probe, and takes two words of the hidden parameter for each
/// array: ProbeWord::Kind::runs, then run_bytes. Not with Request::wide_counters. Precondition:
/// unit.spliced.counted_words is complete.
std::vector<WordCounting::Runs> choose_runs(const Request& request, ptx::InstrumentationUnit& unit);

/// How many bytes the device needs for the runs of that much memory, a multiple of 4.
std::uint64_t bytes_of_runs(std::uint32_t rows, std::uint64_t run_bytes);

/// Adds what the device has left there to the counts of the words, the first of which is counts[first]. Those
/// of 32 bits stay at their greatest number. Changes `runs`.
void add_word_runs(std::span<std::byte> runs, std::uint32_t rows, std::uint64_t run_bytes,
                   std::span<std::byte> counts, std::uint32_t element_bytes, std::uint64_t first);

}  // namespace lynxpp::engine
