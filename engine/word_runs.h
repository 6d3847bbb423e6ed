// Memory words counted by runs (ptx/passes/probes/words/word_run_sites.h): converts
// the recorded runs of a launch to counts.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "cod/word_map.h"
#include "engine/word_counts.h"

namespace lynxpp::engine {

/// Returns the device memory that this number of runs needs, in bytes.
std::uint64_t bytes_of_runs(std::uint64_t runs);

/// Adds up to `most` recorded runs to the counts that `map` locates. 32-bit counts saturate. Returns the
/// number of accessed words without an element. `runs` must be aligned to 16 bytes.
std::uint64_t add_word_runs(std::span<const std::byte> runs, std::uint64_t most, const cod::WordMap& map,
                            std::span<std::byte> counts, std::uint32_t element_bytes);

/// Same, for the loop records of all threads, restricted to runs that count words for this array.
std::uint64_t add_loop_records(std::span<const std::byte> records, const WordCounting& counting,
                               const WordCounting::RunArray& of, const cod::WordMap& map,
                               std::span<std::byte> counts, std::uint32_t element_bytes);

/// True if runs account for at least a third of the device's counts of the array's words. With fewer, the
/// code after loops costs more than it saves inside them. `counts` are those before add_word_runs.
bool word_runs_pay(std::span<const std::byte> runs, std::uint64_t most, std::span<const std::byte> counts,
                   std::uint32_t element_bytes);

}  // namespace lynxpp::engine
