// The functions that a kernel can reach, which its variant contains.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <iterator>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "ptx/analysis/analyses.h"
#include "ptx/analysis/transfers/transfers.h"
#include "ptx/ir/module.h"

namespace lynxpp::ptx {

/// A function of the variant. The kernel is the first element of ReachedFunctions::functions.
struct FunctionUnit {
  const Function* function = nullptr;  ///< with its body parsed
  /// Computed on demand. Because passes record edits and never change the module, results stay valid for the
  /// lifetime of the unit.
  std::shared_ptr<FunctionAnalyses> analyses;
  /// False: only the references to variables are rewritten, because the function's address is taken.
  bool instrumented = true;
  std::uint32_t first_block = 0;  ///< id of the function's block 0 in the variant
  std::uint32_t first_instruction = 0;

  const ControlFlowGraph& graph() const { return analyses->graph(); }
  /// True if the body ends after the block without an exit instruction.
  bool falls_off_after(const BasicBlock& block) const {
    return block.leaves_function &&
           (block.size() == 0 || !function->body->instructions[block.end - 1].traits.ends_block());
  }
};

/// The functions of a kernel's variant.
struct ReachedFunctions {
  std::vector<FunctionUnit> functions;                          ///< kernel first; append with add()
  std::unordered_map<std::string_view, std::size_t> positions;  ///< in `functions`, by name
  bool calls_indirectly = false;                                ///< some function calls through a register
  std::vector<std::string> address_taken;  ///< functions and kernels named outside of calls
  std::vector<std::string> undefined;      ///< functions that are called but only declared
  std::uint32_t basic_blocks = 0;
  std::uint32_t instructions = 0;
  Transfers transfers;             ///< empty: not requested
  std::vector<std::string> notes;  ///< functions that are not instrumented, and why

  const FunctionUnit& kernel() const { return functions.front(); }
  std::vector<std::reference_wrapper<const FunctionUnit>> instrumented() const {
    std::vector<std::reference_wrapper<const FunctionUnit>> found;
    std::ranges::copy_if(functions, std::back_inserter(found), &FunctionUnit::instrumented);
    return found;
  }
  std::uint32_t position_of(const FunctionUnit& function) const {
    return static_cast<std::uint32_t>(&function - functions.data());
  }
  void add(FunctionUnit function) {
    positions.try_emplace(function.function->name, functions.size());
    functions.push_back(std::move(function));
  }
  const FunctionUnit* find(std::string_view name) const {
    const auto found = positions.find(name);
    return found == positions.end() ? nullptr : &functions[found->second];
  }
};

/// Returns the callee of a direct call, resolving aliases; empty for an indirect call.
std::string_view direct_callee(const Module& module, const Instruction& call);

}  // namespace lynxpp::ptx
