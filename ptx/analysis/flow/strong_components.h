// Strongly connected components of a directed graph, for analyses of this folder.
#pragma once

#include <cstdint>
#include <vector>

namespace lynxpp::ptx {

/// Tarjan's algorithm without recursion. Nodes are 0 to size - 1. The components are in reverse topological
/// order (callees first): no edge goes from a component to a later one. Each component is ascending.
std::vector<std::vector<std::uint32_t>> strong_components(
    const std::vector<std::vector<std::uint32_t>>& successors);

}  // namespace lynxpp::ptx
