// Preserves the program's carry flag across added code.
//
// A probe may be inserted between `add.cc` and `addc`. It may call a function, which does not preserve the
// flag, or contain carry chains of its own.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "ptx/analysis/flow/control_flow_graph.h"
#include "ptx/ir/code_builder.h"
#include "ptx/ir/module.h"

namespace lynxpp::ptx {

class CarryFlag {
 public:
  CarryFlag(const Function& function, const ControlFlowGraph& graph);

  /// Wraps `code`, inserted before instruction `index`, to preserve the carry flag if it is live.
  Code preserve_before(std::uint32_t index, Code code, NameSource& names) const {
    return preserve(live_before_[index], std::move(code), names);
  }
  /// Same, for code directly after the instruction.
  Code preserve_after(std::uint32_t index, Code code, NameSource& names) const {
    return preserve(live_after_[index], std::move(code), names);
  }

 private:
  static Code preserve(bool is_live, Code code, NameSource& names);

  std::vector<bool> live_before_, live_after_;  ///< by instruction
};

}  // namespace lynxpp::ptx
