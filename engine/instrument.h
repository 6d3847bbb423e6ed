// The complete instrumentation as one function: from PTX text, a kernel's name and specifications to an
// instrumented module that contains the kernel and everything it can reach, ready for the driver's JIT.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cod/specification.h"
#include "device/device.h"
#include "engine/counters.h"
#include "engine/limits.h"
#include "engine/register_estimate.h"
#include "engine/word_counts.h"
#include "ptx/analysis/launch_shape.h"
#include "ptx/passes/pass.h"
#include "support/result.h"

namespace lynxpp::engine {

using ptx::LaunchShape;
using ptx::shape_of;

using SpecificationPtr = std::shared_ptr<const cod::Specification>;

#ifdef NDEBUG
inline constexpr bool verifies_by_default = false;
#else
inline constexpr bool verifies_by_default = true;
#endif

/// The part of shared memory that is counted in the block's own shared memory; the rest is counted in device
/// memory.
enum class CounterWindow : std::uint8_t {
  none,            ///< no window: all of it
  of_arrays,       ///< arrays named by accesses with a probe
  of_fixed_arrays  ///< the same, restricted to arrays whose size is fixed in the kernel's code
};

/// How executions are counted.
struct CountingChoices {
  bool plain = false;  ///< a counter at every program point instead of on few edges (for tests)
  /// 64-bit counter registers, for launches in which a counter may reach 2^32; also makes no assumption about
  /// array indices.
  bool wide = false;
  /// Hoist what lanes can compute about their addresses once (ptx/passes/memory/lane_values.h).
  bool lane_values = true;
};

/// How memory words are counted.
struct WordChoices {
  cod::WordScheme scheme;
  /// True if scheme.shared_bits applies only where an access keeps its probe, and no note is needed where it
  /// is not possible (cod::WordScheme::spare_counters).
  bool is_spare = false;
  /// The part of shared memory with such counters, if there is no room for all.
  CounterWindow window = CounterWindow::none;
  std::uint32_t dynamic_shared_bytes = 0;  ///< of the launch, if there is a window
};

/// Diagnostics of the instrumentation that the caller requests.
struct Inspection {
  /// Verify the text after each pass (engine/verify.h). Slow; on by default in debug builds only.
  bool verify = verifies_by_default;
  ptx::PassObserver observer;    ///< called with the unit between passes
  bool wants_registers = false;  ///< fill in KernelSize::registers, which parses the variant again
};

struct Request {
  const std::string* ptx = nullptr;  ///< the module's text
  std::string kernel;                ///< mangled name of the entry
  std::vector<SpecificationPtr> specifications;
  /// The compute capability × 10 of the device; 0: keep the module's own target.
  int device_sm = 0;
  /// Returns the address of a variable of the original module, which the variant shares; nullopt if the
  /// device does not know the name. Null function: the variant declares its own copies (offline use).
  std::function<std::optional<std::uint64_t>(const std::string&)> variable_address;
  /// True if the compiler of the variant contracts products and sums without a rounding modifier, as ptxas
  /// does (ptx/analysis/flow/contraction.h).
  bool assembler_contracts = true;
  LaunchShape launch;  ///< of all launches that the variant is for; unknown by default
  CountingChoices counting;
  WordChoices words;
  bool streams_traces = false;  ///< cod::DeviceTarget::streams_traces
  Limits limits = limits_of_environment();
  Inspection inspection;
};

/// The meaning of a parameter slot.
struct ProbeWord {
  enum class Kind : std::uint8_t {
    specification,     ///< `word` of a specification
    counters,          ///< address of Counting::plan->slots() zeroed counters, for all specifications
    shared_addresses,  ///< address of one value per element of WordCounting::shared_arrays
    runs,              ///< address of the runs of an array's words (WordCounting::RunArray)
    most_runs,         ///< capacity of these runs
    loop_records,      ///< address of the loop records, Runs::loop_record_bytes per thread of the grid
  };
  Kind kind = Kind::specification;
  std::uint32_t specification = 0;  ///< index in Request::specifications
  cod::Word word;                   ///< for runs and most_runs, only the index of the array
};

/// The size of the kernel and the functions instrumented with it.
struct KernelSize {
  std::uint64_t basic_blocks = 0;
  std::uint64_t instructions = 0;
  std::uint64_t added_instructions = 0;       ///< an estimate, see limits.h
  std::optional<RegisterEstimate> registers;  ///< of the kernel alone, if requested by Inspection
};

/// The time to build a variant; `instrument_ms` includes all passes.
struct TimeSpent {
  double parse_ms = 0, instrument_ms = 0, emit_ms = 0;
  std::vector<ptx::PassTiming> passes;
};

struct Instrumented {
  std::string ptx;
  std::string kernel;
  std::vector<device::ParameterSlot> parameters;  ///< of the original kernel
  std::vector<ProbeWord> probe;                   ///< slots of the hidden parameter, in order
  KernelSize size;
  std::shared_ptr<const cod::SiteTable> sites;  ///< of the blocks and instructions
  /// Flattened: specifications in order, with their handlers in order.
  std::vector<std::uint64_t> sites_per_handler;
  device::VariantTraits traits;
  std::shared_ptr<const Counting> counting;   ///< null: no counting on the host
  std::shared_ptr<const WordCounting> words;  ///< null: no memory words are counted
  std::vector<std::string> notes;             ///< what could not be covered, for the coverage record
  TimeSpent spent;
};

/// Returns the specifications whose block and instruction handlers have no site in the kernel. They measure
/// nothing there, although other specifications, or their own entry and exit handlers, may.
std::vector<std::string> idle_specifications(const Request& request, const Instrumented& instrumented);

/// Fails if the kernel is not in the module, the PTX is malformed, a variable cannot be shared, a handler
/// cannot be compiled, the `shared` arrays of all specifications together are too large, or the variant would
/// exceed `limits`. The caller then runs the original kernel and reports the reason.
Result<Instrumented> instrument(const Request& request);

}  // namespace lynxpp::engine
