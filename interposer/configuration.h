// The configuration that the environment requests.
#pragma once

#include <chrono>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>

#include "cod/word_scheme.h"
#include "device/device.h"
#include "interposer/trials/choices.h"
#include "support/diagnostic.h"
#include "support/launch_filter.h"
#include "support/name_pattern.h"
#include "support/start_condition.h"

namespace lynxpp::interposer {

/// LYNXPP_TIMING. `lynxpp bench` compares the last two: the time of each kernel, without results.
enum class Timing {
  off,
  stages,     ///< any other value: results, plus the stages of an instrumentation and kernel times
  originals,  ///< "original": original kernels run, none is instrumented
  variants,   ///< "variant": instrumented kernels run and their results are discarded
  trials,     ///< LYNXPP_TRIALS: each launch is timed, and runs the original or a perturbed variant
};

/// The width of the counters in a kernel's launches (LYNXPP_WIDE_COUNTERS).
enum class CounterWidth {
  by_time,  ///< 64 bits after a launch that may have overflowed 32; identical runs may differ
  narrow,   ///< always 32 bits; a launch that may have overflowed still gets its note
  wide,     ///< 64 bits from the first launch on
};

/// How launches proceed while their variant is not ready (LYNXPP_FIRST_LAUNCH).
enum class FirstLaunch {
  waits,   ///< waits for its own variant; threads compile those of the module's other kernels meanwhile
  native,  ///< runs the original kernel while a thread compiles the variant
  alone,   ///< compiles its variant itself; nothing is compiled ahead
};

struct Configuration {
  /// LYNXPP_KERNELS: searched for in the mangled and the demangled name.
  std::optional<NamePattern> kernels;
  std::string kernels_text() const { return kernels ? kernels->text() : ""; }
  LaunchFilter launches;  ///< LYNXPP_LAUNCHES
  std::string launches_text;
  StartCondition start;      ///< LYNXPP_START
  std::string output;        ///< LYNXPP_OUTPUT: path of the JSON Lines; empty: none
  bool prints_table = true;  ///< LYNXPP_TABLE: false if it is 0
  bool ptx = true;           ///< LYNXPP_PTX: false if it is 0; site tables hold the kernel's PTX
  std::string dump;          ///< LYNXPP_DUMP: folder for PTX; empty: none
  std::string trace;         ///< this process's trace file in the folder LYNXPP_TRACE; empty: none
  Timing timing = Timing::off;
  std::optional<TrialChoices> trials;  ///< with Timing::trials
  bool timeline = false;               ///< LYNXPP_TIMELINE: records describe the device and all activities
  cod::WordScheme words;               ///< LYNXPP_WORDS
  CounterWidth counters = CounterWidth::by_time;
  /// LYNXPP_LAUNCH_RECORDS: number of launches of a kernel with one grid and block that have a record each;
  /// later ones share records. The maximum value ("all") gives every launch a record.
  std::uint64_t own_records = 64;
  FirstLaunch first_launch = FirstLaunch::waits;
  device::MemoryBudget memory;  ///< LYNXPP_MEMORY_BUDGET
  /// LYNXPP_COMPILE_BUDGET: once variants have taken this long to make, kernels get one from their third
  /// launch on. nullopt: from the first launch on.
  std::optional<std::chrono::duration<double>> compile_budget;
  /// How long to wait for a next result when memory is exhausted and at the end of the program.
  std::chrono::milliseconds patience{10'000};

  /// True if only coverage and times are requested.
  bool times_only() const {
    return timing == Timing::originals || timing == Timing::variants || timing == Timing::trials;
  }
  /// True if launches may share records: nothing requests something of single launches.
  bool may_share() const {
    return timing == Timing::off && !timeline && trace.empty() && launches_text.empty() &&
           own_records != std::numeric_limits<std::uint64_t>::max();
  }
  /// Returns whether kernels are timed, and whether the device waits for each (only to compare times).
  device::KernelTimes kernel_times() const {
    if (timing == Timing::off) return device::KernelTimes::off;
    return times_only() ? device::KernelTimes::alone : device::KernelTimes::running;
  }
};

/// Reads the environment. An invalid filter is reported in `problems`; nothing is instrumented then.
Configuration read_configuration(Diagnostics& problems);

}  // namespace lynxpp::interposer
