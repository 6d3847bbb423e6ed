// The product as one function: PTX text, a kernel's name and specifications ▶ an instrumented module that
// holds the kernel and what it can reach, ready for the driver's JIT.
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

/// A stretch of shared memory that has counters in the block's own; all else is counted in device memory.
enum class CounterWindow : std::uint8_t {
  none,            ///< all of it has
  of_arrays,       ///< arrays that accesses with a probe name
  of_fixed_arrays  ///< … whose size the kernel's code says
};

/// How executions are counted.
struct CountingChoices {
  bool plain = false;  ///< at every place instead of on few edges (tests)
  /// Counters in registers have 64 bits: for launches in which one may be incremented 2^32 times; nor is
  /// anything assumed about array indices.
  bool wide = false;
  /// Hoist what lanes can compute about their addresses once (ptx/passes/memory/lane_values.h).
  bool lane_values = true;
};

/// How words of memory are counted.
struct WordChoices {
  cod::WordScheme scheme;
  /// scheme.shared_bits is wanted only where an access keeps its probe, and needs no note where it cannot be
  /// (cod::WordScheme::spare_counters).
  bool is_spare = false;
  /// Which part of shared memory has such counters, where there is no room for all.
  CounterWindow window = CounterWindow::none;
  std::uint32_t dynamic_shared_bytes = 0;  ///< of the launch, where there is a window
};

/// What the caller wants to see of the work.
struct Inspection {
  /// Check the text after every pass (engine/verify.h): slow, and on by default in debug builds only.
  bool verify = verifies_by_default;
  ptx::PassObserver observer;    ///< sees the unit between passes
  bool wants_registers = false;  ///< fill in KernelSize::registers, which reads the variant again
};

struct Request {
  const std::string* ptx = nullptr;  ///< the module's text
  std::string kernel;                ///< mangled name of the entry
  std::vector<SpecificationPtr> specifications;
  /// compute capability × 10 the result will run on; 0: stay with the module's own target
  int device_sm = 0;
  /// Address of the original module's variable, for all code to share; nullopt when the device has no such
  /// name. Null function: the variant declares its own copies (offline use).
  std::function<std::optional<std::uint64_t>(const std::string&)> variable_address;
  /// What compiles the variant fuses products and sums that name no rounding, as ptxas does
  /// (ptx/analysis/flow/contraction.h).
  bool assembler_contracts = true;
  LaunchShape launch;  ///< of all launches the variant is for; nothing is known by default
  CountingChoices counting;
  WordChoices words;
  bool streams_traces = false;  ///< cod::DeviceTarget::streams_traces
  Limits limits = limits_of_environment();
  Inspection inspection;
};

/// A word of the hidden parameter: what it stands for.
struct ProbeWord {
  enum class Kind : std::uint8_t {
    specification,     ///< what `word` of a specification says
    counters,          ///< the address of Counting::plan->slots() zeroed numbers, for all specifications
    shared_addresses,  ///< the address of one number for each of WordCounting::shared_arrays
    runs,              ///< the address of the runs of an array's words (WordCounting::RunArray)
    most_runs,         ///< for how many of them there is room
    loop_records,      ///< the address of WordCounting::Runs::loop_record_bytes for each thread of the grid
  };
  Kind kind = Kind::specification;
  std::uint32_t specification = 0;  ///< index in Request::specifications
  cod::Word word;                   ///< of runs and most_runs only its index, that of the array
};

/// Of the kernel and the functions instrumented with it.
struct KernelSize {
  std::uint64_t basic_blocks = 0;
  std::uint64_t instructions = 0;
  std::uint64_t added_instructions = 0;       ///< an estimate, see limits.h
  std::optional<RegisterEstimate> registers;  ///< of the kernel alone, where Inspection wants it
};

/// Making a variant; all passes together are part of `instrument_ms`.
struct TimeSpent {
  double parse_ms = 0, instrument_ms = 0, emit_ms = 0;
  std::vector<ptx::PassTiming> passes;
};

struct Instrumented {
  std::string ptx;
  std::string kernel;
  std::vector<device::ParameterSlot> parameters;  ///< of the original kernel
  std::vector<ProbeWord> probe;                   ///< the words of the appended parameter, in order
  KernelSize size;
  std::shared_ptr<const cod::SiteTable> sites;  ///< of the blocks and instructions
  /// flattened: specifications in order, their handlers in order
  std::vector<std::uint64_t> sites_per_handler;
  device::VariantTraits traits;
  std::shared_ptr<const Counting> counting;   ///< null: the device does all the counting itself
  std::shared_ptr<const WordCounting> words;  ///< null: no words of memory are counted
  std::vector<std::string> notes;             ///< what could not be covered, for the coverage record
  TimeSpent spent;
};

/// Names of those specifications whose handlers for basic blocks and instructions have no place in the
/// kernel: they measure nothing there, though others, or their handlers at entry and exit, may.
std::vector<std::string> idle_specifications(const Request& request, const Instrumented& instrumented);

/// Failure: the kernel is not in the module, the PTX is malformed, a variable cannot be shared, a handler
/// cannot be compiled, the `shared` arrays of all specifications together are too large, or the variant would
/// be larger than `limits` allow. The caller then runs the original and says why.
Result<Instrumented> instrument(const Request& request);

}  // namespace lynxpp::engine
