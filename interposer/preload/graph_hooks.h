// Wrappers of the functions that make and launch graphs, and of launches that are only counted; part of
// preload/hooks.cpp, whose helpers they use.
#pragma once

#include <cstring>

#include "interposer/preload/graphs.h"

namespace lynxpp::preload {
namespace {

using Five = CUresult (*)(void*, void*, std::uintptr_t, std::uintptr_t, std::uintptr_t);
using Three = CUresult (*)(void*, void*, const void*);
using SetEnabled = CUresult (*)(void*, void*, unsigned);
using GraphLaunch = CUresult (*)(void*, CUstream);
using GraphDestroy = CUresult (*)(void*);

/// The beginning of CUDA_KERNEL_NODE_PARAMS, every version of it.
struct KernelNodeParameters {
  CUfunction function;
  unsigned shape[7];
  void** parameters;
  void** extra;
  CUkernel kernel;  ///< of the second version on
};

/// CUgraphNodeParams of a kernel node.
struct NodeParameters {
  int type;
  int reserved[3];
  KernelNodeParameters kernel;
};

constexpr int kernel_node = 0;
constexpr int child_graph_node = 4;
constexpr int conditional_node = 13;

KernelPtr known_kernel(void* function) {
  KernelPtr kernel = registry().find_function(function);
  return kernel != nullptr ? kernel : ask_driver(function);
}

KernelPtr kernel_of(const KernelNodeParameters& parameters, bool has_kernel) {
  void* const kernel = has_kernel ? parameters.kernel : nullptr;
  return known_kernel(parameters.function != nullptr ? parameters.function : kernel);
}

KernelPtr nameless(const char* name) {
  return std::make_shared<const Kernel>(Kernel{name, nullptr, nullptr});
}

/// Asks the driver for the kernel nodes of a graph and of those inside of it: added node by node, captured,
/// or cloned, all are there. Precondition: Passthrough is active.
void add_kernels(std::vector<GraphKernel>& kernels, void* graph, void* child) {
  const auto nodes_of =
      reinterpret_cast<CUresult (*)(void*, void**, std::size_t*)>(lookup_driver("cuGraphGetNodes"));
  const auto type_of = reinterpret_cast<CUresult (*)(void*, int*)>(lookup_driver("cuGraphNodeGetType"));
  const auto parameters_of = reinterpret_cast<CUresult (*)(void*, KernelNodeParameters*)>(
      lookup_driver("cuGraphKernelNodeGetParams"));
  const auto graph_of =
      reinterpret_cast<CUresult (*)(void*, void**)>(lookup_driver("cuGraphChildGraphNodeGetGraph"));
  std::size_t count = 0;
  if (nodes_of == nullptr || type_of == nullptr || nodes_of(graph, nullptr, &count) != cuda_success) return;
  std::vector<void*> nodes(count);
  if (count == 0 || nodes_of(graph, nodes.data(), &count) != cuda_success) return;
  nodes.resize(count);
  for (void* const node : nodes) {
    int type = -1;
    if (type_of(node, &type) != cuda_success) continue;
    if (type == kernel_node) {
      KernelNodeParameters parameters[2] = {};  // the driver's may be longer
      const bool known = parameters_of != nullptr && parameters_of(node, parameters) == cuda_success;
      kernels.push_back({node, child, known ? kernel_of(parameters[0], true) : nameless("(unnamed kernel)")});
    } else if (void* inner = nullptr;
               type == child_graph_node && graph_of != nullptr && graph_of(node, &inner) == cuda_success) {
      add_kernels(kernels, inner, child != nullptr ? child : node);
    } else if (type == conditional_node) {
      kernels.push_back({node, child, nameless("(conditional nodes of graphs, by replay)")});
    }
  }
}

std::vector<GraphKernel> kernels_of_graph(void* graph) {
  const Passthrough passthrough;
  std::vector<GraphKernel> kernels;
  add_kernels(kernels, graph, nullptr);
  return kernels;
}

template <Slot slot, Door door>
CUresult graph_instantiate(void** executable, void* graph, std::uintptr_t a, std::uintptr_t b,
                           std::uintptr_t c) {
  const CUresult result = original<slot, door, Five>()(executable, graph, a, b, c);
  if (result == cuda_success && executable != nullptr && !Passthrough::active())
    quietly([&] { graphs().add(*executable, kernels_of_graph(graph)); });
  return result;
}

/// Whether an update that failed has changed anything is not known, so the graph is read only where it
/// succeeded.
template <Slot slot, Door door>
CUresult graph_update(void* executable, void* graph, std::uintptr_t a, std::uintptr_t b, std::uintptr_t c) {
  const CUresult result = original<slot, door, Five>()(executable, graph, a, b, c);
  if (result == cuda_success && !Passthrough::active())
    quietly([&] { graphs().add(executable, kernels_of_graph(graph)); });
  return result;
}

template <Slot slot, Door door>
CUresult graph_set_kernel(void* executable, void* node, const void* given) {
  const CUresult result = original<slot, door, Three>()(executable, node, given);
  if (result == cuda_success && given != nullptr && !Passthrough::active()) {
    quietly([&] {
      const Passthrough passthrough;
      const bool has_kernel = slot == Slot::cuGraphExecKernelNodeSetParams_v2;
      graphs().set_kernel(executable, node,
                          kernel_of(*static_cast<const KernelNodeParameters*>(given), has_kernel));
    });
  }
  return result;
}

template <Slot slot, Door door>
CUresult graph_set_node(void* executable, void* node, const void* given) {
  const CUresult result = original<slot, door, Three>()(executable, node, given);
  const auto* const parameters = static_cast<const NodeParameters*>(given);
  if (result == cuda_success && given != nullptr && parameters->type == kernel_node &&
      !Passthrough::active()) {
    quietly([&] {
      const Passthrough passthrough;
      graphs().set_kernel(executable, node, kernel_of(parameters->kernel, true));
    });
  }
  return result;
}

template <Slot slot, Door door>
CUresult graph_set_child(void* executable, void* node, const void* graph) {
  const CUresult result = original<slot, door, Three>()(executable, node, graph);
  if (result == cuda_success && !Passthrough::active())
    quietly([&] { graphs().set_child(executable, node, kernels_of_graph(const_cast<void*>(graph))); });
  return result;
}

template <Slot slot, Door door>
CUresult graph_set_enabled(void* executable, void* node, unsigned is_enabled) {
  const CUresult result = original<slot, door, SetEnabled>()(executable, node, is_enabled);
  if (result == cuda_success && !Passthrough::active())
    quietly([&] { graphs().set_enabled(executable, node, is_enabled != 0); });
  return result;
}

template <Slot slot, Door door>
CUresult graph_destroy(void* executable) {
  if (!Passthrough::active()) quietly([&] { graphs().forget(executable); });
  return original<slot, door, GraphDestroy>()(executable);
}

/// Tells the engine of launches that the program has made in a way that is not instrumented.
void count_launches(const char* kernel, std::uint64_t launches, const char* way) {
  const lynxpp_engine* const engine = attached_engine();
  if (engine == nullptr) return;
  const Passthrough passthrough;
  engine->launched_natively(kernel, launches, way);
}

template <Slot slot, Door door>
[[gnu::noinline]] CUresult seen_graph_launch(void* executable, CUstream stream) {
  CUresult result = cuda_success;
  {
    const Passthrough passthrough;
    result = original<slot, door, GraphLaunch>()(executable, stream);
  }
  if (result != cuda_success || !attached() || Passthrough::active()) return result;
  quietly([&] {
    std::vector<std::pair<KernelPtr, std::uint64_t>> kernels;
    if (!graphs().launched_by(executable, kernels))
      kernels.emplace_back(nameless("(graphs that were not seen being instantiated, by replay)"), 1);
    for (const auto& [kernel, launches] : kernels)
      count_launches(kernel->name.c_str(), launches, "by graphs");
  });
  return result;
}

template <Slot slot, Door door>
CUresult graph_launch(void* executable, CUstream stream) {
  const auto known = known_original<slot, door, GraphLaunch>();
  const auto next = known != nullptr && !attached() ? known : seen_graph_launch<slot, door>;
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

/// cuLaunch, cuLaunchGrid and cuLaunchGridAsync, whose parameters the driver has been given one by one.
template <Slot slot, Door door>
CUresult launch_legacy(void* function, std::uintptr_t width, std::uintptr_t height, std::uintptr_t stream) {
  using Launch = CUresult (*)(void*, std::uintptr_t, std::uintptr_t, std::uintptr_t);
  const CUresult result = original<slot, door, Launch>()(function, width, height, stream);
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

template <Slot slot, Door door>
CUresult launch_multi_device(const DeviceLaunch* launches, unsigned count, unsigned flags) {
  using Launch = CUresult (*)(const DeviceLaunch*, unsigned, unsigned);
  CUresult result = cuda_success;
  {
    const Passthrough passthrough;
    result = original<slot, door, Launch>()(launches, count, flags);
  }
  for (unsigned i = 0; result == cuda_success && i < count; ++i)
    count_function(launches[i].function, "by cuLaunchCooperativeKernelMultiDevice");
  return result;
}

}  // namespace
}  // namespace lynxpp::preload
