// The part of the session that launches graphs. Each kernel node is a launch of its kernel; wanted ones
// launch variants, whose buffers are adjacent parts of one buffer.
#include <algorithm>
#include <utility>

#include "interposer/session/session.h"
#include "interposer/session/session_state.h"
#include "support/log.h"
#include "support/text.h"

namespace lynxpp::interposer {
namespace {

/// One copy brings back the results of all nodes.
struct SharedReadback {
  explicit SharedReadback(std::unique_ptr<device::Readback> copy) : readback(std::move(copy)) {}

  std::mutex mutex;  // several threads may collect results of one launch when the program ends
  std::unique_ptr<device::Readback> readback;
};

class PartOfReadback final : public device::Readback {
 public:
  PartOfReadback(std::shared_ptr<SharedReadback> all, std::uint64_t first, std::uint64_t bytes)
      : all_(std::move(all)), first_(first), bytes_(bytes) {}

  std::unique_ptr<device::CallGroup> call_group() override { return all_->readback->call_group(); }
  bool ready() override {
    const std::unique_lock lock(all_->mutex, std::try_to_lock);
    return lock && all_->readback->ready();
  }
  Result<std::span<std::byte>> wait() override {
    const std::lock_guard lock(all_->mutex);
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

GraphLaunched Session::launch(device::Device& device, const GraphLaunch& launch) {
  const Launching here(*this);
  if (!launch.copy) return order_after_variants(device, launch);
  const std::shared_ptr<Graph> graph = graph_of(device, launch);
  if (graph == nullptr) return GraphLaunched::no;
  // CUDA orders the launches of an executable graph: when this one has ended, earlier ones have too.
  const bool is_timed = configuration_.times_only();
  const std::optional<std::string> obstacle_to_parts =
      is_timed || shows_running_launches() ? std::optional(take_apart(*graph, launch)) : std::nullopt;
  const std::string way = !launch.outside.empty() ? launch.outside
                          : launch.may_be_running ? "by graphs that had been launched before attaching"
                          : is_timed              ? *obstacle_to_parts
                          : !makes_room()         ? "made while results of too many others were outstanding"
                                                  : "";
  if (obstacle_to_parts && obstacle_to_parts->empty() && way.empty() && attached())
    return launch_apart(*graph, device, launch);
  State state(state_);
  const std::vector<std::string> modules = modules_of(state, launch);
  const std::shared_ptr<const Attached> attached = finished_ ? nullptr : attached_;
  std::vector<GraphNode> nodes;
  if (attached != nullptr && way.empty()) nodes = nodes_of(launch, modules, device.info().ordinal);
  state.unlock();
  if (attached == nullptr) {
    graph->runs->order(launch.in);
    return GraphLaunched::no;
  }
  has_seen_launches_ = true;
  if (!way.empty()) return launch_original(*graph, launch, way);
  for (GraphNode& node : nodes)
    node.activity = timeline_.launch(launch.in, node.seen->coverage.kernel, node.number);
  Status made = failure("");
  if (std::ranges::any_of(nodes, [](const GraphNode& node) { return node.is_wanted; })) {
    const std::unique_ptr<device::CallGroup> group = device.call_group();
    choose_variants(nodes, *graph, attached, device, launch);
    const bool has_variants =
        std::ranges::any_of(nodes, [](const GraphNode& node) { return node.pending != nullptr; });
    if (has_variants) made = make_graph(nodes, *graph, launch);
    if (made) made = launch_graph(nodes, *graph, launch);
    if (made) {
      // The launch has been made, whatever fails from here on.
      try {
        begin_collecting_graph(nodes, *graph, launch);
      } catch (const std::exception& error) {
        log().error("results of a graph are lost: {}", error.what());
      }
      return GraphLaunched::variants;
    }
    if (has_variants) {
      const State noted(state_);
      const std::string reason = "launches by graphs run uninstrumented: " + first_message(made.error());
      for (const GraphNode& node : nodes) {
        if (!node.pending) continue;
        add_once(node.seen->coverage.notes, reason);
        if (node.seen->coverage.instrumented_launches == 0) node.seen->coverage.reason = reason;
      }
    }
  }
  for (const GraphNode& node : nodes) write(node.activity);
  graph->runs->order(launch.in);
  if (!launch.launch_original()) return GraphLaunched::original;
  graph->runs->launched(launch.in);
  return GraphLaunched::original;
}

/// True if `lynxpp why` describes running launches: those of graphs share one copy of their results.
bool Session::shows_running_launches() {
  const State state(state_);
  return attached_ != nullptr && std::ranges::any_of(attached_->specifications, [](const auto& each) {
           return each->asks_if_running();
         });
}

/// Returns why the kernels cannot be launched one by one; empty: they can.
std::string Session::take_apart(Graph& graph, const GraphLaunch& launch) {
  const auto version = std::pair(launch.version, launch.in.attribute_changes);
  if (!graph.parts || graph.version_of_parts != version) {
    graph.parts = graph.runs->take_apart(*launch.copy);
    graph.version_of_parts = version;
  }
  return *graph.parts ? "" : "by graphs, whose kernels are not timed: " + first_message(graph.parts->error());
}

/// Launches the graph's nodes one after another, so that each kernel can be timed and has its own results.
GraphLaunched Session::launch_apart(Graph& graph, device::Device& device, const GraphLaunch& launch) {
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

Status Session::launch_kernel(std::size_t index, Graph& graph, device::Device& device,
                              const GraphLaunch& launch) {
  Result<device::Launch> found = graph.runs->launch_of(*launch.copy, index);
  if (!found) return found.error();
  found->stream = launch.in.stream;
  found->per_thread_stream = launch.in.per_thread_stream;
  found->attribute_changes = launch.in.attribute_changes;
  found->correlation = launch.in.correlation;
  found->cache_config = launch.kernels[index].cache_config;
  if (this->launch(device, *found, launch.kernels[index].source)) return success();
  const Result<std::unique_ptr<device::Readback>> launched = device.launch_original(*found);
  return launched ? success() : Status(launched.error());
}

/// No variants exist until the graph becomes another one: releases their resources.
GraphLaunched Session::order_after_variants(const device::Device& device, const GraphLaunch& launch) {
  const std::shared_ptr<Graph> graph = take_graph(launch.id);
  // An event of another context may no longer exist.
  if (graph != nullptr && graph->device == &device) graph->runs->order(launch.in);
  return GraphLaunched::no;
}

std::shared_ptr<Session::Graph> Session::graph_of(device::Device& device, const GraphLaunch& launch) {
  std::shared_ptr<Graph> before;  // destroyed after all locks are released
  State state(state_);
  std::shared_ptr<Graph>& graph = graphs_[launch.id];
  if (graph != nullptr && graph->device == &device) return graph;
  before = std::exchange(graph, nullptr);
  Result<std::unique_ptr<device::ProgramGraph>> runs = device.program_graph();
  if (!runs) {
    graphs_.erase(launch.id);
    const std::vector<std::string> modules = modules_of(state, launch);
    for (std::size_t i = 0; i < modules.size(); ++i)
      add_once(seen(launch.kernels[i].source.name, modules[i]).coverage.notes, first_message(runs.error()));
    return nullptr;
  }
  graph = std::make_shared<Graph>();
  graph->device = &device;
  graph->runs = std::move(*runs);
  return graph;
}

/// Counts its kernels as launched in this way.
GraphLaunched Session::launch_original(Graph& graph, const GraphLaunch& launch, const std::string& way) {
  graph.runs->order(launch.in);
  if (!launch.launch_original()) return GraphLaunched::original;
  graph.runs->launched(launch.in);
  State state(state_);
  const std::vector<std::string> modules = modules_of(state, launch);
  if (finished_ || attached_ == nullptr) return GraphLaunched::original;
  for (std::size_t i = 0; i < modules.size(); ++i) {
    const GraphLaunch::Kernel& kernel = launch.kernels[i];
    if (kernel.is_enabled) count_natively(seen(kernel.source.name, modules[i]), 1, way);
  }
  return GraphLaunched::original;
}

std::vector<std::string> Session::modules_of(State& state, const GraphLaunch& launch) {
  std::vector<std::string> modules;
  for (const GraphLaunch::Kernel& kernel : launch.kernels) modules.push_back(module_of(state, kernel.source));
  return modules;
}

/// Precondition: `state_` is held and something is attached.
std::vector<Session::GraphNode> Session::nodes_of(const GraphLaunch& launch,
                                                  const std::vector<std::string>& modules, int ordinal) {
  std::vector<GraphNode> nodes;
  for (std::size_t i = 0; i < modules.size(); ++i) {
    const GraphLaunch::Kernel& kernel = launch.kernels[i];
    if (!kernel.is_enabled) continue;
    GraphNode& node = nodes.emplace_back();
    node.index = i;
    node.kernel = &kernel;
    node.seen = &seen(kernel.source.name, modules[i]);
    node.seen->add_unselected();
    node.number = node.seen->numbers.next(ordinal);
    node.is_wanted = wanted(*node.seen, node.number);
  }
  return nodes;
}

/// Chooses variants for the selected kernels. A launch that is not sampled runs the variant too, but its
/// results are not reported.
void Session::choose_variants(std::vector<GraphNode>& nodes, Graph& graph,
                              const std::shared_ptr<const Attached>& attached, device::Device& device,
                              const GraphLaunch& launch) {
  for (GraphNode& node : nodes) {
    const Result<device::Launch> found = graph.runs->launch_of(*launch.copy, node.index);
    std::string obstacle = found ? "" : first_message(found.error());
    if (found) {
      node.launch = *found;
      node.launch.stream = launch.in.stream;
      node.launch.per_thread_stream = launch.in.per_thread_stream;
      node.launch.attribute_changes = launch.in.attribute_changes;
      node.launch.correlation = launch.in.correlation;
      node.launch.cache_config = node.kernel->cache_config;
      node.activity.launch->shared_bytes = node.launch.shared_bytes;
      note_device(device, node.launch, node.activity);
    }
    State state(state_);
    report::CoverageRecord& coverage = node.seen->coverage;
    if (found) {
      if (!node.seen->wanted) continue;
      node.made = kernel_for(state, *node.seen, attached, device, node.launch, node.kernel->source);
      if (node.made == nullptr) continue;
      obstacle = node.made->problem;
      if (!obstacle.empty()) {
        state.unlock();
        note_unmeasured(*node.seen, *node.made, device, node.launch);
        state.lock();
      }
    }
    if (obstacle.empty()) {
      state.unlock();
      Result<PlanPtr> plan = plan_for(*node.seen, node.made, device, node.launch, false);
      if (plan) {
        node.pending = pending_for(std::move(*plan), device, node.launch, node.activity);
        continue;
      }
      state.lock();
      obstacle = first_message(plan.error());
      add_once(coverage.notes, obstacle);
    }
    if (coverage.instrumented_launches == 0) coverage.reason = obstacle;
  }
}

/// Reuses an existing graph if it is identical.
Status Session::make_graph(std::vector<GraphNode>& nodes, Graph& graph, const GraphLaunch& launch) {
  std::vector<Graph::Made> wanted;
  std::vector<device::VariantNode> variants;
  std::uint64_t bytes = 0;
  for (GraphNode& node : nodes) {
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
      const State state(state_);
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

Status Session::reserve(const std::vector<GraphNode>& nodes, std::uint64_t bytes,
                        const std::function<Status()>& take) {
  const Status taken = take_memory(take);
  if (taken) return taken;
  const State state(state_);
  for (const GraphNode& node : nodes) {
    if (node.pending && node.is_wanted) node.seen->no_room.add(bytes, first_message(taken.error()));
  }
  return failure("not enough memory for their counters");
}

Status Session::launch_graph(std::vector<GraphNode>& nodes, Graph& graph, const GraphLaunch& launch) {
  std::vector<device::BufferWrite> writes;
  for (const GraphNode& node : nodes) {
    if (!node.pending) continue;
    for (const device::BufferWrite& each : node.pending->plan->layout.writes())
      writes.push_back({node.first + each.offset, each.bytes});
  }
  return graph.runs->launch(writes, launch.in);
}

void Session::begin_collecting_graph(std::vector<GraphNode>& nodes, Graph& graph, const GraphLaunch& launch) {
  Result<std::unique_ptr<device::Readback>> readback = graph.runs->read_back(launch.in);
  graph.runs->launched(launch.in);
  std::shared_ptr<SharedReadback> all;
  if (readback) all = std::make_shared<SharedReadback>(std::move(*readback));
  for (GraphNode& node : nodes) {
    if (!node.pending || !node.is_wanted || all == nullptr) write(node.activity);
    if (!node.pending || !node.is_wanted) continue;
    State state(state_);
    report::CoverageRecord& coverage = note_instrumented(*node.pending->plan);
    if (all == nullptr) {
      ++node.seen->lost;
      add_once(coverage.notes, "results lost: " + first_message(readback.error()));
      continue;
    }
    state.unlock();
    Outstanding outstanding(*node.seen);
    node.pending->readback =
        std::make_unique<PartOfReadback>(all, node.first, node.pending->plan->layout.bytes);
    add(std::move(node.pending), outstanding);
  }
}

std::shared_ptr<Session::Graph> Session::take_graph(std::uint64_t id) {
  const State state(state_);
  const auto found = graphs_.find(id);
  if (found == graphs_.end()) return nullptr;
  std::shared_ptr<Graph> graph = std::move(found->second);
  graphs_.erase(found);
  return graph;
}

void Session::forget_graph(std::uint64_t id) { take_graph(id); }

}  // namespace lynxpp::interposer
