// Launches graphs with variants of their kernels.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "device/device.h"
#include "device/graphs.h"
#include "interposer/graph_launch.h"
#include "interposer/owned_mutex.h"
#include "interposer/session/launch_parts.h"
#include "interposer/session/launch_path.h"

namespace lynxpp::interposer {

/// Thread safe; but launches of one graph never overlap. Each kernel node is a launch of its kernel; wanted
/// ones launch variants, whose buffers are adjacent parts of one buffer.
class GraphLauncher {
 public:
  /// `path` makes the launches of graphs that are taken apart. It and the parts must outlive the object.
  GraphLauncher(const LaunchParts& parts, LaunchPath& path) : parts_(parts), path_(path) {}

  /// See Session::launch().
  GraphLaunched launch(device::Device& device, const GraphLaunch& launch);
  /// Called before the executable graph goes away.
  void forget_graph(std::uint64_t id);
  /// Drops graphs with variants of the image.
  void forget_image(std::uint64_t image);
  /// Drops the graphs of devices whose contexts end.
  void forget_devices(std::span<const device::Device* const> ending);
  bool is_held_by_caller() const { return mutex_.is_held_by_caller(); }

 private:
  struct Graph;
  struct Node;
  using GraphPtr = std::shared_ptr<Graph>;

  /// Returns null if the device cannot launch it with variants; coverage then says so.
  GraphPtr graph_of(device::Device& device, const GraphLaunch& launch);
  /// Returns null if the graph is unknown.
  GraphPtr take_graph(std::uint64_t id);
  void drop(const std::function<bool(const Graph&)>& is_dropped);
  /// Orders a launch without variants after earlier ones with variants; the caller makes it.
  GraphLaunched order_after_variants(const device::Device& device, const GraphLaunch& launch);
  /// Counts its kernels as launched in this way.
  GraphLaunched launch_original(Graph& graph, const GraphLaunch& launch, const std::string& way);
  /// True if `lynxpp why` describes running launches: those of graphs share one copy of their results.
  bool shows_running_launches();
  /// Returns why the kernels cannot be launched one by one; empty: they can.
  static std::string take_apart(Graph& graph, const GraphLaunch& launch);
  /// Launches the graph's nodes one after another, so that each kernel can be timed and has its own results.
  GraphLaunched launch_apart(Graph& graph, device::Device& device, const GraphLaunch& launch);
  Status launch_kernel(std::size_t index, Graph& graph, device::Device& device, const GraphLaunch& launch);
  /// Returns true if the launch was made.
  bool launch_variants(std::vector<Node>& nodes, Graph& graph,
                       const std::shared_ptr<const Attached>& attached, device::Device& device,
                       const GraphLaunch& launch);
  /// Returns LaunchPlace::module of each of its kernels; nothing if nothing is attached.
  std::vector<std::string> modules_of(const GraphLaunch& launch);
  std::vector<Node> nodes_of(const GraphLaunch& launch, const std::vector<std::string>& modules, int ordinal)
      LYNXPP_REQUIRES(kernels_state);
  void choose_variants(std::vector<Node>& nodes, Graph& graph,
                       const std::shared_ptr<const Attached>& attached, device::Device& device,
                       const GraphLaunch& launch);
  /// Returns why the node's original runs; empty if it has a plan, or no variant is wanted.
  std::string choose_variant(Node& node, const std::shared_ptr<const Attached>& attached,
                             device::Device& device);
  Status make_graph(std::vector<Node>& nodes, Graph& graph, const GraphLaunch& launch);
  /// Same as LaunchRoom::take_memory(); if it fails, the nodes' launches count as uninstrumented.
  Status reserve(const std::vector<Node>& nodes, std::uint64_t bytes, const std::function<Status()>& take);
  static Status launch_graph(std::vector<Node>& nodes, Graph& graph, const GraphLaunch& launch);
  void begin_collecting(std::vector<Node>& nodes, Graph& graph, const GraphLaunch& launch);

  const LaunchParts parts_;
  LaunchPath& path_;
  // Recursive, because a signal handler may end the program while its thread holds it.
  OwnedMutex<std::recursive_timed_mutex> mutex_{LockRank::graphs};
  /// By id of the executable graph. The mutex also guards Graph::made.
  std::unordered_map<std::uint64_t, GraphPtr> graphs_ LYNXPP_GUARDED_BY(mutex_);
};

}  // namespace lynxpp::interposer
