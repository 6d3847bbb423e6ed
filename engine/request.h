// The request to engine/instrument.h: a kernel, specifications, and options.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cod/specification.h"
#include "engine/limits.h"
#include "ptx/analysis/launch_shape.h"
#include "ptx/passes/pass.h"
#include "ptx/perturb/perturbation.h"
#include "support/check.h"

namespace lynxpp::engine {

using ptx::LaunchShape;
using ptx::shape_of;

using SpecificationPtr = std::shared_ptr<const cod::Specification>;

/// How executions are counted.
struct CountingChoices {
  bool plain = false;  ///< a counter at every program point instead of on few edges (for tests)
  /// 64-bit counter registers, for launches in which a counter may reach 2^32; also makes no assumption about
  /// array indices.
  bool wide = false;
};

/// How memory words are counted.
struct WordChoices {
  cod::WordScheme scheme;
  /// True if scheme.shared_bits applies only where an access keeps its probe, and no note is needed where it
  /// is not possible (cod::WordScheme::spare_counters).
  bool is_spare = false;
};

/// Diagnostics of the instrumentation that the caller requests.
struct Inspection {
  bool verify = checks_are_on;   ///< verify what the passes leave (engine/verify.h)
  ptx::PassObserver observer;    ///< called with the unit between passes
  bool wants_registers = false;  ///< fill in KernelSize::registers, which parses the variant again
};

struct Request {
  const std::string* ptx = nullptr;  ///< the module's text
  std::string kernel;                ///< mangled name of the entry
  std::vector<SpecificationPtr> specifications;
  /// Builds a variant that measures nothing but repeats operations (ptx/perturb/perturbation.h);
  /// `specifications` is then empty.
  std::optional<ptx::Perturbation> perturbation;
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

}  // namespace lynxpp::engine
