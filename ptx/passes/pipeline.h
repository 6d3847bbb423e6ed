// The passes of an instrumentation, in their order. To add one: its function and a line on what it does, in
// the table of pipeline.cpp.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ptx/passes/pass.h"

namespace lynxpp::ptx {

struct PassDescription {
  std::string_view name;
  /// Plans, or adds edits to the unit; the module itself never changes.
  Status (*run)(InstrumentationUnit& unit) = nullptr;
  std::string_view summary;
  /// What a pass that only plans has planned, for readers. Null: the pass adds code, which tells.
  std::string (*plan_text)(const InstrumentationUnit& unit) = nullptr;
};

std::span<const PassDescription> pass_table();
std::vector<std::string_view> pass_names();  ///< in the order they run

/// A manager that holds all of them.
PassManager make_pipeline();

}  // namespace lynxpp::ptx
