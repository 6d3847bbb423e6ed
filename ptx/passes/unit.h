// A kernel's variant while the passes build it. pipeline.cpp passes its members to the passes.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "ptx/emitter/emitter.h"
#include "ptx/ir/module.h"
#include "ptx/passes/counting/plan.h"
#include "ptx/passes/memory/sites.h"
#include "ptx/passes/memory/word_plan.h"
#include "ptx/passes/module/hidden_layout.h"
#include "ptx/passes/options.h"
#include "ptx/passes/reached.h"
#include "ptx/passes/variant.h"

namespace lynxpp::ptx {

/// Registers of a function that are live from its entry to its exits.
struct ThreadRegisters {
  std::vector<VirtualRegister> states;   ///< by index in state_bytes
  std::optional<VirtualRegister> frame;  ///< the frame's address, if functions have a frame
};

/// A kernel while its variant is being built. The members are in the order in which they are set: by the
/// engine, by the planning passes, by the passes that add code.
struct InstrumentationUnit {
  explicit InstrumentationUnit(const Module& m, const LaunchShape& launch = {})
      : module(m), options{launch, {}, {}, true, false} {}

  const Module& module;
  VariantOptions options;
  ReachedFunctions reached;
  SplicedCode spliced;
  VariantModule variant;
  HiddenLayout hidden;
  MemorySites memory;
  KernelCounting counting;
  WordPlan words;
  EditList edits;
  std::vector<std::string> notes;

  /// True if device functions receive the parameter slots and the state through a frame in the caller's local
  /// memory.
  bool needs_frame() const {
    if (hidden.size() == 0 && spliced.state_bytes.empty()) return false;
    for (std::size_t i = 1; i < reached.functions.size(); ++i) {
      if (reached.functions[i].instrumented) return true;
    }
    return false;
  }
  std::uint32_t frame_state_offset(std::uint32_t state) const { return hidden.bytes() + 8 * state; }
  std::uint32_t frame_bytes() const {
    return frame_state_offset(static_cast<std::uint32_t>(spliced.state_bytes.size()));
  }
  /// Returns the registers of a function with a body. Requires final `state_bytes` and `hidden`.
  const ThreadRegisters& thread_registers(const Function& function);

 private:
  std::map<const Function*, ThreadRegisters> thread_registers_;
};

}  // namespace lynxpp::ptx
