// Rows of a sparse matrix, or edges of a graph: one row in 32 is long.
#pragma once
#include <algorithm>
#include <vector>

struct Graph {
  std::vector<int> first, column;
};

/// `is_sorted`: long rows come first. `is_local`: columns are near their row.
inline Graph make_graph(int n, bool is_sorted = false, bool is_local = false) {
  Graph graph;
  unsigned state = 1;
  auto next = [&] {
    state = state * 1664525u + 1013904223u;
    return state >> 8;
  };
  for (int row = 0; row < n; ++row) {
    graph.first.push_back(graph.column.size());
    bool is_long = is_sorted ? row < n / 32 : row % 32 == 0;
    int length = is_long ? 128 : 1 + next() % 7;
    for (int k = 0; k < length; ++k) graph.column.push_back(is_local ? (row + next() % 64) % n : next() % n);
  }
  graph.first.push_back(graph.column.size());
  return graph;
}

/// Returns the columns of each 32 rows: the first ones of all rows, then the second ones, ….
inline std::vector<int> in_visiting_order(const Graph& graph) {
  std::vector<int> columns;
  const int rows = graph.first.size() - 1;
  for (int slice = 0; slice < rows; slice += 32) {
    const std::size_t end = graph.first[std::min(slice + 32, rows)];
    for (int k = 0; columns.size() < end; ++k) {
      for (int row = slice; row < std::min(slice + 32, rows); ++row) {
        if (graph.first[row] + k < graph.first[row + 1])
          columns.push_back(graph.column[graph.first[row] + k]);
      }
    }
  }
  return columns;
}
