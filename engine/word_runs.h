// Words that are counted in runs (ptx/passes/probes/words/word_run_sites.h): chooses the arrays that have
// runs, and turns the recorded runs of a launch into counts.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "cod/word_map.h"
#include "engine/word_counts.h"
#include "ptx/passes/unit.h"

namespace lynxpp::engine {

/// Finds them among the accesses that keep a probe, and fills counting.runs.
/// Takes two words of the hidden parameter for each of `runs`: ProbeWord::Kind::runs, then most_runs; and
/// after them one for the loop records, if there are any. Not with CountingChoices::wide. Precondition:
/// unit.spliced.counted_words is complete.
void choose_runs(const Request& request, ptx::InstrumentationUnit& unit, WordCounting& counting);

/// How many bytes the device needs for that many runs.
std::uint64_t bytes_of_runs(std::uint64_t runs);

/// Adds up to `most` recorded runs to the counts that `map` locates. Counts of 32 bits saturate. Returns how
/// many accessed words have no element. `runs` begins at a multiple of 16.
std::uint64_t add_word_runs(std::span<const std::byte> runs, std::uint64_t most, const cod::WordMap& map,
                            std::span<std::byte> counts, std::uint32_t element_bytes);

/// Likewise the loop records that the threads have stored, one after the other, of the runs that count words
/// for this array of a specification.
std::uint64_t add_loop_records(std::span<const std::byte> records, const WordCounting& counting,
                               const WordCounting::RunArray& of, const cod::WordMap& map,
                               std::span<std::byte> counts, std::uint32_t element_bytes);

/// Whether runs are at least a third of what the device has counted of the array's words. With fewer, the
/// code after loops costs more than it saves in them. `counts` before add_word_runs.
bool word_runs_pay(std::span<const std::byte> runs, std::uint64_t most, std::span<const std::byte> counts,
                   std::uint32_t element_bytes);

}  // namespace lynxpp::engine
