#include "ptx/analysis/calls/call_graph.h"

#include <algorithm>
#include <set>
#include <unordered_map>

#include "ptx/analysis/flow/control_flow_graph.h"
#include "ptx/analysis/flow/strong_components.h"

namespace lynxpp::ptx {
namespace {

bool is_word(char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == '$';
}

/// Calls `visit` for each word of a text.
template <typename Visit>
void for_each_word(std::string_view text, Visit visit) {
  for (std::size_t begin = 0; begin < text.size();) {
    std::size_t end = begin;
    while (end < text.size() && is_word(text[end])) ++end;
    if (end > begin) visit(text.substr(begin, end - begin));
    begin = std::max(end, begin + 1);
  }
}

}  // namespace

CallGraph::CallGraph(const Module& module) {
  std::unordered_map<std::string_view, std::uint32_t>& index = index_;
  for (const Function& function : module.functions) {
    const auto [entry, fresh] = index.try_emplace(function.name, static_cast<std::uint32_t>(nodes_.size()));
    if (fresh) nodes_.push_back({});
    CallNode& node = nodes_[entry->second];
    if (node.function == nullptr || node.function->is_declaration()) node.function = &function;
  }
  std::set<std::uint32_t> address_taken;
  for (const Variable& variable : module.variables) {
    for_each_word(module.text(variable.initializer), [&](std::string_view word) {
      if (const auto found = index.find(word); found != index.end()) address_taken.insert(found->second);
    });
  }
  for (CallNode& node : nodes_) {
    if (!node.function->body) continue;
    const CallSites calls = find_calls(module, *node.function);
    node.calls_indirectly = calls.indirect;
    for (const std::string_view callee : calls.direct) {
      const auto found = index.find(callee);
      if (found != index.end()) node.callees.push_back(found->second);
      if (found == index.end() || nodes_[found->second].function->is_declaration())
        node.external.push_back(callee);
    }
    for (const std::string_view name : calls.address_taken) {
      if (const auto found = index.find(name); found != index.end()) address_taken.insert(found->second);
    }
  }
  std::vector<std::vector<std::uint32_t>> edges;
  for (CallNode& node : nodes_) {
    if (node.calls_indirectly)
      node.callees.insert(node.callees.end(), address_taken.begin(), address_taken.end());
    std::ranges::sort(node.callees);
    node.callees.erase(std::unique(node.callees.begin(), node.callees.end()), node.callees.end());
    edges.push_back(node.callees);
  }
  for (const std::vector<std::uint32_t>& component : strong_components(edges)) {
    for (const std::uint32_t node : component) {
      nodes_[node].is_recursive =
          component.size() > 1 || std::ranges::binary_search(nodes_[node].callees, node);
      callees_first_.push_back(node);
    }
  }
}

std::uint32_t CallGraph::find(std::string_view name) const {
  const auto found = index_.find(name);
  return found == index_.end() ? static_cast<std::uint32_t>(nodes_.size()) : found->second;
}

std::vector<std::uint32_t> CallGraph::reachable_from(std::uint32_t node) const {
  std::vector<bool> seen(nodes_.size(), false);
  std::vector<std::uint32_t> work{node}, result;
  while (!work.empty()) {
    const std::uint32_t at = work.back();
    work.pop_back();
    if (seen[at]) continue;
    seen[at] = true;
    result.push_back(at);
    work.insert(work.end(), nodes_[at].callees.begin(), nodes_[at].callees.end());
  }
  std::ranges::sort(result);
  return result;
}

}  // namespace lynxpp::ptx
