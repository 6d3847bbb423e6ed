// The complete instrumentation as one function: from PTX text, a kernel's name and specifications to an
// instrumented module that contains the kernel and everything it can reach, ready for the driver's JIT.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cod/specification.h"
#include "device/device.h"
#include "engine/counters.h"
#include "engine/registers.h"
#include "engine/request.h"
#include "engine/tensor_copies.h"
#include "engine/word_counts.h"
#include "ptx/passes/module/hidden_layout.h"
#include "ptx/passes/pass.h"
#include "ptx/perturb/perturbation.h"
#include "support/result.h"

namespace lynxpp::engine {

/// A ptx::HiddenSlot with its specification's word.
struct ProbeWord {
  using Kind = ptx::HiddenSlot::Kind;
  Kind kind = Kind::specification;
  std::uint32_t specification = 0;  ///< index in Request::specifications
  cod::Word word;
  std::uint32_t parameter_offset = 0;  ///< of the pointer, for slots that describe its allocation
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
  double verify_ms = 0;  ///< part of instrument_ms
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
  std::vector<TensorCopySite> tensor_copies;  ///< empty if no specification asks for boxes
  std::vector<ptx::PerturbedSite> perturbed;  ///< of Request::perturbation, in textual order
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
