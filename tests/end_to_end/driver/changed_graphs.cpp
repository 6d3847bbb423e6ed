// Launches a graph of a kernel and a child graph with another kernel, changes the executable graph as the
// arguments specify, and launches it again from several threads. Prints how often each kernel ran, read
// from the device's memory. Arguments, in execution order:
//   forget      destroys the instantiated graph
//   template    changes the instantiated graph, which does not affect the executable graph
//   child       replaces the child graph by another one, which is destroyed at once
//   children    does the same twice
//   disable     disables the outer node
//   update      updates from another graph, which is destroyed at once
//   refused     tries an update from a graph of another shape, which is refused
//   other       destroys the executable graph and instantiates a clone
#include <string_view>
#include <thread>

#include "program.h"

namespace {

constexpr char ptx[] = R"(
.version 7.0
.target sm_75
.address_size 64
.visible .entry first(.param .u64 p) {
  .reg .b32 %r<2>; .reg .b64 %rd<2>;
  ld.param.u64 %rd0, [p];
  atom.global.add.u32 %r0, [%rd0], 1;
  ret;
}
.visible .entry second(.param .u64 p) {
  .reg .b32 %r<2>; .reg .b64 %rd<2>;
  ld.param.u64 %rd0, [p];
  atom.global.add.u32 %r0, [%rd0+4], 1;
  ret;
}
.visible .entry third(.param .u64 p) {
  .reg .b32 %r<2>; .reg .b64 %rd<2>;
  ld.param.u64 %rd0, [p];
  atom.global.add.u32 %r0, [%rd0+8], 1;
  ret;
}
)";

constexpr const char* names[] = {"first", "second", "third"};
constexpr unsigned threads_per_block = 32;
CUfunction functions[3] = {};
CUdeviceptr counts = 0;
void* parameters[] = {&counts};
CUgraph graph = nullptr;
CUgraphNode outer_node = nullptr, child_node = nullptr;
CUgraphExec executable = nullptr;

CUDA_KERNEL_NODE_PARAMS call_of(int kernel) {
  CUDA_KERNEL_NODE_PARAMS call{};
  call.func = functions[kernel];
  call.gridDimX = call.gridDimY = call.gridDimZ = 1;
  call.blockDimX = threads_per_block;
  call.blockDimY = call.blockDimZ = 1;
  call.kernelParams = parameters;
  return call;
}

CUgraphNode add_kernel(CUgraph to, int kernel) {
  CUgraphNode node = nullptr;
  const CUDA_KERNEL_NODE_PARAMS call = call_of(kernel);
  CHECK_CALL(cuGraphAddKernelNode(&node, to, nullptr, 0, &call));
  return node;
}

CUgraph graph_of(int kernel) {
  CUgraph made = nullptr;
  CHECK_CALL(cuGraphCreate(&made, 0));
  add_kernel(made, kernel);
  return made;
}

/// Makes a graph of a kernel, a child graph after it, and another kernel after that.
CUgraph nested_graph(int outer, int inner, CUgraphNode* outer_made, CUgraphNode* child_made) {
  CUgraph const made = graph_of(outer), child = graph_of(inner);
  std::size_t count = 1;
  CHECK_CALL(cuGraphGetNodes(made, outer_made, &count));
  CHECK_CALL(cuGraphAddChildGraphNode(child_made, made, outer_made, 1, child));
  CUgraphNode const last = add_kernel(made, 2);
  const CUgraphEdgeData edge{};
  CHECK_CALL(cuGraphAddDependencies(made, child_made, &last, &edge, 1));
  CHECK_CALL(cuGraphDestroy(child));
  return made;
}

void replace_child(int kernel) {
  CUgraph const child = graph_of(kernel);
  CHECK_CALL(cuGraphExecChildGraphNodeSetParams(executable, child_node, child));
  CHECK_CALL(cuGraphDestroy(child));
}

void update() {
  CUgraphNode outer = nullptr, child = nullptr;
  CUgraph const from = nested_graph(1, 2, &outer, &child);
  CUgraphExecUpdateResultInfo result{};
  CHECK_CALL(cuGraphExecUpdate(executable, from, &result));
  CHECK_CALL(cuGraphDestroy(from));
}

void try_to_update() {
  CUgraph const from = graph_of(1);
  CUgraphExecUpdateResultInfo result{};
  if (cuGraphExecUpdate(executable, from, &result) == CUDA_SUCCESS)
    driver_program::check_call(CUDA_ERROR_UNKNOWN, "a refusal");
  CHECK_CALL(cuGraphDestroy(from));
}

void instantiate_clone() {
  CUgraph clone = nullptr;
  CHECK_CALL(cuGraphClone(&clone, graph));
  CHECK_CALL(cuGraphExecDestroy(executable));
  CHECK_CALL(cuGraphInstantiate(&executable, clone, 0));
  CHECK_CALL(cuGraphDestroy(clone));
}

void change(std::string_view how) {
  const CUDA_KERNEL_NODE_PARAMS second = call_of(1);
  if (how == "forget") CHECK_CALL(cuGraphDestroy(graph));
  if (how == "template") CHECK_CALL(cuGraphKernelNodeSetParams(outer_node, &second));
  if (how == "child") replace_child(0);
  if (how == "children") replace_child(0), replace_child(2);
  if (how == "kernel") CHECK_CALL(cuGraphExecKernelNodeSetParams(executable, outer_node, &second));
  if (how == "disable") CHECK_CALL(cuGraphNodeSetEnabled(executable, outer_node, 0));
  if (how == "update") update();
  if (how == "refused") try_to_update();
  if (how == "other") instantiate_clone();
}

}  // namespace

int main(int count, char** arguments) {
  CUdevice device = 0;
  CUcontext context = nullptr;
  CUmodule module = nullptr;
  CUstream streams[2] = {};
  CHECK_CALL(cuInit(0));
  CHECK_CALL(cuDeviceGet(&device, 0));
  CHECK_CALL(cuDevicePrimaryCtxRetain(&context, device));
  CHECK_CALL(cuCtxSetCurrent(context));
  CHECK_CALL(cuModuleLoadData(&module, ptx));
  for (int i = 0; i < 3; ++i) CHECK_CALL(cuModuleGetFunction(&functions[i], module, names[i]));
  for (CUstream& stream : streams) CHECK_CALL(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
  CHECK_CALL(cuMemAlloc(&counts, 3 * sizeof(unsigned)));
  CHECK_CALL(cuMemsetD32(counts, 0, 3));
  CHECK_CALL(cuCtxSynchronize());  // the streams do not wait for it

  graph = nested_graph(0, 1, &outer_node, &child_node);
  CHECK_CALL(cuGraphInstantiate(&executable, graph, 0));
  for (CUstream stream : streams) CHECK_CALL(cuGraphLaunch(executable, stream));
  for (int i = 1; i < count; ++i) {
    change(arguments[i]);
    CHECK_CALL(cuGraphUpload(executable, streams[0]));
    for (CUstream stream : streams) {
      std::thread([&] {
        CHECK_CALL(cuCtxSetCurrent(context));
        CHECK_CALL(cuGraphLaunch(executable, stream));
      }).join();
    }
  }
  for (CUstream stream : streams) CHECK_CALL(cuStreamSynchronize(stream));
  unsigned ran[3] = {};
  CHECK_CALL(cuMemcpyDtoH(ran, counts, sizeof ran));
  for (int i = 0; i < 3; ++i) std::printf("%s %u\n", names[i], ran[i] / threads_per_block);
  CHECK_CALL(cuGraphExecDestroy(executable));
  return 0;
}
