// Call graph of a module, with recursion.
#pragma once

#include <cstdint>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "ptx/ir/module.h"

namespace lynxpp::ptx {

struct CallNode {
  const Function* function = nullptr;
  std::vector<std::uint32_t> callees;      ///< ascending: direct and possible indirect callees
  std::vector<std::string_view> external;  ///< called by name but not defined in the module (vprintf, …)
  bool calls_indirectly = false;
  bool is_recursive = false;  ///< may be active twice in one thread: it is on a cycle of calls
};

/// The graph has one node per function name; a definition represents its declarations. An indirect call may
/// reach every function whose address the module takes, in code or in a variable's initialiser; if the module
/// takes no address, such a call reaches no known function. Functions whose body is not parsed have no
/// outgoing edges. Borrows the module.
class CallGraph {
 public:
  explicit CallGraph(const Module& module);

  const std::vector<CallNode>& nodes() const { return nodes_; }
  /// Index of the function; nodes().size() if the name is unknown.
  std::uint32_t find(std::string_view name) const;
  /// Nodes reachable from `node`, including itself, ascending.
  std::vector<std::uint32_t> reachable_from(std::uint32_t node) const;
  /// All nodes in callees-first order, except within cycles.
  const std::vector<std::uint32_t>& callees_first() const { return callees_first_; }

 private:
  std::unordered_map<std::string_view, std::uint32_t> index_;  ///< index into nodes_, by name
  std::vector<CallNode> nodes_;
  std::vector<std::uint32_t> callees_first_;
};

}  // namespace lynxpp::ptx
