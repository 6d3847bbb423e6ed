// Strongly connected components of a directed graph, for analyses of this folder.
#pragma once

#include <cstdint>
#include <vector>

namespace lynxpp::ptx {

/// Tarjan's algorithm without recursion. Nodes count from 0 to size - 1. The components come callees first:
/// no edge leads from a component to a later one. Each is ascending.
std::vector<std::vector<std::uint32_t>> strong_components(
    const std::vector<std::vector<std::uint32_t>>& successors);

}  // namespace lynxpp::ptx
