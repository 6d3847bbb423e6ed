// The executor's own exact counters as JSON Lines, one object per launch: the oracle instrumented results are
// compared with. Members: the launch's totals, `opcodes` (thread executions by whole opcode), `blocks`, and
// `sites`, the instructions that a warp reached, in order of function and place, without the members that are
// zero. Their meaning: executor.h. `launch` is the number among all launches of the kernel by the program,
// by its graphs each time they are launched;
// those of instrumented variants have a member `instrumented`, true. `device` is there for others than the
// first.
//
// With LYNXPP_CPU_WORDS=1 also `words`, how often each 4-byte word was accessed: an object for each part of
// memory that was, with `space` (shared or global), `allocation` (its number) or `variable` (a name) where it
// is one of the program's arrays, `address` and `bytes` of that, and `runs`, [word, words, accesses of each]
// in ascending order. Words are numbered from the array's address, in shared memory and outside of all arrays
// from address 0.
//
// With LYNXPP_CPU_CLOCK also `modelled`, the launch's time on that machine and what its memories did: models/
// clock/kernel_time.h says what the members are.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "device/cpu/simt/execute/executor.h"
#include "models/clock/kernel_time.h"

namespace lynxpp::device::cpu {

/// The file LYNXPP_CPU_COUNTERS names; nullopt when counters are not wanted.
std::optional<std::string> counters_path();
/// In the place of what the environment says. Precondition: nobody launches.
void set_counters_path(std::optional<std::string> path);

/// Whether LYNXPP_CPU_WORDS wants accesses of each word, too.
bool counts_words();

/// An array of the program that kernels can reach.
struct CountedArray {
  std::uint64_t address = 0, bytes = 0;
  std::optional<std::uint64_t> allocation;  ///< its number; nullopt: a variable
  std::string variable;
};

/// What the program has allocated now, and the module's variables; ascending by address, none overlap.
std::vector<CountedArray> reachable_arrays(LoadedModule& module);

/// Of which counters are written.
struct CountedLaunch {
  std::string kernel;
  std::uint64_t number = 0;  ///< of the kernel's launches, from 0
  /// An instrumented variant's: the line says so, and counts what was added, too.
  bool is_instrumented = false;
  LaunchShape shape;
  int device = 0;
  std::vector<CountedArray> arrays = {};  ///< before the launch; where words are counted
};

/// Appends one line. `time`, where the launch has a modelled one, is its member `modelled`. A file that
/// cannot be written is logged. Thread safe.
void write_counters(const std::string& path, const CountedLaunch& launch, const LaunchCounters& counters,
                    const std::optional<models::clock::KernelTime>& time);

}  // namespace lynxpp::device::cpu
