// The fake driver's graphs. Nodes live as long as their graph; an executable graph needs neither.
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string_view>

#include "tests/interposer/fake_driver/fake_driver.h"
#include "tests/interposer/fake_driver/objects.h"

using lynxpp::fake_driver::create;
using lynxpp::fake_driver::current_context;
using lynxpp::fake_driver::kill;
using lynxpp::fake_driver::Object;
using lynxpp::fake_driver::object;

namespace {

constexpr int invalid_value = 1;
constexpr int not_supported = 801;
constexpr int update_failed = 910;

struct NodeKind {
  const char* name;
  int type;  // CUgraphNodeType
};
constexpr NodeKind node_kinds[] = {
    {"kernel node", 0}, {"child node", 4}, {"memory node", 10}, {"conditional node", 13}};

int type_of(const Object& node) {
  for (const NodeKind& each : node_kinds) {
    if (node.kind == each.name) return each.type;
  }
  return -1;
}

Object* add_node(Object* graph, const char* kind, void* const* before, std::size_t count,
                 void* owner = nullptr) {
  Object* const made = create(kind, "", owner, graph->context);
  for (std::size_t i = 0; i < count; ++i) made->before.push_back(static_cast<Object*>(before[i]));
  graph->nodes.push_back(made);
  return made;
}

Object* copy_of(const Object& graph) {
  Object* const made = create("graph", "", nullptr, graph.context);
  for (Object* const node : graph.nodes) {
    Object* const twin = add_node(made, node->kind.c_str(), nullptr, 0, node->owner);
    twin->origin = node;
    std::copy(std::begin(node->attributes), std::end(node->attributes), twin->attributes);
    for (Object* const inner : node->nodes) twin->nodes.push_back(copy_of(*inner));
  }
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    for (Object* const each : graph.nodes[i]->before) {
      const auto index = std::find(graph.nodes.begin(), graph.nodes.end(), each) - graph.nodes.begin();
      made->nodes[i]->before.push_back(made->nodes[static_cast<std::size_t>(index)]);
    }
  }
  return made;
}

bool can_be_copied(const Object& graph) {
  return getenv("FAKE_DRIVER_COPIES_NO_GRAPHS") == nullptr &&
         std::all_of(graph.nodes.begin(), graph.nodes.end(),
                     [](const Object* node) { return type_of(*node) == 0 || type_of(*node) == 4; });
}

/// Returns the graph that contains a living node.
Object* graph_of(Object* node) {
  const std::lock_guard lock(lynxpp::fake_driver::objects_mutex());
  for (Object& each : lynxpp::fake_driver::objects()) {
    if (each.is_alive && each.kind == "graph" &&
        std::find(each.nodes.begin(), each.nodes.end(), node) != each.nodes.end())
      return &each;
  }
  abort();
}

int list(const std::vector<Object*>& all, void** nodes, std::size_t* count) {
  for (std::size_t i = 0; nodes != nullptr && i < *count && i < all.size(); ++i) nodes[i] = all[i];
  return *count = all.size(), 0;
}

/// Also checks the node by which the program changes an executable graph.
bool is_of(void* node, const char* kind, const char* call) { return object(node, call)->kind == kind; }

}  // namespace

// A kernel node's owner is its function.
EXPORT int cuGraphCreate(void** graph, unsigned) {
  return *graph = create("graph", "", nullptr, current_context()), 0;
}
EXPORT int cuGraphDestroy(void* graph) { return kill(object(graph)), 0; }
EXPORT int cuGraphDestroyNode(void* node) {
  Object* const dying = object(node);
  Object* const graph = graph_of(dying);
  std::erase(graph->nodes, dying);
  for (Object* const each : graph->nodes) std::erase(each->before, dying);
  return kill(dying), 0;
}
EXPORT int cuGraphClone(void** clone, void* graph) {
  if (!can_be_copied(*object(graph))) return not_supported;
  return *clone = copy_of(*object(graph)), 0;
}
EXPORT int cuGraphNodeFindInClone(void** twin, void* node, void* clone) {
  for (Object* const each : object(clone)->nodes) {
    if (each->origin == object(node)) return *twin = each, 0;
  }
  return invalid_value;
}
EXPORT int cuGraphAddKernelNode(void** node, void* graph, const void* before, std::size_t count,
                                const KernelNode* parameters) {
  return *node = add_node(object(graph), "kernel node", static_cast<void* const*>(before), count,
                          object(parameters->function)),
         0;
}
EXPORT int cuGraphAddChildGraphNode(void** node, void* graph, const void* before, std::size_t count,
                                    void* child) {
  Object* const made = add_node(object(graph), "child node", static_cast<void* const*>(before), count);
  made->nodes.push_back(copy_of(*object(child)));
  return *node = made, 0;
}
EXPORT int cuGraphConditionalHandleCreate(std::uint64_t* handle, void* graph, void*, unsigned, unsigned) {
  return *handle = reinterpret_cast<std::uintptr_t>(object(graph)), 0;
}
EXPORT int cuGraphAddNode_v2(void** node, void* graph, void* const* before, const void*, std::size_t count,
                             GraphNode* parameters) {
  const auto* const kind = std::find_if(std::begin(node_kinds), std::end(node_kinds),
                                        [&](const NodeKind& each) { return each.type == parameters->type; });
  if (kind == std::end(node_kinds)) return invalid_value;
  Object* const made = add_node(object(graph), kind->name, before, count);
  if (kind->type == 0) made->owner = object(parameters->kernel.function);
  if (kind->type == 4) made->nodes.push_back(copy_of(*object(parameters->graph)));
  if (kind->type == 13) {
    static void* bodies[1];
    made->nodes.push_back(create("graph", "", nullptr, current_context()));
    bodies[0] = made->nodes[0];
    parameters->conditional.bodies = bodies;
  }
  return *node = made, 0;
}
EXPORT int cuGraphAddDependencies_v2(void* graph, void* const* from, void* const* to, const void*,
                                     std::size_t count) {
  object(graph);
  for (std::size_t i = 0; i < count; ++i) object(to[i])->before.push_back(object(from[i]));
  return 0;
}
EXPORT int cuGraphRemoveDependencies_v2(void* graph, void* const* from, void* const* to, const void*,
                                        std::size_t count) {
  object(graph);
  for (std::size_t i = 0; i < count; ++i) std::erase(object(to[i])->before, object(from[i]));
  return 0;
}
EXPORT int cuGraphNodeGetDependencies_v2(void* node, void** nodes, void*, std::size_t* count) {
  return list(object(node)->before, nodes, count);
}
EXPORT int cuGraphNodeGetDependentNodes_v2(void* node, void** nodes, void*, std::size_t* count) {
  Object* const first = object(node);
  std::vector<Object*> found;
  for (Object* const each : graph_of(first)->nodes) {
    if (std::find(each->before.begin(), each->before.end(), first) != each->before.end())
      found.push_back(each);
  }
  return list(found, nodes, count);
}
EXPORT int cuGraphGetNodes(void* graph, void** nodes, std::size_t* count) {
  return list(object(graph)->nodes, nodes, count);
}
EXPORT int cuGraphNodeGetType(void* node, int* type) { return *type = type_of(*object(node)), 0; }
EXPORT int cuGraphKernelNodeGetParams(void* node, KernelNode* parameters) {
  return parameters->function = object(node)->owner, 0;
}
EXPORT int cuGraphKernelNodeSetParams(void* node, const KernelNode* parameters) {
  return object(node)->owner = object(parameters->function), 0;
}
EXPORT int cuGraphKernelNodeGetAttribute(void* node, int attribute, void* value) {
  return *static_cast<int*>(value) = object(node)->attributes[attribute], 0;
}
EXPORT int cuGraphKernelNodeSetAttribute(void* node, int attribute, const void* value) {
  return object(node)->attributes[attribute] = *static_cast<const int*>(value), 0;
}
EXPORT int cuGraphKernelNodeCopyAttributes(void* to, void* from) {
  std::copy_n(object(from)->attributes, std::size(object(from)->attributes), object(to)->attributes);
  return 0;
}
EXPORT int cuGraphNodeSetParams(void* node, const GraphNode* parameters) {
  if (type_of(*object(node)) != parameters->type || parameters->type != 0) return invalid_value;
  return object(node)->owner = object(parameters->kernel.function), 0;
}
EXPORT int cuGraphChildGraphNodeGetGraph(void* node, void** graph) {
  if (object(node)->kind != "child node") return invalid_value;
  return *graph = object(node)->nodes.at(0), 0;
}

EXPORT int cuUserObjectCreate(void** made, void*, void*, unsigned, unsigned) {
  return *made = create("user object"), 0;
}
EXPORT int cuGraphRetainUserObject(void* graph, void* retained, unsigned, unsigned) {
  return object(graph), object(retained), 0;
}

EXPORT int cuGraphInstantiateWithFlags(void** executable, void* graph, unsigned long long) {
  return *executable = create("executable graph", "", nullptr, object(graph)->context), 0;
}
EXPORT int cuGraphInstantiateWithParams(void** executable, void* graph, void*) {
  return *executable = create("executable graph", "", nullptr, object(graph)->context), 0;
}
/// A function that instantiates graphs and that lynxpp does not know.
EXPORT int fakeInstantiate(void** executable, void* graph) {
  return *executable = create("executable graph", "", nullptr, object(graph)->context), 0;
}
EXPORT int cuGraphUpload(void* executable, void*) { return object(executable), 0; }
EXPORT int cuGraphExecUpdate(void* executable, void* graph, void*) {
  return object(executable), object(graph)->nodes.empty() ? update_failed : 0;
}
EXPORT int cuGraphExecKernelNodeSetParams(void* executable, void* node, const KernelNode* parameters) {
  object(executable), object(parameters->function);
  return is_of(node, "kernel node", __func__) ? 0 : invalid_value;
}
EXPORT int cuGraphExecChildGraphNodeSetParams(void* executable, void* node, void* child) {
  object(executable), object(child);
  return is_of(node, "child node", __func__) ? 0 : invalid_value;
}
EXPORT int cuGraphExecNodeSetParams(void* executable, void* node, const GraphNode* parameters) {
  object(executable);
  return type_of(*object(node)) == parameters->type ? 0 : invalid_value;
}
EXPORT int cuGraphNodeSetEnabled(void* executable, void* node, unsigned) {
  object(executable);
  return is_of(node, "kernel node", __func__) ? 0 : invalid_value;
}
EXPORT int cuGraphLaunch(void* executable, void*) {
  object(executable);
  return log_event("driver cuGraphLaunch"), 0;
}
EXPORT int cuGraphExecDestroy(void* executable) { return kill(object(executable)), 0; }
