// Errors that a checked launch (docs/checking.md) reports.
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace lynxpp::device::cpu {

struct CheckSelection {
  bool memory = false;  ///< accesses to unallocated memory, misaligned, or of the wrong space
  bool race = false;    ///< conflicting accesses that nothing orders
  bool init = false;    ///< reads of global and shared memory that nothing has written
  bool sync = false;    ///< barriers that not all threads reach together, wrong member masks

  bool any() const { return memory || race || init || sync; }
};

enum class FindingKind : std::uint8_t {
  out_of_bounds,
  use_after_free,
  misaligned,
  wrong_space,
  invalid_tensor,
  race,
  unfinished_operation,  ///< an access to memory that an asynchronous operation may still read or write
  missing_proxy_fence,   ///< an asynchronous operation on memory that the generic proxy has accessed
  uninitialized_read,
  divergent_barrier,
  endless_barrier,
  skipped_barrier,
  wrong_members,
  copies_in_flight,     ///< the block exits before its asynchronous operations are complete
  byte_count_mismatch,  ///< an mbarrier object expects other bytes than copies deliver
  barrier_in_use,       ///< an mbarrier object is initialized or invalidated during a phase
  invalid_barrier,      ///< an operation on an mbarrier object that does not exist
  unreleased_memory,    ///< the block exits before it has deallocated its tensor memory
  failing_order,        ///< the launch fails, for another reason, only in some orders
};
/// Returns "out of bounds", "use after free", …
std::string_view name_of(FindingKind kind);
/// Returns the check that reports this kind: "memory", "race", "init" or "sync".
std::string_view check_of(FindingKind kind);

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
  std::string detail;         ///< such as the distance to the nearest allocation; may be empty
  bool is_in_shared = false;  ///< uninitialized read: of shared memory
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
