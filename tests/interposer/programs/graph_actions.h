// Actions of driver_program with graphs.
#pragma once

#include <array>
#include <initializer_list>
#include <string>
#include <thread>
#include <vector>

#include "tests/interposer/programs/driver_api.h"

namespace {

void* kernel_node(void* graph, void* function) {
  KernelNode parameters = {};
  parameters.function = function;
  void* node = nullptr;
  succeed(api.cuGraphAddKernelNode(&node, graph, nullptr, 0, &parameters));
  return node;
}

/// Replays a graph of two nodes and a child graph, and its changed versions.
void graphs() {
  void* const first = loaded_function("first");
  void* const second = loaded_function("second");
  void* inner = nullptr;
  succeed(api.cuGraphCreate(&inner, 0));
  kernel_node(inner, second);
  void* outer = nullptr;
  succeed(api.cuGraphCreate(&outer, 0));
  void* const node = kernel_node(outer, first);
  void* const other_node = kernel_node(outer, first);
  void* child = nullptr;
  succeed(api.cuGraphAddChildGraphNode(&child, outer, nullptr, 0, inner));
  void* executable = nullptr;
  succeed(api.cuGraphInstantiateWithFlags(&executable, outer, 0));
  const auto replay = [&] { succeed(api.cuGraphLaunch(executable, nullptr)); };
  replay();
  replay();
  succeed(api.cuGraphNodeSetEnabled(executable, node, 0));
  replay();
  KernelNode parameters = {};
  parameters.function = second;
  succeed(api.cuGraphExecKernelNodeSetParams(executable, other_node, &parameters));
  replay();
  void* several = nullptr;
  succeed(api.cuGraphCreate(&several, 0));
  for (int i = 0; i < 3; ++i) kernel_node(several, second);
  succeed(api.cuGraphExecChildGraphNodeSetParams(executable, child, several));
  replay();
  succeed(api.cuGraphExecUpdate(executable, inner, nullptr));
  replay();
  succeed(api.cuGraphExecDestroy(executable));
  const auto instantiate =
      reinterpret_cast<int (*)(void**, void*)>(dlsym(dlopen("libcuda.so.1", RTLD_NOW), "fakeInstantiate"));
  succeed(instantiate(&executable, outer));
  replay();
}

/// A graph of the kernels, one after the other, and its nodes.
struct Chain {
  explicit Chain(std::initializer_list<void*> functions) {
    succeed(api.cuGraphCreate(&graph, 0));
    for (void* const function : functions) {
      nodes.push_back(kernel_node(graph, function));
      if (nodes.size() > 1)
        succeed(api.cuGraphAddDependencies_v2(graph, &nodes[nodes.size() - 2], &nodes.back(), nullptr, 1));
    }
  }
  void* graph = nullptr;
  std::vector<void*> nodes;
};

/// Launches a graph, changes it as each letter says, and launches it again after each change.
void change_graphs(const std::string& changes) {
  void* module = nullptr;
  void* const first = loaded_function("first", &module);
  void* const second = loaded_function("second");
  Chain outer{first, second};
  Chain inner{second};
  void* child = nullptr;
  void* executable = nullptr;
  succeed(api.cuGraphAddChildGraphNode(&child, outer.graph, &outer.nodes[0], 1, inner.graph));
  succeed(api.cuGraphAddDependencies_v2(outer.graph, &child, &outer.nodes[1], nullptr, 1));
  succeed(api.cuGraphInstantiateWithFlags(&executable, outer.graph, 0));
  const auto replay = [&] { succeed(api.cuGraphLaunch(executable, nullptr)); };
  const auto instantiate_again = [&] {
    succeed(api.cuGraphExecDestroy(executable));
    succeed(
        api.cuGraphInstantiateWithParams(&executable, outer.graph, std::array<std::uint64_t, 4>{}.data()));
  };
  const auto kernel_of = [](void* function) {
    KernelNode parameters = {};
    parameters.function = function;
    return parameters;
  };
  GraphNode node = {};
  int value = 1;
  replay();
  for (const char change : changes) {
    Chain other{first, first};
    const KernelNode is_second = kernel_of(second);
    switch (change) {
      case 'c': succeed(api.cuGraphExecChildGraphNodeSetParams(executable, child, other.graph)); break;
      case 'C':  // the same by the function for nodes of every type
        node = {};
        node.type = 4;
        node.graph = other.graph;
        succeed(api.cuGraphExecNodeSetParams(executable, child, &node));
        break;
      case 'k': succeed(api.cuGraphExecKernelNodeSetParams(executable, outer.nodes[0], &is_second)); break;
      case 'K':
        node = {};
        node.kernel = is_second;
        succeed(api.cuGraphExecNodeSetParams(executable, outer.nodes[0], &node));
        break;
      case 'd': succeed(api.cuGraphNodeSetEnabled(executable, outer.nodes[1], 0)); break;
      case 'e': succeed(api.cuGraphNodeSetEnabled(executable, outer.nodes[1], 1)); break;
      case 'u': succeed(api.cuGraphExecUpdate(executable, other.graph, nullptr)); break;
      case 'U': {  // by a graph of the same nodes; the program goes on naming those that it instantiated
        Chain same{first, first};
        void* its_child = nullptr;
        succeed(api.cuGraphAddChildGraphNode(&its_child, same.graph, &same.nodes[0], 1, Chain{first}.graph));
        succeed(api.cuGraphAddDependencies_v2(same.graph, &its_child, &same.nodes[1], nullptr, 1));
        succeed(api.cuGraphExecUpdate(executable, same.graph, nullptr));
        succeed(api.cuGraphDestroy(same.graph));
        break;
      }
      case 'r':  // refused
        if (api.cuGraphExecUpdate(executable, Chain{}.graph, nullptr) == 0) fail("an update");
        break;
      case 't':  // changes the graph that was instantiated in every way; the executable one does not follow
        succeed(api.cuGraphKernelNodeSetParams(outer.nodes[0], &is_second));
        succeed(api.cuGraphKernelNodeSetAttribute(outer.nodes[0], 13, &value));
        succeed(api.cuGraphKernelNodeCopyAttributes(outer.nodes[1], outer.nodes[0]));
        succeed(api.cuGraphRemoveDependencies_v2(outer.graph, &child, &outer.nodes[1], nullptr, 1));
        succeed(api.cuGraphDestroyNode(outer.nodes[1]));
        break;
      case 'f': succeed(api.cuGraphDestroy(outer.graph)); break;
      case 'x': instantiate_again(); break;
      case 'l': succeed(api.cuGraphUpload(executable, nullptr)); break;
      case 'w': {  // a loop, like that of a conditional node
        node = {};
        node.type = 13;
        succeed(api.cuGraphConditionalHandleCreate(&node.conditional.handle, outer.graph, nullptr, 0, 0));
        void* loop = nullptr;
        succeed(api.cuGraphAddNode_v2(&loop, outer.graph, nullptr, nullptr, 0, &node));
        kernel_node(node.conditional.bodies[0], first);
        instantiate_again();
        break;
      }
      case 'n':  // a kernel by the function for nodes of every type
        node = {};
        node.kernel = is_second;
        succeed(api.cuGraphAddNode_v2(&child, outer.graph, nullptr, nullptr, 0, &node));
        instantiate_again();
        break;
      case 'o': {  // one object more that lives as long as the graph
        void* retained = nullptr;
        succeed(api.cuUserObjectCreate(&retained, nullptr, nullptr, 1, 1));
        succeed(api.cuGraphRetainUserObject(outer.graph, retained, 1, 0));
        instantiate_again();
        break;
      }
      case 'T': break;  // launched by another thread
      case 'm':         // its kernel goes with its module, and another one comes
        succeed(api.cuGraphExecKernelNodeSetParams(executable, outer.nodes[0], &is_second));
        succeed(api.cuModuleUnload(module));
        break;
      default: fail("unknown change");
    }
    succeed(api.cuGraphDestroy(other.graph));
    if (change == 'T') {
      std::thread(replay).join();
    } else {
      replay();
    }
  }
  succeed(api.cuGraphExecDestroy(executable));
}

/// A kernel and a graph in a context, which ends; then a kernel of the same name whose handle was not seen
/// being created, and a graph with it.
void end_contexts(const std::string& how) {
  void* const driver = dlopen("libcuda.so.1", RTLD_NOW);
  const auto set_current = reinterpret_cast<void (*)(void*)>(dlsym(driver, "fakeSetCurrent"));
  const auto enumerate =
      reinterpret_cast<int (*)(void**, void*, const char*)>(dlsym(driver, "fakeEnumerate"));
  static char context;
  void* primary = nullptr;
  if (how == "destroyed") set_current(&context);
  succeed(api.cuDevicePrimaryCtxRetain(&primary, 0));
  const Chain ending{loaded_function("first")};
  void* executable = nullptr;
  succeed(api.cuGraphInstantiateWithFlags(&executable, ending.graph, 0));
  succeed(api.cuGraphLaunch(executable, nullptr));
  if (how == "reset") succeed(api.cuDevicePrimaryCtxReset_v2(0));
  for (int i = 0; how == "released" && i < 2; ++i) succeed(api.cuDevicePrimaryCtxRelease_v2(0));
  if (how == "destroyed") succeed(api.cuCtxDestroy_v2(&context));
  set_current(nullptr);
  succeed(api.cuDevicePrimaryCtxRetain(&primary, 0));
  void* library = nullptr;
  void* function = nullptr;
  succeed(api.cuModuleLoadData(&library, ptx_text));
  succeed(enumerate(&function, library, "first"));
  launch(function);
  const Chain later{function};
  succeed(api.cuGraphInstantiateWithFlags(&executable, later.graph, 0));
  succeed(api.cuGraphLaunch(executable, nullptr));
  succeed(api.cuGraphExecDestroy(executable));
}

}  // namespace
