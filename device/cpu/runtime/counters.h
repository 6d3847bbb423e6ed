// The executor's exact counters as JSON Lines, one object per launch: the reference for instrumented results.
// Members: the launch's totals, `opcodes` (thread executions by full opcode), `blocks`, and `sites`, the
// instructions reached by a warp, in order of function and position, without members that are zero.
// executor.h defines their meaning. `launch` numbers all launches of the kernel by the program and its
// graphs. Instrumented variants have a member `instrumented`, true. `device` is omitted for the first device.
//
// LYNXPP_CPU_WORDS=1 adds `words`, the number of accesses to each 4-byte memory word: one object per accessed
// part of memory, with `space` (shared or global); for an array of the program, `allocation` (its number) or
// `variable` (its name), `address` and `bytes`; and `runs`, [word, words, accesses of each] in ascending
// order. Words are numbered from the array's address, and from address 0 in shared memory and outside of
// arrays.
//
// LYNXPP_CPU_CLOCK adds `modelled`, the launch's time on that machine and the activity of its memories;
// models/clock/kernel_time.h defines the members.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "device/cpu/simt/execute/executor.h"
#include "models/clock/kernel_time.h"

namespace lynxpp::device::cpu {

/// Returns the file that LYNXPP_CPU_COUNTERS names; nullopt if no counters are requested.
std::optional<std::string> counters_path();
/// Overrides the environment. Precondition: no launch is in progress.
void set_counters_path(std::optional<std::string> path);

/// True if LYNXPP_CPU_WORDS requests the accesses to each memory word.
bool counts_words();

/// An array of the program that kernels can access.
struct CountedArray {
  std::uint64_t address = 0, bytes = 0;
  std::optional<std::uint64_t> allocation;  ///< its number; nullopt for a variable
  std::string variable;
};

/// Returns the program's current allocations and the module's variables, in ascending order of address
/// without overlap.
std::vector<CountedArray> reachable_arrays(LoadedModule& module);

/// A launch whose counters are written.
struct CountedLaunch {
  std::string kernel;
  std::uint64_t number = 0;  ///< among the kernel's launches, from 0
  /// True for an instrumented variant: the line says so, and the counters include the added code.
  bool is_instrumented = false;
  LaunchShape shape;
  int device = 0;
  std::vector<CountedArray> arrays = {};  ///< before the launch, if words are counted
};

/// Appends one line. `time` becomes its member `modelled`. A file that cannot be written is logged. Thread
/// safe.
void write_counters(const std::string& path, const CountedLaunch& launch, const LaunchCounters& counters,
                    const std::optional<models::clock::KernelTime>& time);

}  // namespace lynxpp::device::cpu
