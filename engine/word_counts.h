// Access counts per memory word (cod::Handler::counted_words): selects the accesses that need no probe
// because replay (ptx/replay/replay.h) computes their addresses, and adds their counts to a launch's arrays.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "cod/specification.h"
#include "engine/request.h"
#include "ptx/passes/unit.h"
#include "ptx/replay/replay.h"
#include "support/result.h"

namespace lynxpp::engine {

struct WordCounting {
  cod::WordScheme scheme;
  bool saturates = false;            ///< 32-bit counts saturate (CountingChoices::wide)
  std::uint32_t block_counters = 0;  ///< arrays with counters in shared memory
  /// An access without a probe, and an array that counts its words.
  struct Use {
    std::uint32_t function = 0;     ///< position in unit.reached.functions
    std::uint32_t instruction = 0;  ///< index in its body
    std::uint32_t side = 0;
    std::uint32_t specification = 0;
    std::uint32_t array = 0;  ///< in Specification::arrays()
    bool is_shared = false;   ///< the array counts shared memory and ignores device memory
  };
  /// A shared variable of the kernel or of a callee, whose address the launch determines. Variables that the
  /// kernel may name come first.
  struct SharedArray {
    std::string name;
    std::uint64_t bytes = 0;
    bool is_dynamic = false;  ///< the launch determines its size
    /// The function that declares it, by position in unit.reached.functions; nullopt: the module.
    std::optional<std::uint32_t> function = {};
  };
  ptx::ReplayProgram program;
  std::vector<Use> uses;
  /// By specification: true if none of its handlers has code in the kernel, so that its arrays of words need
  /// no device memory: all their counts follow from replay.
  std::vector<bool> is_replayed;
  /// A variable of the module in device memory.
  struct DeviceVariable {
    std::string name;
    std::uint64_t address = 0;
    std::uint64_t bytes = 0;
  };
  std::vector<DeviceVariable> device_variables;
  std::vector<SharedArray> shared_arrays;
  /// An upper bound for the addresses of static shared variables. Devices reserve a part of a block's shared
  /// memory below them.
  std::uint64_t static_shared_bytes = 0;
  /// The number of accesses of each kind that the static analysis found; each access is of exactly one kind
  /// (cod::WordScheme::Analysis::invariants).
  struct Kinds {
    std::uint32_t fully_static = 0, by_one_thread = 0, after_loops = 0, both = 0, each_time = 0;
  };
  std::vector<Kinds> kinds;  ///< per specification
  /// By position in unit.spliced.probes: accesses that are counted without the probe.
  std::vector<std::uint64_t> predicted;
};

/// Returns the position of a word in Specification::words().
std::uint32_t position_of_word(const cod::Specification& specification, const cod::Word& word);

/// Returns null if no specification counts words or uses the addresses of arrays. Removes accesses that need
/// no probe from unit.spliced.probes and sets the requests of unit.words; addresses are requested in the
/// order of shared_arrays. Requires that the probes are those of the request's handlers, in order, and that
/// variables' addresses are known.
std::shared_ptr<WordCounting> plan_word_counts(const Request& request, ptx::InstrumentationUnit& unit);

/// True if probes may overflow a 32-bit count of the specification, which is number `index` of the request's,
/// in a launch that runs long enough.
bool words_may_wrap(const WordCounting& counting, const cod::Specification& specification, std::size_t index);

/// Memory whose words have contiguous elements.
struct CountedRange {
  std::uint64_t address = 0;
  std::uint64_t bytes = 0;
  std::uint64_t element = 0;
};

/// The launch's configuration and the addresses that it determined.
struct LaunchedWords {
  std::uint32_t grid[3] = {1, 1, 1};
  std::uint32_t block[3] = {1, 1, 1};
  std::span<const std::byte> parameters;            ///< as in the kernel's parameter buffer
  std::span<const std::uint64_t> shared_addresses;  ///< of WordCounting::shared_arrays
  std::vector<CountedRange> shared, device;         ///< ascending by address
};

/// Runs per specification, and by position in Specification::arrays().
using RunsOfArrays = std::vector<std::map<std::uint32_t, std::vector<cod::ElementRun>>>;

/// Result of fill_counted_words().
struct ReplayedCounts {
  Status status;                       ///< a failure: some counts are missing
  std::vector<std::uint64_t> outside;  ///< per specification, accesses outside all ranges
  RunsOfArrays runs;                   ///< of empty arrays, ascending and disjoint
  /// The runs that were added to other arrays; nullopt if they are very many.
  std::optional<RunsOfArrays> added;
};

/// Fails if replay cannot follow such a launch in about 50 ms. Addresses of shared variables are unknown
/// before a launch and taken as 0: they do not change how much there is to do.
Status check_replay(const WordCounting& counting, const LaunchedWords& launch);

/// Adds the counts of accesses without a probe to arrays[specification][array], or returns them as runs if
/// the array is empty. 32-bit counts saturate.
ReplayedCounts fill_counted_words(
    const WordCounting& counting, const LaunchedWords& launch,
    const std::vector<std::shared_ptr<const cod::Specification>>& specifications,
    std::span<const std::vector<std::span<std::byte>>> arrays);

/// Adds runs to arrays[specification][array], as fill_counted_words() does.
void add_runs(const RunsOfArrays& runs,
              const std::vector<std::shared_ptr<const cod::Specification>>& specifications,
              std::span<const std::vector<std::span<std::byte>>> arrays);

/// Finishes complete word counts: multiplies sampled counts, and limits counts to the threshold.
void finish_counted_words(const cod::WordScheme& scheme,
                          const std::vector<std::shared_ptr<const cod::Specification>>& specifications,
                          std::span<const std::vector<std::span<std::byte>>> arrays);

}  // namespace lynxpp::engine
