// The instrumentation passes, in order. To add a pass, declare its function and add a line to the table of
// pipeline.cpp.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ptx/passes/pass.h"

namespace lynxpp::ptx {

struct PassDescription {
  std::string_view name;
  /// Plans, or adds edits to the unit. A pass never changes the module itself.
  Status (*run)(InstrumentationUnit& unit) = nullptr;
  EditState leaves = EditState::unchanged;
  std::string_view summary;
  /// Returns a readable form of a planning pass's plan. Null for a pass that adds code.
  std::string (*plan_text)(const InstrumentationUnit& unit) = nullptr;
};

std::span<const PassDescription> pass_table();
std::vector<std::string_view> pass_names();  ///< in execution order

/// Returns a manager with all passes of the table.
PassManager make_pipeline();

}  // namespace lynxpp::ptx
