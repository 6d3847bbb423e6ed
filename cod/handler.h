// A handler of a specification: where it runs, what it measures and what its code needs.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cod/instruction_filter.h"
#include "cod/site_value.h"
#include "ptx/ir/probe_point.h"
#include "support/diagnostic.h"
#include "support/name_pattern.h"

namespace lynxpp::cod {

/// loop_iteration: at the start of the loop header, including the first iteration. instruction: before the
/// instruction. instruction_after: after it, for the lanes that executed it.
using TargetKind = ptx::ProbePoint;
std::string_view name_of(TargetKind target);  ///< the target's label, "ON_KERNEL_ENTRY"
/// nullopt for "ON_REPORT".
std::optional<TargetKind> find_target(std::string_view label);
constexpr bool is_instruction(TargetKind target) { return target >= TargetKind::instruction; }
constexpr bool is_at_loop(TargetKind target) {
  return target >= TargetKind::loop_entry && target <= TargetKind::loop_exit;
}

/// Measures every n-th launch, thread block and warp: those whose index is divisible by n. Counts are never
/// scaled up.
struct Sampling {
  std::uint32_t launches = 1;
  std::uint32_t blocks = 1;
  std::uint32_t warps = 1;
  bool operator==(const Sampling&) const = default;
};
/// "1 of 4 launches, 1 of 16 thread blocks"; empty if everything is measured.
std::string describe(const Sampling& sampling);
struct HandlerSampling {
  std::uint32_t line = 0;  ///< of the handler's label
  Sampling sampling;
};
/// The sparsest sampling of each kind.
Sampling rarest(const std::vector<HandlerSampling>& handlers);
/// True if all handlers measure the same thread blocks and warps.
bool are_sampled_equally(const std::vector<HandlerSampling>& handlers);
/// If all handlers sample equally: as above. Otherwise "1 of 4 launches; handler of line 3: 1 of 16 thread
/// blocks; handler of line 7: all".
std::string describe(const std::vector<HandlerSampling>& handlers);

struct Handler {
  /// The only kind of work that a handler's code does.
  enum class Measures : std::uint8_t {
    anything,
    /// Adds to tallies values that depend only on the active lanes, the size and kind of the access, and the
    /// differences between the lanes' addresses, for accesses of at least 4 bytes.
    banks,
    sectors  ///< adds one to tallies if firstInSector() is 1
  };
  TargetKind target = TargetKind::kernel_entry;
  InstructionFilter filter;            ///< of instruction targets; for loops the source lines
  bool is_initializer = false;         ///< initialises state variables; runs before all other entry handlers
  SourceLocation location;             ///< of the target label
  std::vector<SiteValue> site_values;  ///< those that its code reads
  bool uses_state = false;
  bool needs_convergence = false;  ///< uses warp votes, shuffles or syncWarp
  /// Has shorter code if differences between the lanes' addresses are known: DeviceTarget::lane_values.
  bool can_use_lane_values = false;
  /// A kernel-exit handler with syncThreads(): only for kernels in which all threads of a block exit
  /// together.
  bool syncs_at_exit = false;
  Measures measures = Measures::anything;
  /// Indices in Specification::arrays(). If not empty, the handler only calls countWords() on these arrays,
  /// and nothing is spliced where the engine computes the addresses itself.
  std::vector<std::uint32_t> counted_words;
  /// True if all its code is counters: nothing is spliced unless they are lowered as well
  /// (DeviceTarget::plain_counters).
  bool is_counted = false;
  /// Regular expressions; one must match the kernel's name, mangled or demangled. Empty: all kernels.
  std::vector<NamePattern> kernels;

  bool wants_kernel(const std::string& mangled_name) const;
};

}  // namespace lynxpp::cod
