// Counts of accesses for each word of memory (cod::Handler::counted_words): which of them need no probe,
// because replay (ptx/replay/replay.h) finds their addresses, and how they get into a launch's arrays.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "cod/specification.h"
#include "ptx/passes/counting/refinements.h"
#include "ptx/passes/unit.h"
#include "ptx/replay/replay.h"
#include "support/result.h"

namespace lynxpp::engine {

struct Request;

struct WordCounting {
  cod::WordScheme scheme;
  bool saturates = false;                  ///< counts of 32 bits saturate (CountingChoices::wide)
  std::uint32_t block_counters = 0;        ///< arrays that have counters in shared memory
  std::uint32_t counter_window_bytes = 0;  ///< how much shared memory has counters there; 0: all
  /// An access without a probe, and an array that counts its words.
  struct Use {
    std::uint32_t function = 0;     ///< position in unit.reached.functions
    std::uint32_t instruction = 0;  ///< index in its body
    std::uint32_t side = 0;
    std::uint32_t specification = 0;
    std::uint32_t array = 0;  ///< in Specification::arrays()
    bool is_shared = false;   ///< which of shared memory; accesses of device memory are none of it
  };
  /// A shared variable of the kernel, or of a function that it calls; its address is determined by the
  /// launch. Those that the kernel may name come first.
  struct SharedArray {
    std::string name;
    std::uint64_t bytes = 0;
    bool is_dynamic = false;  ///< as long as the launch says
    /// Whose own it is, by position in unit.reached.functions; nothing: the module's.
    std::optional<std::uint32_t> function = {};
  };
  ptx::ReplayProgram program;
  std::vector<Use> uses;
  /// A variable of the module in device memory.
  struct DeviceVariable {
    std::string name;
    std::uint64_t address = 0;
    std::uint64_t bytes = 0;
  };
  std::vector<DeviceVariable> device_variables;
  std::vector<SharedArray> shared_arrays;
  /// No address of a static shared variable is as high as this. Devices keep a part of a block's shared
  /// memory, below.
  std::uint64_t static_shared_bytes = 0;
  /// How many accesses the static analysis found of each kind; each is in one of them
  /// (cod::WordScheme::Analysis::invariants).
  struct Kinds {
    std::uint32_t fully_static = 0, by_one_thread = 0, behind_loops = 0, both = 0, each_time = 0;
  };
  std::vector<Kinds> kinds;  ///< of each specification
  /// An array whose words are counted in runs, too (engine/word_runs.h).
  struct RunArray {
    std::uint32_t specification = 0;
    std::uint32_t array = 0;
    bool operator==(const RunArray&) const = default;
  };
  /// A run that each thread records at its place.
  struct LoopRun {
    RunArray of;
    ptx::WordRun run;
  };
  struct Runs {
    std::vector<RunArray> arrays;
    std::vector<LoopRun> loops;
    std::uint32_t loop_record_bytes = 0;  ///< of each thread; 0: there are none
  };
  Runs runs;
  /// By position in unit.spliced.probes: accesses that are counted without the probe.
  std::vector<std::uint64_t> predicted;
};

/// Where a word stands in Specification::words().
std::uint32_t position_of_word(const cod::Specification& specification, const cod::Word& word);

/// Null: no specification counts words or asks where arrays are. Takes the accesses that need no probe out of
/// unit.spliced.probes, and asks for addresses in unit.words.shared.variables, in the order of shared_arrays.
/// Precondition: these are those of the request's handlers, in order; variables' addresses are known.
std::shared_ptr<WordCounting> plan_word_counts(const Request& request, ptx::InstrumentationUnit& unit);

/// Memory whose words have elements that follow one another.
struct CountedRange {
  std::uint64_t address = 0;
  std::uint64_t bytes = 0;
  std::uint64_t element = 0;
};

/// What a launch was and has determined.
struct LaunchedWords {
  std::uint32_t grid[3] = {1, 1, 1};
  std::uint32_t block[3] = {1, 1, 1};
  std::span<const std::byte> parameters;            ///< as in the kernel's parameter buffer
  std::span<const std::uint64_t> shared_addresses;  ///< of WordCounting::shared_arrays
  std::vector<CountedRange> shared, device;         ///< ascending by address
};

/// Adds what the accesses without a probe did to arrays[specification][array]. Counts of 32 bits saturate.
/// Returns for each specification how many accesses lay outside of all ranges. Failure: some counts are
/// missing.
Result<std::vector<std::uint64_t>> fill_counted_words(
    const WordCounting& counting, const LaunchedWords& launch,
    const std::vector<std::shared_ptr<const cod::Specification>>& specifications,
    std::span<const std::vector<std::span<std::byte>>> arrays);

/// What is to be done to all counts of words when they are complete: a sampled access stands for several, and
/// counts stop at the threshold.
void finish_counted_words(const cod::WordScheme& scheme,
                          const std::vector<std::shared_ptr<const cod::Specification>>& specifications,
                          std::span<const std::vector<std::span<std::byte>>> arrays);

}  // namespace lynxpp::engine
