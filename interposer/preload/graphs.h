// What the graphs that the program has instantiated will launch, so that each replay is known by kernel.
#pragma once

#include <cstdint>
#include <shared_mutex>
#include <unordered_map>
#include <utility>
#include <vector>

#include "interposer/preload/registry.h"

namespace lynxpp::preload {

/// A node of a graph that launches a kernel.
struct GraphKernel {
  void* node = nullptr;   ///< of the graph that was instantiated, or of one inside of it
  void* child = nullptr;  ///< the node of the outer graph that holds it; null: it is the outer graph's own
  KernelPtr kernel;
  bool is_enabled = true;
};

/// Thread safe. Keys are CUgraphExec.
class Graphs {
 public:
  void add(void* executable, std::vector<GraphKernel> kernels);
  void forget(void* executable);
  /// The program has given the node other parameters.
  void set_kernel(void* executable, void* node, KernelPtr kernel);
  void set_enabled(void* executable, void* node, bool is_enabled);
  void set_child(void* executable, void* child, std::vector<GraphKernel> kernels);
  /// The kernels that one replay launches, each with how often; of a graph that nobody saw instantiated, none
  /// and false.
  bool launched_by(void* executable, std::vector<std::pair<KernelPtr, std::uint64_t>>& kernels) const;

 private:
  mutable std::shared_mutex mutex_;
  std::unordered_map<void*, std::vector<GraphKernel>> by_executable_;
};

/// The one of this process. Never destroyed: hooks run until the very end of the process.
Graphs& graphs();

}  // namespace lynxpp::preload
