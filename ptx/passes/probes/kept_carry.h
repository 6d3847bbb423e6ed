// The program's carry flag, where added code would lose it.
//
// Between `add.cc` and `addc` a probe may stand, and a probe may call a function, which does not preserve the
// flag, or chain carries of its own.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "ptx/analysis/flow/control_flow_graph.h"
#include "ptx/ir/code_builder.h"
#include "ptx/ir/module.h"

namespace lynxpp::ptx {

class KeptCarry {
 public:
  KeptCarry(const Function& function, const ControlFlowGraph& graph);

  /// Wraps `code`, inserted before instruction `index`, to preserve the carry flag if it is live.
  Code keep_before(std::uint32_t index, Code code, NameSource& names) const {
    return keep(live_before_[index], std::move(code), names);
  }
  /// Likewise, directly after the instruction.
  Code keep_behind(std::uint32_t index, Code code, NameSource& names) const {
    return keep(live_behind_[index], std::move(code), names);
  }

 private:
  static Code keep(bool is_live, Code code, NameSource& names);

  std::vector<bool> live_before_, live_behind_;  ///< by instruction
};

}  // namespace lynxpp::ptx
