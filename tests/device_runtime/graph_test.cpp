// Graphs, built by calls and captured from streams.
#include <gmock/gmock.h>

#include <atomic>
#include <chrono>
#include <thread>

#include "tests/device_runtime/runtime_fixture.h"

namespace lynxpp::device::cpu::test {
namespace {

using testing::Each;

class GraphTest : public RuntimeTest {
 protected:
  void SetUp() override {
    const int two = 2;
    ASSERT_EQ(CUDA(cudaMemcpyToSymbol)(program_.variable("factor", 8), &two, 4, 0, cudaMemcpyHostToDevice),
              cudaSuccess);
    data_ = device_ints(std::vector<int>(32, 1));
    for (cudaStream_t* stream : {&stream_, &other_})
      ASSERT_EQ(CUDA(cudaStreamCreateWithFlags)(stream, cudaStreamNonBlocking), cudaSuccess);
  }

  /// Doubles the data in place.
  cudaError_t launch(cudaStream_t stream) {
    int n = 32;
    void* arguments[] = {&data_, &data_, &n};
    return CUDA(cudaLaunchKernel)(scale_, 1, 32, arguments, 0, stream);
  }

  cudaGraphExec_t instantiate(cudaGraph_t graph) {
    cudaGraphExec_t executable = nullptr;
    EXPECT_EQ(CUDA(cudaGraphInstantiate)(&executable, graph, 0), cudaSuccess);
    return executable;
  }

  void run(cudaGraphExec_t executable) {
    EXPECT_EQ(CUDA(cudaGraphLaunch)(executable, stream_), cudaSuccess);
    EXPECT_EQ(CUDA(cudaStreamSynchronize)(stream_), cudaSuccess);
  }

  Program program_{test_ptx};
  const void* scale_ = program_.kernel("scale");
  int* data_ = nullptr;
  cudaStream_t stream_ = nullptr;
  cudaStream_t other_ = nullptr;
};

TEST_F(GraphTest, CapturedWorkRunsWhenTheGraphIsLaunched) {
  ASSERT_EQ(CUDA(cudaStreamBeginCapture)(stream_, cudaStreamCaptureModeGlobal), cudaSuccess);
  cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
  EXPECT_EQ(CUDA(cudaStreamIsCapturing)(stream_, &status), cudaSuccess);
  EXPECT_EQ(status, cudaStreamCaptureStatusActive);
  ASSERT_EQ(launch(stream_), cudaSuccess);
  ASSERT_EQ(launch(stream_), cudaSuccess);
  int result[32] = {};
  ASSERT_EQ(CUDA(cudaMemcpyAsync)(result, data_, sizeof result, cudaMemcpyDeviceToHost, stream_),
            cudaSuccess);
  cudaGraph_t graph = nullptr;
  ASSERT_EQ(CUDA(cudaStreamEndCapture)(stream_, &graph), cudaSuccess);
  EXPECT_THAT(host_ints(data_, 32), Each(1)) << "nothing has run";

  std::size_t count = 0;
  ASSERT_EQ(CUDA(cudaGraphGetNodes)(graph, nullptr, &count), cudaSuccess);
  EXPECT_EQ(count, 3u);
  cudaGraphNode_t root = nullptr;
  count = 1;
  ASSERT_EQ(CUDA(cudaGraphGetRootNodes)(graph, &root, &count), cudaSuccess);
  cudaGraphNodeType type = cudaGraphNodeTypeEmpty;
  ASSERT_EQ(CUDA(cudaGraphNodeGetType)(root, &type), cudaSuccess);
  EXPECT_EQ(type, cudaGraphNodeTypeKernel);
  cudaKernelNodeParams call{};
  ASSERT_EQ(CUDA(cudaGraphKernelNodeGetParams)(root, &call), cudaSuccess);
  EXPECT_EQ(call.func, scale_);
  EXPECT_EQ(call.blockDim.x, 32u);
  EXPECT_EQ(*static_cast<int**>(call.kernelParams[1]), data_);
  EXPECT_EQ(*static_cast<int*>(call.kernelParams[2]), 32);

  cudaGraphExec_t const executable = instantiate(graph);
  EXPECT_EQ(CUDA(cudaGraphDestroy)(graph), cudaSuccess) << "the executable graph is independent";
  run(executable);
  EXPECT_THAT(result, Each(4));
  run(executable);
  EXPECT_THAT(result, Each(16));
  EXPECT_EQ(CUDA(cudaGraphExecDestroy)(executable), cudaSuccess);
  EXPECT_EQ(CUDA(cudaGraphLaunch)(executable, stream_), cudaErrorInvalidValue);
}

TEST_F(GraphTest, StreamsForkAndJoinInACapture) {
  cudaEvent_t fork = nullptr;
  cudaEvent_t join = nullptr;
  ASSERT_EQ(CUDA(cudaEventCreate)(&fork), cudaSuccess);
  ASSERT_EQ(CUDA(cudaEventCreate)(&join), cudaSuccess);
  cudaGraph_t graph = nullptr;
  for (const bool joins : {false, true}) {
    ASSERT_EQ(CUDA(cudaStreamBeginCapture)(stream_, cudaStreamCaptureModeRelaxed), cudaSuccess);
    ASSERT_EQ(CUDA(cudaMemsetAsync)(data_, 0, 128, stream_), cudaSuccess);
    ASSERT_EQ(CUDA(cudaEventRecord)(fork, stream_), cudaSuccess);
    ASSERT_EQ(CUDA(cudaStreamWaitEvent)(other_, fork, 0), cudaSuccess);
    ASSERT_EQ(CUDA(cudaMemsetAsync)(data_, 1, 128, other_), cudaSuccess);
    ASSERT_EQ(CUDA(cudaEventRecord)(join, other_), cudaSuccess);
    if (joins) {
      ASSERT_EQ(CUDA(cudaStreamWaitEvent)(stream_, join, 0), cudaSuccess);
      ASSERT_EQ(launch(stream_), cudaSuccess);
    }
    const cudaError_t ended = CUDA(cudaStreamEndCapture)(stream_, &graph);
    EXPECT_EQ(ended, joins ? cudaSuccess : cudaErrorStreamCaptureUnjoined);
  }
  run(instantiate(graph));
  EXPECT_THAT(host_ints(data_, 32), Each(0x02020202));
}

TEST_F(GraphTest, TwoCapturesCannotMerge) {
  cudaEvent_t event = nullptr;
  ASSERT_EQ(CUDA(cudaEventCreate)(&event), cudaSuccess);
  ASSERT_EQ(CUDA(cudaStreamBeginCapture)(stream_, cudaStreamCaptureModeRelaxed), cudaSuccess);
  ASSERT_EQ(CUDA(cudaStreamBeginCapture)(other_, cudaStreamCaptureModeRelaxed), cudaSuccess);
  ASSERT_EQ(CUDA(cudaMemsetAsync)(data_, 0, 128, stream_), cudaSuccess);
  ASSERT_EQ(CUDA(cudaEventRecord)(event, stream_), cudaSuccess);
  EXPECT_EQ(CUDA(cudaStreamWaitEvent)(other_, event, 0), cudaErrorStreamCaptureMerge);
  cudaGraph_t graph = nullptr;
  CUDA(cudaStreamEndCapture)(other_, &graph);
  CUDA(cudaStreamEndCapture)(stream_, &graph);
}

/// Adds 1 in a way that loses concurrent updates.
void add_slowly(void* data) {
  auto* const sum = static_cast<std::atomic<int>*>(data);
  const int before = *sum;
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  *sum = before + 1;
}

TEST_F(GraphTest, LaunchWaitsForThePreviousOneInAnotherStream) {
  std::atomic<int> sum = 0;
  ASSERT_EQ(CUDA(cudaStreamBeginCapture)(stream_, cudaStreamCaptureModeRelaxed), cudaSuccess);
  ASSERT_EQ(CUDA(cudaLaunchHostFunc)(stream_, add_slowly, &sum), cudaSuccess);
  cudaGraph_t graph = nullptr;
  ASSERT_EQ(CUDA(cudaStreamEndCapture)(stream_, &graph), cudaSuccess);
  cudaGraphExec_t const executable = instantiate(graph);
  for (int i = 0; i < 6; ++i)
    EXPECT_EQ(CUDA(cudaGraphLaunch)(executable, i % 2 == 0 ? stream_ : other_), cudaSuccess);
  EXPECT_EQ(CUDA(cudaDeviceSynchronize)(), cudaSuccess);
  EXPECT_EQ(sum, 6);
}

TEST_F(GraphTest, CaptureCannotDependOnOutsideWork) {
  cudaEvent_t event = nullptr;
  ASSERT_EQ(CUDA(cudaEventCreate)(&event), cudaSuccess);
  ASSERT_EQ(CUDA(cudaEventRecord)(event, other_), cudaSuccess);
  ASSERT_EQ(CUDA(cudaStreamBeginCapture)(stream_, cudaStreamCaptureModeRelaxed), cudaSuccess);
  EXPECT_EQ(CUDA(cudaStreamWaitEvent)(stream_, event, 0), cudaErrorStreamCaptureIsolation);
  cudaGraph_t graph = nullptr;
  EXPECT_EQ(CUDA(cudaStreamEndCapture)(stream_, &graph), cudaErrorStreamCaptureInvalidated);
}

TEST_F(GraphTest, CaptureCanBeQueried) {
  ASSERT_EQ(CUDA(cudaStreamBeginCapture)(stream_, cudaStreamCaptureModeRelaxed), cudaSuccess);
  ASSERT_EQ(launch(stream_), cudaSuccess);
  cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
  unsigned long long id = 0;
  cudaGraph_t during = nullptr;
  const cudaGraphNode_t* ends = nullptr;
  std::size_t count = 0;
  ASSERT_EQ(CUDA(cudaStreamGetCaptureInfo)(stream_, &status, &id, &during, &ends, nullptr, &count),
            cudaSuccess);
  EXPECT_EQ(status, cudaStreamCaptureStatusActive);
  EXPECT_NE(id, 0u);
  ASSERT_EQ(count, 1u);
  cudaGraphNode_t node = nullptr;
  ASSERT_EQ(CUDA(cudaGraphGetNodes)(during, &node, &count), cudaSuccess);
  EXPECT_EQ(node, ends[0]);
  EXPECT_EQ(CUDA(cudaStreamSynchronize)(stream_), cudaErrorStreamCaptureUnsupported);
  cudaGraph_t graph = nullptr;
  EXPECT_EQ(CUDA(cudaStreamEndCapture)(stream_, &graph), cudaErrorStreamCaptureInvalidated);
  EXPECT_EQ(CUDA(cudaGraphDestroy)(during), cudaErrorInvalidValue) << "destroyed with the capture";
}

TEST_F(GraphTest, GraphLaunchesCanBeIntercepted) {
  static std::vector<std::uint64_t> seen;
  seen.clear();
  set_launch_interceptor([](const Launch& launch, const KernelIdentity& kernel) {
    EXPECT_EQ(*kernel.name, "scale");
    EXPECT_NE(launch.parameters, nullptr);
    // Captured launches are seen here, too; the third replay is launched by the interceptor.
    const bool is_captured = *cpu_device().capturing(launch);
    if (!is_captured) seen.push_back(launch.number);
    return !is_captured && seen.size() == 3;
  });
  ASSERT_EQ(CUDA(cudaStreamBeginCapture)(stream_, cudaStreamCaptureModeGlobal), cudaSuccess);
  ASSERT_EQ(launch(stream_), cudaSuccess);
  ASSERT_EQ(launch(stream_), cudaSuccess);
  cudaGraph_t graph = nullptr;
  ASSERT_EQ(CUDA(cudaStreamEndCapture)(stream_, &graph), cudaSuccess);
  EXPECT_TRUE(seen.empty());
  cudaGraphExec_t const executable = instantiate(graph);
  run(executable);
  run(executable);
  set_launch_interceptor(nullptr);
  ASSERT_EQ(seen.size(), 4u);
  for (std::size_t i = 1; i < seen.size(); ++i) EXPECT_EQ(seen[i], seen[i - 1] + 1);
  EXPECT_THAT(host_ints(data_, 32), Each(8));
}

TEST_F(GraphTest, FreedMemoryIsNotAccessed) {
  cudaGraph_t graph = nullptr;
  ASSERT_EQ(CUDA(cudaGraphCreate)(&graph, 0), cudaSuccess);
  cudaGraphNode_t node = nullptr;
  const cudaMemsetParams fill{data_, 0, 5, 4, 32, 1};
  ASSERT_EQ(CUDA(cudaGraphAddMemsetNode)(&node, graph, nullptr, 0, &fill), cudaSuccess);
  cudaGraphExec_t const executable = instantiate(graph);
  ASSERT_EQ(CUDA(cudaFree)(data_), cudaSuccess);
  EXPECT_EQ(CUDA(cudaGraphLaunch)(executable, stream_), cudaSuccess);
  EXPECT_EQ(CUDA(cudaStreamSynchronize)(stream_), cudaErrorIllegalAddress);
  EXPECT_EQ(CUDA(cudaDeviceReset)(), cudaSuccess);
  EXPECT_EQ(CUDA(cudaGraphLaunch)(executable, nullptr), cudaErrorInvalidValue) << "destroyed by the reset";
}

TEST_F(GraphTest, NodesRunInDependencyOrder) {
  cudaGraph_t graph = nullptr;
  cudaGraph_t child = nullptr;
  ASSERT_EQ(CUDA(cudaGraphCreate)(&graph, 0), cudaSuccess);
  ASSERT_EQ(CUDA(cudaGraphCreate)(&child, 0), cudaSuccess);
  int n = 32;
  void* arguments[] = {&data_, &data_, &n};
  cudaKernelNodeParams kernel{};
  kernel.func = const_cast<void*>(scale_);
  kernel.gridDim = 1;
  kernel.blockDim = 32;
  kernel.kernelParams = arguments;
  cudaGraphNode_t doubled = nullptr, set = nullptr, children = nullptr, copied = nullptr, told = nullptr;
  int result[32] = {};
  int calls = 0;
  cudaHostNodeParams host{[](void* data) { ++*static_cast<int*>(data); }, &calls};
  // Nodes are added in reverse order.
  ASSERT_EQ(CUDA(cudaGraphAddHostNode)(&told, graph, nullptr, 0, &host), cudaSuccess);
  ASSERT_EQ(CUDA(cudaGraphAddMemcpyNode1D)(&copied, graph, nullptr, 0, result, data_, sizeof result,
                                           cudaMemcpyDeviceToHost),
            cudaSuccess);
  ASSERT_EQ(CUDA(cudaGraphAddKernelNode)(&doubled, child, nullptr, 0, &kernel), cudaSuccess);
  ASSERT_EQ(CUDA(cudaGraphAddChildGraphNode)(&children, graph, nullptr, 0, child), cudaSuccess);
  cudaGraph_t inner = nullptr;
  ASSERT_EQ(CUDA(cudaGraphChildGraphNodeGetGraph)(children, &inner), cudaSuccess);
  EXPECT_NE(inner, child) << "a copy";
  std::size_t count = 0;
  ASSERT_EQ(CUDA(cudaGraphGetNodes)(inner, nullptr, &count), cudaSuccess);
  EXPECT_EQ(count, 1u);
  cudaMemsetParams fill{data_, 0, 5, 4, 32, 1};
  ASSERT_EQ(CUDA(cudaGraphAddMemsetNode)(&set, graph, nullptr, 0, &fill), cudaSuccess);
  cudaGraphNode_t from[] = {set, children, copied};
  cudaGraphNode_t to[] = {children, copied, told};
  ASSERT_EQ(CUDA(cudaGraphAddDependencies)(graph, from, to, nullptr, 3), cudaSuccess);
  EXPECT_EQ(CUDA(cudaGraphAddDependencies)(graph, from, to, nullptr, 1), cudaErrorInvalidValue) << "twice";
  cudaGraphExec_t const executable = instantiate(graph);
  run(executable);
  EXPECT_THAT(result, Each(10));
  EXPECT_EQ(calls, 1);

  // The clone has the same shape, so it can replace the work.
  cudaGraph_t changed = nullptr;
  ASSERT_EQ(CUDA(cudaGraphClone)(&changed, graph), cudaSuccess);
  cudaGraphExecUpdateResultInfo info{};
  EXPECT_EQ(CUDA(cudaGraphExecUpdate)(executable, changed, &info), cudaSuccess);
  run(executable);
  EXPECT_EQ(calls, 2);
  EXPECT_EQ(CUDA(cudaGraphExecUpdate)(executable, child, &info), cudaErrorGraphExecUpdateFailure);
  EXPECT_EQ(info.result, cudaGraphExecUpdateErrorTopologyChanged);

  std::swap(from[0], to[0]);
  EXPECT_EQ(CUDA(cudaGraphAddDependencies)(graph, from, to, nullptr, 1), cudaSuccess);
  cudaGraphExec_t cycle = nullptr;
  EXPECT_EQ(CUDA(cudaGraphInstantiate)(&cycle, graph, 0), cudaErrorInvalidValue);
}

TEST_F(GraphTest, KernelNodeParametersCanBeChanged) {
  cudaGraph_t graph = nullptr;
  ASSERT_EQ(CUDA(cudaGraphCreate)(&graph, 0), cudaSuccess);
  int n = 8;
  void* arguments[] = {&data_, &data_, &n};
  cudaKernelNodeParams kernel{};
  kernel.func = const_cast<void*>(scale_);
  kernel.gridDim = 1;
  kernel.blockDim = 32;
  kernel.kernelParams = arguments;
  cudaGraphNode_t node = nullptr;
  ASSERT_EQ(CUDA(cudaGraphAddKernelNode)(&node, graph, nullptr, 0, &kernel), cudaSuccess);
  cudaGraphExec_t const executable = instantiate(graph);
  n = 32;
  ASSERT_EQ(CUDA(cudaGraphExecKernelNodeSetParams)(executable, node, &kernel), cudaSuccess);
  run(executable);
  EXPECT_THAT(host_ints(data_, 32), Each(2));
  kernel.blockDim = 4096;
  EXPECT_EQ(CUDA(cudaGraphExecKernelNodeSetParams)(executable, node, &kernel), cudaErrorInvalidConfiguration);
}

}  // namespace
}  // namespace lynxpp::device::cpu::test
