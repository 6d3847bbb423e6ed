// Rows of a sparse matrix, or edges of a graph: one row in 32 is long.
#pragma once
#include <vector>

struct Graph {
  std::vector<int> first, column;
};

inline Graph make_graph(int n) {
  Graph graph;
  unsigned state = 1;
  auto next = [&] {
    state = state * 1664525u + 1013904223u;
    return state >> 8;
  };
  for (int row = 0; row < n; ++row) {
    graph.first.push_back(graph.column.size());
    int length = row % 32 == 0 ? 128 : 1 + next() % 7;
    for (int k = 0; k < length; ++k) graph.column.push_back(next() % n);
  }
  graph.first.push_back(graph.column.size());
  return graph;
}
