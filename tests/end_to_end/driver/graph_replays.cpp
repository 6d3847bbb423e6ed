// Launches a vector addition once with each of several grids, then by graphs that it changes in every
// possible way, and prints the expected number of launches of each grid. Argument: the PTX of
// examples/apps/vecadd.cu.
#include <map>

#include "program.h"

namespace {

CUcontext context = nullptr;
CUfunction vecadd = nullptr;
CUstream streams[2] = {};
CUdeviceptr a = 0, sum = 0;
int n = 1000;
std::vector<float> values(1000, 3.0f);
const std::size_t bytes = values.size() * sizeof(float);
void* parameters[] = {&a, &sum, &sum, &n};
bool is_right = true;
std::map<unsigned, int> counted;

/// Computes sum += 3, on the device alone.
CUDA_KERNEL_NODE_PARAMS add(unsigned grid) {
  return {vecadd, grid, 1, 1, 256, 1, 1, 0, parameters, nullptr, nullptr, context};
}

void launch(unsigned grid, CUstream stream) {
  CHECK_CALL(cuLaunchKernel(vecadd, grid, 1, 1, 256, 1, 1, 0, stream, parameters, nullptr));
}

void expect(float expected, const char* what) {
  for (CUstream stream : streams) CHECK_CALL(cuStreamSynchronize(stream));
  CHECK_CALL(cuMemcpyDtoH(values.data(), sum, bytes));
  for (const float value : values) {
    if (value == expected) continue;
    std::printf("%s: %g instead of %g\n", what, value, expected);
    is_right = false;
    return;
  }
}

void replay(CUgraphExec executable, std::initializer_list<unsigned> grids, int stream = 0) {
  CHECK_CALL(cuGraphLaunch(executable, streams[stream]));
  for (const unsigned grid : grids) ++counted[grid];
}

struct Graph {
  CUgraph graph = nullptr;
  CUgraphNode fill = nullptr, kernel = nullptr, child = nullptr;
};

CUDA_MEMSET_NODE_PARAMS fill_with(float value) {
  unsigned pattern = 0;
  static_assert(sizeof pattern == sizeof value);
  __builtin_memcpy(&pattern, &value, sizeof value);
  return {sum, 0, pattern, 4, values.size(), 1};
}

/// Makes a graph of a fill, a kernel, and a child graph with another kernel.
Graph make_graph(float from, unsigned grid, unsigned inner_grid) {
  Graph made;
  CUgraph inner = nullptr;
  CUgraphNode node = nullptr;
  const CUDA_KERNEL_NODE_PARAMS outside = add(grid), inside = add(inner_grid);
  const CUDA_MEMSET_NODE_PARAMS fill = fill_with(from);
  CHECK_CALL(cuGraphCreate(&inner, 0));
  CHECK_CALL(cuGraphAddKernelNode(&node, inner, nullptr, 0, &inside));
  CHECK_CALL(cuGraphCreate(&made.graph, 0));
  CHECK_CALL(cuGraphAddMemsetNode(&made.fill, made.graph, nullptr, 0, &fill, context));
  CHECK_CALL(cuGraphAddKernelNode(&made.kernel, made.graph, &made.fill, 1, &outside));
  CHECK_CALL(cuGraphAddChildGraphNode(&made.child, made.graph, &made.kernel, 1, inner));
  CHECK_CALL(cuGraphDestroy(inner));
  return made;
}

void change_executable() {
  const Graph graph = make_graph(0, 4, 5);
  CUgraphExec executable = nullptr;
  CHECK_CALL(cuGraphInstantiate(&executable, graph.graph, 0));
  // Not waited for, on two streams: the launches run one after the other.
  for (int i = 0; i < 4; ++i) replay(executable, {4, 5}, i % 2);
  expect(6, "as instantiated");

  const CUDA_KERNEL_NODE_PARAMS other = add(7);
  CHECK_CALL(cuGraphExecKernelNodeSetParams(executable, graph.kernel, &other));
  replay(executable, {7, 5});
  const CUDA_MEMSET_NODE_PARAMS ten = fill_with(10);
  CHECK_CALL(cuGraphExecMemsetNodeSetParams(executable, graph.fill, &ten, context));
  replay(executable, {7, 5}, 1);
  expect(16, "another kernel, another fill");

  CHECK_CALL(cuGraphNodeSetEnabled(executable, graph.kernel, 0));
  replay(executable, {5});
  expect(13, "without a kernel");
  CHECK_CALL(cuGraphNodeSetEnabled(executable, graph.fill, 0));
  replay(executable, {5}, 1);
  expect(16, "without the fill");
  CHECK_CALL(cuGraphNodeSetEnabled(executable, graph.kernel, 1));
  CHECK_CALL(cuGraphNodeSetEnabled(executable, graph.fill, 1));
  replay(executable, {7, 5});
  expect(16, "with both again");

  const Graph update = make_graph(1, 8, 9);
  CUgraphExecUpdateResultInfo result;
  CHECK_CALL(cuGraphExecUpdate(executable, update.graph, &result));
  CHECK_CALL(cuGraphDestroy(update.graph));
  for (int i = 0; i < 2; ++i) replay(executable, {8, 9}, i);
  expect(7, "updated");

  // The program's graph is no longer the one from which the executable graph was made.
  CUgraph clone = nullptr;
  CHECK_CALL(cuGraphClone(&clone, graph.graph));
  CHECK_CALL(cuGraphDestroy(graph.graph));
  CHECK_CALL(cuGraphExecDestroy(executable));
  CUDA_GRAPH_INSTANTIATE_PARAMS how{};
  CHECK_CALL(cuGraphInstantiateWithParams(&executable, clone, &how));
  CHECK_CALL(cuGraphDestroy(clone));
  replay(executable, {4, 5});
  CHECK_CALL(cuGraphExecDestroy(executable));  // while it may be running
  expect(6, "a clone");
}

void capture() {
  CUgraph graph = nullptr;
  CUgraphExec executable = nullptr, outer = nullptr;
  CHECK_CALL(cuMemsetD32(sum, 0, values.size()));
  CHECK_CALL(cuStreamBeginCapture(streams[0], CU_STREAM_CAPTURE_MODE_GLOBAL));
  launch(6, streams[0]);
  launch(10, streams[0]);
  CHECK_CALL(cuStreamEndCapture(streams[0], &graph));
  expect(0, "captured");
  CHECK_CALL(cuGraphInstantiate(&executable, graph, 0));
  for (int i = 0; i < 3; ++i) replay(executable, {6, 10}, i % 2);
  expect(18, "replayed");
  // Launching into a capture: nothing is launched, or NVIDIA's driver 580 refuses.
  float before = 18;
  CHECK_CALL(cuStreamBeginCapture(streams[0], CU_STREAM_CAPTURE_MODE_GLOBAL));
  if (cuGraphLaunch(executable, streams[0]) == CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED) {
    cuStreamEndCapture(streams[0], &graph);
    expect(before, "not launched into a capture");
  } else {
    launch(11, streams[0]);
    CHECK_CALL(cuStreamEndCapture(streams[0], &graph));
    expect(before, "launched into a capture");
    CHECK_CALL(cuGraphInstantiate(&outer, graph, 0));
    replay(outer, {6, 10, 11}, 1);
    before += 9;
    expect(before, "and replayed");
  }

  const std::string specification = getenv("LYNXPP_SPEC") != nullptr ? getenv("LYNXPP_SPEC") : "";
  replay(executable, {6, 10}, 1);
  unsetenv("LYNXPP_SPEC");
  for (int i = 0; i < 3; ++i) replay(executable, {}, i % 2);
  setenv("LYNXPP_SPEC", specification.c_str(), 1);
  replay(executable, {}, 1);  // an earlier launch may still be running, unknown to lynxpp
  for (int i = 0; i < 2; ++i) replay(executable, {6, 10}, i);
  expect(before + 42, "detached and attached");
}

}  // namespace

int main(int, char** arguments) {
  const std::string ptx = driver_program::read_file(arguments[1]);
  CUdevice device = 0;
  CUmodule module = nullptr;
  CHECK_CALL(cuInit(0));
  CHECK_CALL(cuDeviceGet(&device, 0));
  CHECK_CALL(cuDevicePrimaryCtxRetain(&context, device));
  CHECK_CALL(cuCtxSetCurrent(context));
  CHECK_CALL(cuModuleLoadData(&module, ptx.c_str()));
  CHECK_CALL(cuModuleGetFunction(&vecadd, module, "_Z6vecaddPKfS0_Pfi"));
  for (CUstream& stream : streams) CHECK_CALL(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
  CHECK_CALL(cuMemAlloc(&a, bytes));
  CHECK_CALL(cuMemAlloc(&sum, bytes));
  CHECK_CALL(cuMemcpyHtoD(a, values.data(), bytes));
  CHECK_CALL(cuMemsetD32(sum, 0, values.size()));
  for (unsigned grid = 4; grid < 12; ++grid) {
    launch(grid, streams[0]);
    counted[grid] = 1;
  }
  expect(24, "plain launches");
  change_executable();
  capture();
  for (const auto& [grid, launches] : counted) std::printf("%u %d\n", grid, launches);
  return is_right ? 0 : 1;
}
