#include "interposer/preload/hooks/graph_hooks.h"

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstring>

#include "interposer/preload/driver.h"
#include "interposer/preload/engine_client.h"
#include "interposer/preload/hooks/module_hooks.h"
#include "interposer/preload/quietly.h"

namespace lynxpp::preload {
namespace {

using Five = CUresult (*)(void*, void*, std::uintptr_t, std::uintptr_t, std::uintptr_t);
using Three = CUresult (*)(void*, void*, const void*);
using Four = CUresult (*)(void*, void*, const void*, void*);
using SetEnabled = CUresult (*)(void*, void*, unsigned);
using GraphLaunch = CUresult (*)(void*, CUstream);
using GraphDestroy = CUresult (*)(void*);

/// CUDA_KERNEL_NODE_PARAMS; the first version ends before `kernel`.
struct KernelNodeParameters {
  CUfunction function;
  unsigned shape[7];
  void** parameters;
  void** extra;
  CUkernel kernel;
  CUcontext context;
};

/// CUgraphNodeParams of a kernel node.
struct NodeParameters {
  int type;
  int reserved[3];
  KernelNodeParameters kernel;
};

/// CUgraphNodeParams of a child graph node.
struct ChildParameters {
  int type;
  int reserved[3];
  void* graph;
};

constexpr int memory_allocation_node = 10;
constexpr int memory_free_node = 11;
constexpr int conditional_node = 13;
constexpr std::uint64_t instantiated_for_device_launch = 4;
constexpr int device_updatable = 13;  // CU_LAUNCH_ATTRIBUTE_DEVICE_UPDATABLE_KERNEL_NODE
constexpr char not_followed[] = "by graphs that were changed in a way that lynxpp does not track";

KernelPtr known_kernel(void* function) {
  KernelPtr kernel = registry().find_function(function).kernel;
  return kernel != nullptr ? kernel : ask_driver(function);
}

KernelPtr kernel_of(const KernelNodeParameters& parameters) {
  return known_kernel(parameters.function != nullptr ? parameters.function : parameters.kernel);
}

/// Reads the parameters of a call, which are shorter in the first version of the function.
KernelNodeParameters parameters_given(const void* given, bool is_first_version) {
  KernelNodeParameters parameters = {};
  const std::size_t bytes =
      is_first_version ? offsetof(KernelNodeParameters, kernel) : sizeof(KernelNodeParameters);
  std::memcpy(&parameters, given, bytes);
  return parameters;
}

KernelPtr nameless(const char* name) {
  return std::make_shared<const Kernel>(Kernel{name, nullptr, nullptr, -1});
}

/// True if a kernel that holds the node's handle may change the node.
bool is_device_updatable(void* node) {
  std::uint64_t value[8] = {};  // CUlaunchAttributeValue
  const auto attribute_of = driver_function<CUresult (*)(void*, int, void*)>("cuGraphKernelNodeGetAttribute");
  if (attribute_of == nullptr || attribute_of(node, device_updatable, value) != cuda_success) return false;
  return static_cast<std::uint32_t>(value[0]) != 0;
}

/// Adds the kernel nodes of a living graph and its child graphs, whether added node by node, captured, or
/// cloned. Precondition: Passthrough is active.
void add_contents(GraphContents& contents, void* graph, void* child) {
  const auto parameters_of =
      driver_function<CUresult (*)(void*, KernelNodeParameters*)>("cuGraphKernelNodeGetParams");
  for (void* const node : nodes_of(graph)) {
    const int type = type_of(node);
    if (type == kernel_node) {
      KernelNodeParameters parameters[2] = {};  // the driver's may be longer
      const bool known = parameters_of != nullptr && parameters_of(node, parameters) == cuda_success;
      contents.kernels.push_back(
          {node, child, known ? kernel_of(parameters[0]) : nameless("(unnamed kernel)")});
      if (is_device_updatable(node)) contents.obstacle = "by graphs with kernels that the device changes";
    } else if (void* const inner = graph_inside(node)) {
      add_contents(contents, inner, child != nullptr ? child : node);
    } else if (type == conditional_node) {
      contents.kernels.push_back({node, child, nameless("(conditional nodes of graphs, by replay)")});
      contents.obstacle = "by graphs with conditional nodes";
    } else if (type == memory_allocation_node || type == memory_free_node) {
      contents.obstacle = "by graphs with memory nodes";
    }
  }
}

/// `flags`: the flags that the graph was instantiated with.
GraphContents contents_of(void* graph, std::uint64_t flags) {
  GraphContents contents;
  add_contents(contents, graph, nullptr);
  if ((flags & instantiated_for_device_launch) != 0)
    contents.obstacle = "by graphs that the device may launch";
  return contents;
}

std::uint64_t instantiation_flags(Slot slot, std::uintptr_t given) {
  switch (slot) {
    case Slot::cuGraphInstantiateWithFlags: return given;
    case Slot::cuGraphInstantiateWithParams:
    case Slot::cuGraphInstantiateWithParams_ptsz:
      return given != 0 ? *reinterpret_cast<const std::uint64_t*>(given) : 0;
    default: return 0;
  }
}

template <Slot slot, Binding binding>
CUresult graph_instantiate(void** executable, void* graph, std::uintptr_t a, std::uintptr_t b,
                           std::uintptr_t c) {
  const CUresult result = original<slot, binding, Five>()(executable, graph, a, b, c);
  if (result != cuda_success || executable == nullptr || Passthrough::active()) return result;
  quietly([&] {
    const Passthrough passthrough;
    const ExecutableGraphPtr made = graphs().add(*executable);
    const Lock lock(made->mutex);
    made->context = current_context();
    made->flags = instantiation_flags(slot, a);
    if (attached()) made->told_since = attachments();
    made->become(graph, contents_of(graph, made->flags));
  });
  return result;
}

/// Applies the program's change of an executable graph to the clone, or abandons the clone. `change`
/// receives the executable graph.
template <typename Change>
void changed(void* executable, Change change) {
  if (Passthrough::active()) return;
  quietly([&] {
    const Passthrough passthrough;
    const ExecutableGraphPtr graph = graphs().find(executable);
    if (graph == nullptr) return;
    const Lock lock(graph->mutex);
    ++graph->version;
    change(*graph);
  });
}

/// Applies the same change to the clone's node, through the driver function of that name.
void change_clone(ExecutableGraph& graph, void* node, const char* function, const void* given) {
  if (graph.clone == nullptr) return;
  void* const twin = graph.twin_of(graph.name_in_clone(name_of(node)));
  const auto set = driver_function<CUresult (*)(void*, const void*)>(function);
  if (twin == nullptr || set == nullptr || set(twin, given) != cuda_success) graph.give_up(not_followed);
}

/// A failed update may have been applied partially.
template <Slot slot, Binding binding>
CUresult graph_update(void* executable, void* graph, std::uintptr_t a, std::uintptr_t b, std::uintptr_t c) {
  const CUresult result = original<slot, binding, Five>()(executable, graph, a, b, c);
  changed(executable, [&](ExecutableGraph& known) {
    if (result == cuda_success) known.become(graph, contents_of(graph, known.flags));
    if (result != cuda_success || !known.disabled.empty()) known.give_up(not_followed);
  });
  return result;
}

void set_kernel(ExecutableGraph& graph, void* node, const KernelNodeParameters& parameters) {
  const KernelPtr kernel = kernel_of(parameters);
  for (GraphKernel& each : graph.kernels) {
    if (each.given == name_of(node)) each.kernel = kernel;
  }
}

template <Slot slot, Binding binding>
CUresult graph_set_kernel(void* executable, void* node, const void* given) {
  const CUresult result = original<slot, binding, Three>()(executable, node, given);
  if (result != cuda_success || given == nullptr) return result;
  changed(executable, [&](ExecutableGraph& graph) {
    const auto parameters = parameters_given(given, slot == Slot::cuGraphExecKernelNodeSetParams);
    set_kernel(graph, node, parameters);
    change_clone(graph, node, "cuGraphKernelNodeSetParams", &parameters);
  });
  return result;
}

/// `child` is owned by the program, and alive.
void set_child(ExecutableGraph& graph, void* node, void* child) {
  const NodeName name = name_of(node);
  if (graph.clone != nullptr) {
    if (void* const inside = graph.clone->replace_child(name, child))
      child = inside;
    else
      graph.give_up("by graphs in which a graph was replaced");
  }
  const GraphContents contents = contents_of(child, graph.flags);
  graph.replace_child(name, contents);
  const auto is_unknown = [&](NodeName each) { return graph.twin_of(each) == nullptr; };
  if (contents.obstacle != nullptr || std::any_of(graph.disabled.begin(), graph.disabled.end(), is_unknown))
    graph.give_up(contents.obstacle != nullptr ? contents.obstacle : not_followed);
}

template <Slot slot, Binding binding>
CUresult graph_set_node(void* executable, void* node, const void* given) {
  const CUresult result = original<slot, binding, Three>()(executable, node, given);
  const auto* const parameters = static_cast<const NodeParameters*>(given);
  if (result != cuda_success || given == nullptr) return result;
  changed(executable, [&](ExecutableGraph& graph) {
    if (parameters->type == child_graph_node)
      return set_child(graph, node, static_cast<const ChildParameters*>(given)->graph);
    if (parameters->type == kernel_node) set_kernel(graph, node, parameters->kernel);
    change_clone(graph, node, "cuGraphNodeSetParams", given);
  });
  return result;
}

/// Returns the function that makes the same change to a node of a graph.
constexpr const char* for_graph(Slot slot) {
  switch (slot) {
    case Slot::cuGraphExecMemcpyNodeSetParams: return "cuGraphMemcpyNodeSetParams";
    case Slot::cuGraphExecMemsetNodeSetParams: return "cuGraphMemsetNodeSetParams";
    case Slot::cuGraphExecHostNodeSetParams: return "cuGraphHostNodeSetParams";
    case Slot::cuGraphExecEventRecordNodeSetEvent: return "cuGraphEventRecordNodeSetEvent";
    case Slot::cuGraphExecEventWaitNodeSetEvent: return "cuGraphEventWaitNodeSetEvent";
    case Slot::cuGraphExecExternalSemaphoresSignalNodeSetParams:
      return "cuGraphExternalSemaphoresSignalNodeSetParams";
    case Slot::cuGraphExecExternalSemaphoresWaitNodeSetParams:
      return "cuGraphExternalSemaphoresWaitNodeSetParams";
    case Slot::cuGraphExecBatchMemOpNodeSetParams: return "cuGraphBatchMemOpNodeSetParams";
    default: return "";
  }
}

/// Changes nodes other than kernels. `context`: for functions that take one, the node's context.
template <Slot slot, Binding binding>
CUresult graph_set_work(void* executable, void* node, const void* given, void* context) {
  const CUresult result = original<slot, binding, Four>()(executable, node, given, context);
  if (result != cuda_success) return result;
  changed(executable, [&](ExecutableGraph& graph) { change_clone(graph, node, for_graph(slot), given); });
  return result;
}

template <Slot slot, Binding binding>
CUresult graph_set_child(void* executable, void* node, const void* child) {
  const CUresult result = original<slot, binding, Three>()(executable, node, child);
  if (result != cuda_success) return result;
  changed(executable, [&](ExecutableGraph& graph) { set_child(graph, node, const_cast<void*>(child)); });
  return result;
}

template <Slot slot, Binding binding>
CUresult graph_set_enabled(void* executable, void* node, unsigned is_enabled) {
  const CUresult result = original<slot, binding, SetEnabled>()(executable, node, is_enabled);
  if (result != cuda_success) return result;
  changed(executable, [&](ExecutableGraph& graph) {
    const NodeName name = name_of(node);
    const auto same = std::remove(graph.disabled.begin(), graph.disabled.end(), name);
    graph.disabled.erase(same, graph.disabled.end());
    if (is_enabled == 0) graph.disabled.push_back(name);
    if (graph.clone != nullptr && graph.twin_of(name) == nullptr) graph.give_up(not_followed);
  });
  return result;
}

/// Returns the number of graphs whose last launch ran with variants. The next launch of these, attached or
/// not, must run after that one.
std::atomic<int>& graphs_with_variants() {
  static constinit std::atomic<int> count = 0;
  return count;
}

void note_variants(ExecutableGraph& graph, bool has_run_them) {
  if (graph.has_run_variants != has_run_them) graphs_with_variants() += has_run_them ? 1 : -1;
  graph.has_run_variants = has_run_them;
}

}  // namespace

void forget_graph(ExecutableGraph& graph) {
  const Lock lock(graph.mutex);
  note_variants(graph, false);
  graph.clone.reset();
  if (const lynxpp_engine* const engine = opened_engine()) engine->forget_graph(graph.id);
}

void abandon_graph(ExecutableGraph& graph) {
  const Lock lock(graph.mutex);
  note_variants(graph, false);
  if (graph.clone != nullptr) graph.clone->abandon();
  graph.clone.reset();
}

namespace {

template <Slot slot, Binding binding>
CUresult graph_destroy(void* executable) {
  const auto destroy = original<slot, binding, GraphDestroy>();
  if (Passthrough::active()) return destroy(executable);
  quietly([&] {
    const ExecutableGraphPtr graph = graphs().remove(executable);
    if (graph == nullptr) return;
    const Passthrough passthrough;
    forget_graph(*graph);
  });
  return destroy(executable);
}

/// Reports launches to the engine that the program made in a way that is not instrumented.
void count_launches(const char* kernel, std::uint64_t launches, const char* way) {
  const lynxpp_engine* const engine = attached_engine();
  if (engine == nullptr) return;
  const Passthrough passthrough;
  engine->launched_natively(kernel, launches, way);
}

/// True if the stream is being captured: the graph then becomes part of another one instead of running.
bool is_captured(CUstream stream, bool per_thread) {
  const auto status_of = driver_function<CUresult (*)(CUstream, int*)>("cuStreamIsCapturing");
  auto* const named = stream != nullptr ? stream : reinterpret_cast<CUstream>(per_thread ? 2 : 1);
  int status = 0;
  return status_of != nullptr && status_of(named, &status) == cuda_success && status != 0;
}

/// The engine's description of a graph and its clone, which must stay alive and unchanged during its
/// lifetime.
class GraphRequest {
 public:
  explicit GraphRequest(const ExecutableGraph& graph) {
    request.id = graph.id;
    request.version = graph.version;
    request.flags = graph.flags;
    request.attribute_changes = attribute_changes.load();
    if (graph.clone == nullptr) return;
    for (const GraphKernel& each : graph.kernels) {
      const ImagePtr& image = each.kernel->image;
      kernels_.push_back({graph.twin_of(each.node), each.kernel->name.c_str(),
                          image != nullptr ? &image->view() : nullptr, graph.is_enabled(each) ? 1 : 0,
                          each.kernel->cache_config});
    }
    for (const NodeName each : graph.disabled) disabled_.push_back(graph.twin_of(each));
    request.copy = graph.clone->graph();
    request.kernels = kernels_.data();
    request.kernel_count = kernels_.size();
    request.disabled = disabled_.data();
    request.disabled_count = disabled_.size();
  }
  GraphRequest(const GraphRequest&) = delete;
  GraphRequest& operator=(const GraphRequest&) = delete;

  lynxpp_graph_launch request = {};

 private:
  std::vector<lynxpp_graph_kernel> kernels_;
  std::vector<void*> disabled_;
};

/// Returns true if the engine made the launch.
bool graph_launched_by_engine(const lynxpp_engine& engine, ExecutableGraph& graph,
                              lynxpp_graph_launch& request, CUresult* result) LYNXPP_REQUIRES(graph.mutex) {
  const std::uint64_t attachment = attachments();
  request.may_be_running = graph.told_since != attachment ? 1 : 0;
  const int how = engine.launch_graph(&request, lookup_driver, result);
  graph.told_since = how != 0 && *result == cuda_success ? attachment : ExecutableGraph::never;
  note_variants(graph, how == 2);
  return how != 0;
}

void count_graph(const ExecutableGraph& graph) {
  for (const auto& [kernel, launches] : graph.launches())
    count_launches(kernel->name.c_str(), launches, graph.obstacle != nullptr ? graph.obstacle : "by graphs");
}

template <Slot slot, Binding binding>
[[gnu::noinline]] CUresult seen_graph_launch(void* executable, CUstream stream) {
  constexpr bool per_thread = slot == Slot::cuGraphLaunch_ptsz;
  const auto launch = original<slot, binding, GraphLaunch>();
  if (Passthrough::active()) return launch(executable, stream);
  const std::uint64_t number = next_launch_number();
  ExecutableGraphPtr graph;
  bool is_made = false;
  bool has_run = false;
  CUresult result = cuda_success;
  quietly([&] {
    const Passthrough passthrough;
    graph = graphs().find(executable);
    if (is_captured(stream, per_thread)) return;
    has_run = true;
    if (graph == nullptr) return;
    // If nothing is attached, the engine only makes the stream wait for variants. Opening it needs the
    // dynamic linker's lock, whose holder may be launching the same graph.
    const lynxpp_engine* const engine = attached() ? attached_engine() : opened_engine();
    const Lock lock(graph->mutex);
    if (engine == nullptr || (graph->clone == nullptr && !graph->has_run_variants)) return;
    GraphRequest told(*graph);
    lynxpp_graph_launch& request = told.request;
    request.stream = stream;
    request.per_thread_stream = per_thread ? 1 : 0;
    request.executable = executable;
    request.launch_original = launch;
    request.number = number;
    is_made = graph_launched_by_engine(*engine, *graph, request, &result);
  });
  if (is_made) return result;
  {
    const Passthrough passthrough;
    result = launch(executable, stream);
  }
  if (result != cuda_success || !has_run || !attached()) return result;
  quietly([&] {
    if (graph == nullptr)
      return count_launches("(graphs that were not seen being instantiated, by replay)", 1, "by graphs");
    const Lock lock(graph->mutex);
    count_graph(*graph);
  });
  return result;
}

template <Slot slot, Binding binding>
CUresult graph_launch(void* executable, CUstream stream) {
  const auto known = known_original<slot, binding, GraphLaunch>();
  const bool is_native = known != nullptr && !attached() && graphs_with_variants().load() == 0;
  if (is_native) next_launch_number();
  const auto next = is_native ? known : seen_graph_launch<slot, binding>;
  return next(executable, stream);
}

// ---- launches that are only counted ----------------------------------------------------------------------

void count_function(void* function, const char* way) {
  if (!attached() || Passthrough::active()) return;
  quietly([&] {
    KernelPtr kernel;
    {
      const Passthrough passthrough;
      kernel = known_kernel(function);
    }
    count_launches(kernel->name.c_str(), 1, way);
  });
}

/// Wraps cuLaunch, cuLaunchGrid and cuLaunchGridAsync, whose parameters were passed to the driver one by one.
template <Slot slot, Binding binding>
CUresult launch_legacy(void* function, std::uintptr_t width, std::uintptr_t height, std::uintptr_t stream) {
  using Launch = CUresult (*)(void*, std::uintptr_t, std::uintptr_t, std::uintptr_t);
  const CUresult result = original<slot, binding, Launch>()(function, width, height, stream);
  if (result == cuda_success) count_function(function, "by cuLaunch, cuLaunchGrid or cuLaunchGridAsync");
  return result;
}

/// CUDA_LAUNCH_PARAMS.
struct DeviceLaunch {
  CUfunction function;
  unsigned shape[7];
  CUstream stream;
  void** parameters;
};

template <Slot slot, Binding binding>
CUresult launch_multi_device(const DeviceLaunch* launches, unsigned count, unsigned flags) {
  using Launch = CUresult (*)(const DeviceLaunch*, unsigned, unsigned);
  CUresult result = cuda_success;
  {
    const Passthrough passthrough;
    result = original<slot, binding, Launch>()(launches, count, flags);
  }
  for (unsigned i = 0; result == cuda_success && i < count; ++i)
    count_function(launches[i].function, "by cuLaunchCooperativeKernelMultiDevice");
  return result;
}

}  // namespace
}  // namespace lynxpp::preload

#define LYNXPP_FAMILY_graphs LYNXPP_DEFINE_HOOK
#include "interposer/preload/hooks/define_hooks.h"
