#include "interposer/session/graph_launcher.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "support/log.h"
#include "support/text.h"

namespace lynxpp::interposer {
namespace {

using State = KnownKernels::State;

/// One copy brings back the results of all nodes.
struct SharedReadback {
  explicit SharedReadback(std::unique_ptr<device::Readback> copy) : readback(std::move(copy)) {}

  /// Several threads may collect results of one launch when the program ends.
  OwnedMutex<std::mutex> mutex{LockRank::readback};
  std::unique_ptr<device::Readback> readback;
};

class PartOfReadback final : public device::Readback {
 public:
  PartOfReadback(std::shared_ptr<SharedReadback> all, std::uint64_t first, std::uint64_t bytes)
      : all_(std::move(all)), first_(first), bytes_(bytes) {}

  std::unique_ptr<device::CallGroup> call_group() override { return all_->readback->call_group(); }
  bool ready() override {
    if (!all_->mutex.try_lock()) return false;
    const Lock lock(all_->mutex, std::adopt_lock);
    return all_->readback->ready();
  }
  Result<std::span<std::byte>> wait() override {
    const Lock lock(all_->mutex);
    Result<std::span<std::byte>> all = all_->readback->wait();
    if (!all) return all.error();
    return all->subspan(first_, bytes_);
  }

 private:
  std::shared_ptr<SharedReadback> all_;
  std::uint64_t first_;
  std::uint64_t bytes_;
};

}  // namespace

/// A kernel node of a graph that is being launched.
struct GraphLauncher::Node {
  std::size_t index = 0;  ///< index in GraphLaunch::kernels
  const GraphLaunch::Kernel* kernel = nullptr;
  Seen* seen = nullptr;
  std::uint64_t number = 0;  ///< among the kernel's launches
  bool is_wanted = false;    ///< its results are wanted
  device::Launch launch;
  report::ActivityRecord activity;
  KernelPtr made;           ///< null: the original runs
  std::uint64_t first = 0;  ///< offset in the graph's buffers
  PendingPtr pending;
};

/// An executable graph of the program, as the session launches it.
struct GraphLauncher::Graph {
  /// The kernels it was created with: while these are unchanged, the graph is reused.
  struct Made {
    std::size_t index = 0;  ///< index in GraphLaunch::kernels
    KernelPtr kernel;
    std::uint64_t bytes = 0;
    std::uint32_t shared_bytes = 0;
    std::vector<std::uint64_t> probe;  ///< computed for buffers at address 0

    bool operator==(const Made&) const = default;
  };

  const device::Device* device = nullptr;  ///< compared only
  /// Version of the graph and of functions' attributes.
  std::optional<std::pair<std::uint64_t, std::uint64_t>> version;
  std::vector<Made> made;                      ///< guarded by GraphLauncher::mutex_
  std::unique_ptr<device::ProgramGraph> runs;  // destroyed before the objects that it uses
  std::string problem;                         ///< why the graph runs without variants
  /// What runs of the graph if its kernels are timed; a failure: why they are not. nullopt: not known yet.
  std::optional<Result<std::span<const device::ProgramGraph::Part>>> parts;
  std::pair<std::uint64_t, std::uint64_t> version_of_parts;
  /// A refused graph may succeed when the driver has memory again: retries after 1, 2, 4, … launches.
  std::uint64_t launches_between = 1;
  std::uint64_t launches_since = 0;

  bool tries_again() {
    if (problem.empty()) return true;
    if (++launches_since < launches_between) return false;
    launches_between *= 2;
    launches_since = 0;
    return true;
  }
};

// ---- graphs

bool GraphLauncher::shows_running_launches() {
  const std::shared_ptr<const Attached> attached = parts_.kernels.attached();
  return attached != nullptr && std::ranges::any_of(attached->specifications,
                                                    [](const auto& each) { return each->asks_if_running(); });
}

std::string GraphLauncher::take_apart(Graph& graph, const GraphLaunch& launch) {
  const auto version = std::pair(launch.version, launch.in.attribute_changes);
  if (!graph.parts || graph.version_of_parts != version) {
    graph.parts = graph.runs->take_apart(*launch.copy);
    graph.version_of_parts = version;
  }
  return *graph.parts ? "" : "by graphs, whose kernels are not timed: " + first_message(graph.parts->error());
}

GraphLaunched GraphLauncher::launch_apart(Graph& graph, device::Device& device, const GraphLaunch& launch) {
  const std::span<const device::ProgramGraph::Part> parts = **graph.parts;
  graph.runs->order(launch.in);
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const Status launched = parts[i].kernel ? launch_kernel(*parts[i].kernel, graph, device, launch)
                                            : graph.runs->launch_others(i, launch.in);
    if (launched) continue;
    if (i == 0) return GraphLaunched::no;
    log().error("a graph was launched in parts, and part {} of {} failed: {}", i + 1, parts.size(),
                first_message(launched.error()));
    break;
  }
  graph.runs->launched(launch.in);
  return GraphLaunched::variants;
}

Status GraphLauncher::launch_kernel(std::size_t index, Graph& graph, device::Device& device,
                                    const GraphLaunch& launch) {
  Result<device::Launch> found = graph.runs->launch_of(*launch.copy, index);
  if (!found) return found.error();
  found->stream = launch.in.stream;
  found->per_thread_stream = launch.in.per_thread_stream;
  found->attribute_changes = launch.in.attribute_changes;
  found->correlation = launch.in.correlation;
  found->cache_config = launch.kernels[index].cache_config;
  if (path_.launch(device, *found, launch.kernels[index].source, nullptr)) return success();
  const Result<std::unique_ptr<device::Readback>> launched = device.launch_original(*found);
  return launched ? success() : Status(launched.error());
}

/// No variants exist until the graph becomes another one: releases their resources.
GraphLaunched GraphLauncher::order_after_variants(const device::Device& device, const GraphLaunch& launch) {
  const GraphPtr graph = take_graph(launch.id);
  // An event of another context may no longer exist.
  if (graph != nullptr && graph->device == &device) graph->runs->order(launch.in);
  return GraphLaunched::no;
}

GraphLauncher::GraphPtr GraphLauncher::graph_of(device::Device& device, const GraphLaunch& launch) {
  GraphPtr before;  // destroyed after the lock is released
  std::optional<Failure> refusal;
  {
    const Lock lock(mutex_);
    GraphPtr& graph = graphs_[launch.id];
    if (graph != nullptr && graph->device == &device) return graph;
    before = std::exchange(graph, nullptr);
    Result<std::unique_ptr<device::ProgramGraph>> runs = device.program_graph();
    if (runs) {
      graph = std::make_shared<Graph>();
      graph->device = &device;
      graph->runs = std::move(*runs);
      return graph;
    }
    graphs_.erase(launch.id);
    refusal = runs.error();
  }
  const std::vector<std::string> modules = modules_of(launch);
  const State state(parts_.kernels);
  for (std::size_t i = 0; i < modules.size(); ++i) {
    Seen& seen = parts_.kernels.seen(launch.kernels[i].source.name, modules[i]);
    add_once(seen.coverage.notes, first_message(*refusal));
  }
  return nullptr;
}

GraphLauncher::GraphPtr GraphLauncher::take_graph(std::uint64_t id) {
  const Lock lock(mutex_);
  const auto found = graphs_.find(id);
  if (found == graphs_.end()) return nullptr;
  GraphPtr graph = std::move(found->second);
  graphs_.erase(found);
  return graph;
}

void GraphLauncher::forget_graph(std::uint64_t id) { take_graph(id); }

void GraphLauncher::drop(const std::function<bool(const Graph&)>& is_dropped) {
  std::vector<GraphPtr> dropped;  // destroyed after the lock is released
  const Lock lock(mutex_);
  std::erase_if(graphs_, [&](auto& entry) {
    const bool is_it = is_dropped(*entry.second);
    if (is_it) dropped.push_back(std::move(entry.second));
    return is_it;
  });
}

void GraphLauncher::forget_image(std::uint64_t image) {
  drop([&](const Graph& graph) {
    return std::ranges::any_of(graph.made,
                               [&](const Graph::Made& made) { return made.kernel->image == image; });
  });
}

void GraphLauncher::forget_devices(std::span<const device::Device* const> ending) {
  drop([&](const Graph& graph) { return std::ranges::find(ending, graph.device) != ending.end(); });
}

// ---- launches

GraphLaunched GraphLauncher::launch(device::Device& device, const GraphLaunch& launch) {
  const Launches::Here here(parts_.launches);
  if (!launch.copy) return order_after_variants(device, launch);
  const GraphPtr graph = graph_of(device, launch);
  if (graph == nullptr) return GraphLaunched::no;
  // CUDA orders the launches of an executable graph: when this one has ended, earlier ones have too.
  const bool is_timed = parts_.configuration.times_only();
  const std::optional<std::string> obstacle_to_parts =
      is_timed || shows_running_launches() ? std::optional(take_apart(*graph, launch)) : std::nullopt;
  const std::string way = !launch.outside.empty() ? launch.outside
                          : launch.may_be_running ? "by graphs that had been launched before attaching"
                          : is_timed              ? *obstacle_to_parts
                          : !parts_.room.makes_room()
                              ? "made while results of too many others were outstanding"
                              : "";
  if (obstacle_to_parts && obstacle_to_parts->empty() && way.empty() && parts_.kernels.attached() != nullptr)
    return launch_apart(*graph, device, launch);
  const std::vector<std::string> modules = modules_of(launch);
  State state(parts_.kernels);
  const std::shared_ptr<const Attached> attached =
      parts_.kernels.is_over() || modules.size() < launch.kernels.size() ? nullptr
                                                                         : parts_.kernels.attached_now();
  std::vector<Node> nodes;
  if (attached != nullptr && way.empty()) nodes = nodes_of(launch, modules, device.info().ordinal);
  state.unlock();
  if (attached == nullptr) {
    graph->runs->order(launch.in);
    return GraphLaunched::no;
  }
  parts_.kernels.launches_seen();
  if (!way.empty()) return launch_original(*graph, launch, way);
  for (Node& node : nodes) node.activity = parts_.timeline.launch(launch.in, node.seen->name, node.number);
  const bool is_wanted = std::ranges::any_of(nodes, &Node::is_wanted);
  if (is_wanted && launch_variants(nodes, *graph, attached, device, launch)) return GraphLaunched::variants;
  for (const Node& node : nodes) parts_.recorder.write(node.activity);
  graph->runs->order(launch.in);
  if (!launch.launch_original()) return GraphLaunched::original;
  graph->runs->launched(launch.in);
  return GraphLaunched::original;
}

bool GraphLauncher::launch_variants(std::vector<Node>& nodes, Graph& graph,
                                    const std::shared_ptr<const Attached>& attached, device::Device& device,
                                    const GraphLaunch& launch) {
  const std::unique_ptr<device::CallGroup> group = device.call_group();
  choose_variants(nodes, graph, attached, device, launch);
  if (std::ranges::none_of(nodes, [](const Node& node) { return node.pending != nullptr; })) return false;
  Status made = make_graph(nodes, graph, launch);
  if (made) made = launch_graph(nodes, graph, launch);
  if (!made) {
    const State state(parts_.kernels);
    const std::string reason = "launches by graphs run uninstrumented: " + first_message(made.error());
    for (const Node& node : nodes) {
      if (!node.pending) continue;
      add_once(node.seen->coverage.notes, reason);
      if (node.seen->coverage.instrumented_launches == 0) node.seen->coverage.reason = reason;
    }
    return false;
  }
  // The launch has been made, whatever fails from here on.
  try {
    begin_collecting(nodes, graph, launch);
  } catch (const std::exception& error) {
    log().error("results of a graph are lost: {}", error.what());
  }
  return true;
}

GraphLaunched GraphLauncher::launch_original(Graph& graph, const GraphLaunch& launch,
                                             const std::string& way) {
  graph.runs->order(launch.in);
  if (!launch.launch_original()) return GraphLaunched::original;
  graph.runs->launched(launch.in);
  const std::vector<std::string> modules = modules_of(launch);
  const State state(parts_.kernels);
  if (parts_.kernels.is_over() || parts_.kernels.attached_now() == nullptr) return GraphLaunched::original;
  for (std::size_t i = 0; i < modules.size(); ++i) {
    const GraphLaunch::Kernel& kernel = launch.kernels[i];
    if (!kernel.is_enabled) continue;
    KnownKernels::count_natively(parts_.kernels.seen(kernel.source.name, modules[i]), 1, way);
  }
  return GraphLaunched::original;
}

std::vector<std::string> GraphLauncher::modules_of(const GraphLaunch& launch) {
  std::vector<std::string> modules;
  for (const GraphLaunch::Kernel& kernel : launch.kernels) {
    std::optional<std::string> module = parts_.kernels.module_of(kernel.source);
    if (!module) return {};
    modules.push_back(std::move(*module));
  }
  return modules;
}

std::vector<GraphLauncher::Node> GraphLauncher::nodes_of(const GraphLaunch& launch,
                                                         const std::vector<std::string>& modules,
                                                         int ordinal) {
  std::vector<Node> nodes;
  for (std::size_t i = 0; i < modules.size(); ++i) {
    const GraphLaunch::Kernel& kernel = launch.kernels[i];
    if (!kernel.is_enabled) continue;
    Node& node = nodes.emplace_back();
    node.index = i;
    node.kernel = &kernel;
    node.seen = &parts_.kernels.seen(kernel.source.name, modules[i]);
    node.seen->add_unselected();
    node.number = node.seen->numbers.next(ordinal);
    node.is_wanted = parts_.kernels.wanted(*node.seen, node.number);
  }
  return nodes;
}

/// A launch that is not sampled runs the variant too, but its results are not reported.
void GraphLauncher::choose_variants(std::vector<Node>& nodes, Graph& graph,
                                    const std::shared_ptr<const Attached>& attached, device::Device& device,
                                    const GraphLaunch& launch) {
  for (Node& node : nodes) {
    const Result<device::Launch> found = graph.runs->launch_of(*launch.copy, node.index);
    std::string obstacle;
    if (found) {
      node.launch = *found;
      node.launch.stream = launch.in.stream;
      node.launch.per_thread_stream = launch.in.per_thread_stream;
      node.launch.attribute_changes = launch.in.attribute_changes;
      node.launch.correlation = launch.in.correlation;
      node.launch.cache_config = node.kernel->cache_config;
      node.activity.launch->shared_bytes = node.launch.shared_bytes;
      parts_.recorder.note_device(device, node.launch, node.activity);
      obstacle = choose_variant(node, attached, device);
    } else {
      obstacle = first_message(found.error());
    }
    if (obstacle.empty()) continue;
    const State state(parts_.kernels);
    if (node.seen->coverage.instrumented_launches == 0) node.seen->coverage.reason = obstacle;
  }
}

std::string GraphLauncher::choose_variant(Node& node, const std::shared_ptr<const Attached>& attached,
                                          device::Device& device) {
  {
    const State state(parts_.kernels);
    if (!node.seen->wanted) return "";
  }
  node.made = parts_.planner.kernel_for(*node.seen, attached, device, node.launch, node.kernel->source);
  if (node.made == nullptr) return "";
  if (!node.made->problem.empty()) {
    parts_.kernels.note_unmeasured(*node.seen, *node.made, device, node.launch);
    return node.made->problem;
  }
  Result<PlanPtr> plan = parts_.planner.plan_for(*node.seen, node.made, device, node.launch, false);
  if (plan) {
    node.pending =
        pending_variant(std::move(*plan), device, node.launch, node.activity, parts_.configuration.timeline);
    return "";
  }
  const State state(parts_.kernels);
  add_once(node.seen->coverage.notes, first_message(plan.error()));
  return first_message(plan.error());
}

/// Reuses an existing graph if it is identical.
Status GraphLauncher::make_graph(std::vector<Node>& nodes, Graph& graph, const GraphLaunch& launch) {
  std::vector<Graph::Made> wanted;
  std::vector<device::VariantNode> variants;
  std::uint64_t bytes = 0;
  for (Node& node : nodes) {
    if (!node.pending) continue;
    const ProbeLayout& layout = node.pending->plan->layout;
    const engine::Instrumented& instrumented = node.made->instrumented;
    if (node.pending->plan->words != nullptr) node.pending->plan->words->add_block_counters(node.launch);
    node.first = bytes;
    bytes += layout.bytes;
    wanted.push_back({node.index, node.made, layout.bytes, node.launch.shared_bytes,
                      probe_words(instrumented.probe, layout, 0)});
    variants.push_back({node.index, node.made->variant, node.launch, instrumented.parameters,
                        [&layout, &instrumented, first = node.first](std::uint64_t address) {
                          return probe_words(instrumented.probe, layout, address + first);
                        }});
  }
  const auto version = std::pair(launch.version, launch.in.attribute_changes);
  const bool is_same = graph.version == version && graph.made == wanted;
  if (is_same && !graph.tries_again()) return failure(graph.problem);
  if (!is_same || !graph.problem.empty()) {
    Status room = reserve(nodes, bytes, [&] { return graph.runs->reserve_buffers(bytes); });
    if (!room) return room;
    std::vector<Graph::Made> before;  // destroyed after all locks are released
    {
      const Lock lock(mutex_);
      before = std::exchange(graph.made, std::move(wanted));
    }
    graph.version = version;
    const Status made = graph.runs->instantiate(*launch.copy, variants);
    graph.problem = made ? "" : first_message(made.error());
    if (!is_same || made) graph.launches_between = 1;
  }
  if (!graph.problem.empty()) return failure(graph.problem);
  return reserve(nodes, bytes, [&] { return graph.runs->reserve_results(); });
}

Status GraphLauncher::reserve(const std::vector<Node>& nodes, std::uint64_t bytes,
                              const std::function<Status()>& take) {
  const Status taken = parts_.room.take_memory(take);
  if (taken) return taken;
  const State state(parts_.kernels);
  for (const Node& node : nodes) {
    if (node.pending && node.is_wanted) node.seen->no_room.add(bytes, first_message(taken.error()));
  }
  return failure("not enough memory for their counters");
}

Status GraphLauncher::launch_graph(std::vector<Node>& nodes, Graph& graph, const GraphLaunch& launch) {
  std::vector<device::BufferWrite> writes;
  for (const Node& node : nodes) {
    if (!node.pending) continue;
    for (const device::BufferWrite& each : node.pending->plan->layout.writes())
      writes.push_back({node.first + each.offset, each.bytes});
  }
  return graph.runs->launch(writes, launch.in);
}

void GraphLauncher::begin_collecting(std::vector<Node>& nodes, Graph& graph, const GraphLaunch& launch) {
  Result<std::unique_ptr<device::Readback>> readback = graph.runs->read_back(launch.in);
  graph.runs->launched(launch.in);
  std::shared_ptr<SharedReadback> all;
  if (readback) all = std::make_shared<SharedReadback>(std::move(*readback));
  for (Node& node : nodes) {
    if (!node.pending || !node.is_wanted || all == nullptr) parts_.recorder.write(node.activity);
    if (!node.pending || !node.is_wanted) continue;
    State state(parts_.kernels);
    report::CoverageRecord& coverage = KnownKernels::note_instrumented(*node.pending->plan);
    if (all == nullptr) {
      ++node.seen->lost;
      add_once(coverage.notes, "results lost: " + first_message(readback.error()));
      continue;
    }
    state.unlock();
    Outstanding outstanding(*node.seen);
    node.pending->readback =
        std::make_unique<PartOfReadback>(all, node.first, node.pending->plan->layout.bytes);
    parts_.room.add(std::move(node.pending), outstanding);
  }
}

}  // namespace lynxpp::interposer
