// The program's carry flag, where added code would lose it.
//
// Between `add.cc` and `addc` a probe may stand, and a probe may call a function, which does not preserve the
// flag, or chain carries of its own.
#pragma once

#include <cstdint>
#include <vector>

#include "ptx/analysis/flow/control_flow_graph.h"
#include "ptx/ir/code_builder.h"
#include "ptx/ir/module.h"

namespace lynxpp::ptx {

class KeptCarry {
 public:
  KeptCarry(const Function& function, const ControlFlowGraph& graph);

  /// Wraps `code`, inserted before instruction `index`, to preserve the carry flag if it is live.
  Code keep_before(std::uint32_t index, Code code, NameSource& names) const;
  /// Likewise, directly after the instruction.
  Code keep_behind(std::uint32_t index, Code code, NameSource& names) const;

 private:
  Code keep(bool is_live, Code code, NameSource& names) const;

  std::vector<bool> live_before_, live_behind_;  ///< by instruction; empty: the flag is never read
};

}  // namespace lynxpp::ptx
