// Code and data that specifications add to a variant, and the module that contains it.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "ptx/ir/code_builder.h"
#include "ptx/ir/module.h"
#include "ptx/passes/probe.h"
#include "ptx/passes/probes/routine.h"
#include "ptx/passes/probes/routine_functions.h"

namespace lynxpp::ptx {

/// A variable of the variant that routines reference: shared memory of a thread block, or a table. Its name
/// is variable_name(position).
struct ModuleVariable {
  StateSpace space = StateSpace::shared;
  std::uint64_t bytes = 0;            ///< 0: no routine references it
  std::vector<std::uint8_t> initial;  ///< `bytes` elements, or empty; always empty for shared memory
  bool is_dynamic = false;            ///< starts at the base of dynamic shared memory and has no size
};

/// The code and data that specifications add to the variant.
struct SplicedCode {
  std::vector<Probe> probes;
  RoutineFunctions routine_functions;      ///< functions that routines call
  std::vector<ModuleVariable> variables;   ///< variables of the probes, declared in the variant
  std::vector<std::uint32_t> state_bytes;  ///< size of each state register: 4 or 8
  /// Returns the value of `access_space` for a state space. Null: not requested.
  std::function<std::uint32_t(StateSpace)> space_code;
  /// Routines that compute a lane value, by its name.
  std::map<std::string, ProbeRoutine, std::less<>> lane_routines;
};

/// Variables of the program that stay in the original module, each with its position in `variable_table`.
using SharedVariables = std::map<std::string, std::uint32_t, std::less<>>;

/// A `.const` array of the variant for the shared variables' addresses, which are written when the variant is
/// loaded: with addresses in its text, each run would compile it again.
inline constexpr std::string_view variable_table = "__lynxpp_variables";

/// Emits a load of the address of the shared variable at `position`.
inline void load_shared_address(std::uint32_t position, VirtualRegister target, CodeBuilder& code) {
  code.emit("ld.const.b64", {target, CodeAddress{Name{std::string(variable_table)}, 8 * position}});
}

/// Properties of the module that contains the variant.
struct VariantModule {
  Version version;
  Target target;
  SharedVariables shared_variables;  ///< the variant declares all others
};

}  // namespace lynxpp::ptx
