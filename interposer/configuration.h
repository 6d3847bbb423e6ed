// What the environment asks for.
#pragma once

#include <chrono>
#include <optional>
#include <string>

#include "cod/word_scheme.h"
#include "device/device.h"
#include "support/diagnostic.h"
#include "support/launch_filter.h"
#include "support/name_pattern.h"
#include "support/start_condition.h"

namespace lynxpp::interposer {

/// LYNXPP_TIMING. The last two are what `lynxpp bench` compares: the time of each kernel, and no results.
enum class Timing {
  off,
  stages,     ///< any other value: the stages of an instrumentation and the kernels' time, beside the results
  originals,  ///< "original": the program's own kernels run, none is instrumented
  variants,   ///< "variant": instrumented kernels run, their results are dropped
};

/// Of the counters in a kernel's launches (LYNXPP_WIDE_COUNTERS).
enum class CounterWidth {
  by_time,  ///< 64 bits behind a launch in which 32 may have wrapped: chance decides between equal runs
  narrow,   ///< 32 bits always; a launch in which they may have wrapped gets its note all the same
  wide,     ///< 64 bits from the first launch on
};

struct Configuration {
  /// LYNXPP_KERNELS: matched against the mangled and the demangled name (search)
  std::optional<NamePattern> kernels;
  std::string kernels_text() const { return kernels ? kernels->text() : ""; }
  LaunchFilter launches;  ///< LYNXPP_LAUNCHES
  std::string launches_text;
  StartCondition start;      ///< LYNXPP_START
  std::string output;        ///< LYNXPP_OUTPUT: path of the JSON Lines, or empty
  bool prints_table = true;  ///< LYNXPP_TABLE: not when it is 0
  bool ptx = true;           ///< LYNXPP_PTX: tables of sites hold the kernel's PTX; not when it is 0
  std::string dump;          ///< LYNXPP_DUMP: folder for PTX, or empty
  std::string trace;         ///< in the folder LYNXPP_TRACE, this process's file for traces; or empty
  Timing timing = Timing::off;
  bool timeline = false;  ///< LYNXPP_TIMELINE: records of the device and of all activities
  cod::WordScheme words;  ///< LYNXPP_WORDS
  CounterWidth counters = CounterWidth::by_time;
  device::MemoryBudget memory;  ///< LYNXPP_MEMORY_BUDGET
  /// With results that do not come, where there is no room for more and at the end of the program.
  std::chrono::milliseconds patience{10'000};

  /// Only coverage and times are asked for.
  bool times_only() const { return timing == Timing::originals || timing == Timing::variants; }
  /// Only what compares times makes the device wait for them.
  device::KernelTimes kernel_times() const {
    if (timing == Timing::off) return device::KernelTimes::off;
    return times_only() ? device::KernelTimes::alone : device::KernelTimes::running;
  }
};

/// Reads the environment. A filter that cannot be understood is reported in `problems`; then nothing is to be
/// instrumented, since nobody knows what was meant.
Configuration read_configuration(Diagnostics& problems);

}  // namespace lynxpp::interposer
