// Functions of a kernel ▶ its replay program.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "ptx/analysis/analyses.h"
#include "ptx/replay/program.h"

namespace lynxpp::ptx {

/// The code that a kernel's threads execute.
struct ReplayedFunctions {
  const Module& module;
  std::vector<FunctionAnalyses*> functions;  ///< the kernel first; not null
  /// Returns the index of the called function; nullopt if it is not among `functions` or is unknown.
  std::function<std::optional<std::uint32_t>(const Instruction& call)> callee;
  bool follows_shared = true;      ///< accesses to shared memory are visited, too
  bool may_exit_in_calls = false;  ///< a call that is not followed may end the thread
};

/// Limit on the registers of function copies in excess of the kernel's; further calls are not followed.
inline constexpr std::uint32_t most_replayed_registers = 4096;

ReplayProgram make_replay_program(const ReplayedFunctions& functions);

}  // namespace lynxpp::ptx
