// Errors that a checked launch (docs/checking.md) reports.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "support/finding_kind.h"

namespace lynxpp::device::cpu {

struct CheckSelection {
  bool memory = false;  ///< accesses to unallocated memory, misaligned, or of the wrong space
  bool race = false;    ///< conflicting accesses that nothing orders
  bool init = false;    ///< reads of global and shared memory that nothing has written
  bool sync = false;    ///< barriers that not all threads reach together, wrong member masks

  bool any() const { return memory || race || init || sync; }
};

/// A function in which an access or operation is executed, and where: the position of the instruction, or of
/// the call of the next inner function.
struct StackFrame {
  std::string function;     ///< mangled; empty if the compiler does not name an inlined function
  std::string source_file;  ///< empty without line information
  std::uint32_t source_line = 0;
  std::uint32_t line = 0;  ///< PTX line; 0 for a call that the compiler inlined
};

/// The calls from a kernel to a program point, innermost first.
struct DeviceStack {
  std::vector<StackFrame>
      frames;                 ///< the last one is the kernel's, unless calls before the point are unknown
  std::uint32_t omitted = 0;  ///< frames left out before the last one
};

/// One access of one thread, or the location where a thread synchronizes.
struct FindingPlace {
  std::string action;    ///< "a store of 4 bytes to shared array 'tile' + 128"
  std::string function;  ///< mangled; the kernel or a device function
  std::string opcode;
  std::uint32_t line = 0;   ///< PTX line
  std::string source_file;  ///< empty without line information
  std::uint32_t source_line = 0;
  bool has_thread = true;  ///< true if the finding concerns one thread
  std::uint32_t block[3] = {};
  std::uint32_t thread[3] = {};
  DeviceStack stack = {};  ///< empty if nothing is known beyond `function`
};

/// The explored orders in which a finding appears.
struct FoundOrders {
  std::vector<std::uint32_t> seeds = {};  ///< ascending
  std::uint32_t judged = 1;               ///< orders in which the launch was run
  /// What the order of the first seed does differently from order 1, reduced; empty if nothing is known.
  std::vector<std::string> deviations = {};
};

/// All findings of one kind at one location; the first one is described.
struct Finding {
  FindingKind kind = FindingKind::out_of_bounds;
  FindingPlace place;
  /// The first access of a race, the location where a warp continued without a skipped barrier, or the last
  /// operation on a barrier in use.
  std::optional<FindingPlace> other;
  std::string detail;  ///< such as the distance to the nearest allocation; may be empty
  /// The value is undefined, but results may not depend on it: an uninitialized read of shared memory, or a
  /// shuffle from an inactive lane.
  bool may_be_unused = false;
  /// Missing proxy fence: a library issues the copy, so that all copies of a kernel are one finding.
  bool is_by_library = false;
  std::uint64_t count = 0;  ///< accesses (one for a warp's load from a single address), or warps
  FoundOrders orders = {};
};

/// Requests checks of a launch and collects the findings.
struct LaunchChecks {
  CheckSelection selection;
  /// Seeds of the orders to judge (schedule.h); order 1 is the one that the program sees.
  std::vector<std::uint32_t> seeds = {1};
  std::vector<Finding> findings = {};
  std::string unexplored = {};  ///< reason why orders were not judged, or not to their end; empty: all were
};

}  // namespace lynxpp::device::cpu
