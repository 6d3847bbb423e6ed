// The product as one function: PTX text, a kernel's name and specifications ▶ an instrumented module that holds the kernel and
// what it can reach, ready for the driver's JIT.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "cod/specification.h"
#include "device/device.h"
#include "support/result.h"

namespace lynxpp::engine {

using SpecificationPtr = std::shared_ptr<const cod::Specification>;

struct Request {
  const std::string* ptx = nullptr;  ///< the module's text
  std::string kernel;                ///< mangled name of the entry
  std::vector<SpecificationPtr> specifications;
  int device_sm = 0;  ///< compute capability × 10 the result will run on; 0: stay with the module's own target
  /// Whether the original's variable of that name can be shared by address. Null: all can.
  std::function<bool(const std::string&)> can_share;
};

/// Where a value of the hidden parameter comes from at launch.
struct ProbeWord {
  enum class Kind { spec, program_variable };
  Kind kind = Kind::spec;
  std::uint32_t specification = 0;  ///< spec: index in Request::specifications
  cod::Word word;                   ///< spec
  std::string variable;             ///< program_variable: the name in the original module
};

struct Site {
  std::uint32_t id = 0;           ///< instruction id
  std::uint32_t block = 0;
  std::uint32_t line = 0;         ///< in the original PTX
  std::uint32_t source_line = 0;  ///< from `.loc`, 0 when unknown
  std::string source_file;
};

struct Instrumented {
  std::string ptx;
  std::string kernel;
  std::vector<device::ParameterSlot> parameters;  ///< of the original kernel
  std::vector<ProbeWord> probe;                   ///< the words of the appended parameter, in order
  std::uint64_t basic_blocks = 0;                 ///< of the kernel and the functions instrumented with it
  std::uint64_t instructions = 0;
  std::vector<std::uint64_t> sites_per_handler;   ///< flattened: specifications in order, their handlers in order
  std::vector<std::string> notes;                 ///< what could not be covered, for the coverage record
  double parse_ms = 0, instrument_ms = 0, emit_ms = 0;
};

/// Failure: the kernel is not in the module, the PTX is malformed, a variable cannot be shared, a handler cannot be compiled. The caller
/// then runs the original and says why.
Result<Instrumented> instrument(const Request& request);

}  // namespace lynxpp::engine
