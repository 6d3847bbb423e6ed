// Who calls whom in a module, and who calls itself.
#pragma once

#include <cstdint>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "ptx/ir/module.h"

namespace lynxpp::ptx {

struct CallNode {
  const Function* function = nullptr;
  std::vector<std::uint32_t> callees;      ///< ascending nodes: called by name, or perhaps through a pointer
  std::vector<std::string_view> external;  ///< called by name, defined nowhere in the module (vprintf, …)
  bool calls_indirectly = false;
  bool is_recursive = false;  ///< may be active twice in one thread: in a cycle of calls, or calls itself
};

/// One node per function name; a definition stands for its declarations. A call through a pointer may reach
/// every function whose address the module takes, in code or in a variable's initialiser; such a call in a
/// module that takes no address reaches nothing known. Functions whose body has not been parsed call nothing
/// here. Borrows the module.
class CallGraph {
 public:
  explicit CallGraph(const Module& module);

  const std::vector<CallNode>& nodes() const { return nodes_; }
  /// Index of the function; nodes().size() when there is none of that name.
  std::uint32_t find(std::string_view name) const;
  /// What `node` can reach, itself included, ascending.
  std::vector<std::uint32_t> reachable_from(std::uint32_t node) const;
  /// Every node, callees before callers but for cycles.
  const std::vector<std::uint32_t>& callees_first() const { return callees_first_; }

 private:
  std::unordered_map<std::string_view, std::uint32_t> index_;  ///< of nodes_, by name
  std::vector<CallNode> nodes_;
  std::vector<std::uint32_t> callees_first_;
};

}  // namespace lynxpp::ptx
