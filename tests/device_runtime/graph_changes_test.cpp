// Changes of nodes of graphs and executable graphs, and event nodes.
#include <gmock/gmock.h>

#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

#include "tests/device_runtime/runtime_fixture.h"

namespace lynxpp::device::cpu::test {
namespace {

using testing::Each;
using testing::HasSubstr;

/// A graph that fills the data with ones, doubles it, copies it to the host and calls a function there.
class GraphChangesTest : public RuntimeTest {
 protected:
  void SetUp() override {
    const int two = 2;
    ASSERT_EQ(CUDA(cudaMemcpyToSymbol)(program_.variable("factor", 8), &two, 4, 0, cudaMemcpyHostToDevice),
              cudaSuccess);
    data_ = device_ints(std::vector<int>(32, 5));
    ASSERT_EQ(CUDA(cudaStreamCreateWithFlags)(&stream_, cudaStreamNonBlocking), cudaSuccess);
    ASSERT_EQ(CUDA(cudaGraphCreate)(&graph_, 0), cudaSuccess);
    fill_.dst = data_;
    fill_.value = 1;
    fill_.elementSize = 4;
    fill_.width = 32;
    fill_.height = 1;
    call_.fn = [](void* calls) { ++*static_cast<int*>(calls); };
    call_.userData = &calls_;
    kernel_.func = const_cast<void*>(program_.kernel("scale"));
    kernel_.gridDim = 1;
    kernel_.blockDim = 32;
    kernel_.kernelParams = arguments_;
    ASSERT_EQ(CUDA(cudaGraphAddMemsetNode)(&fill_node_, graph_, nullptr, 0, &fill_), cudaSuccess);
    ASSERT_EQ(CUDA(cudaGraphAddKernelNode)(&kernel_node_, graph_, &fill_node_, 1, &kernel_), cudaSuccess);
    ASSERT_EQ(CUDA(cudaGraphAddMemcpyNode1D)(&copy_node_, graph_, &kernel_node_, 1, first_, data_,
                                             sizeof first_, cudaMemcpyDeviceToHost),
              cudaSuccess);
    ASSERT_EQ(CUDA(cudaGraphAddHostNode)(&host_node_, graph_, &copy_node_, 1, &call_), cudaSuccess);
  }

  cudaGraphExec_t instantiate() {
    cudaGraphExec_t executable = nullptr;
    EXPECT_EQ(CUDA(cudaGraphInstantiate)(&executable, graph_, 0), cudaSuccess);
    return executable;
  }

  void run(cudaGraphExec_t executable) {
    EXPECT_EQ(CUDA(cudaGraphLaunch)(executable, stream_), cudaSuccess);
    EXPECT_EQ(CUDA(cudaStreamSynchronize)(stream_), cudaSuccess);
  }

  Program program_{test_ptx};
  const void* const total_ = program_.variable("total", 4);
  int* data_ = nullptr;
  int n_ = 32;
  void* arguments_[3] = {&data_, &data_, &n_};
  int first_[32] = {}, second_[32] = {};
  int calls_ = 0, other_calls_ = 0;
  cudaStream_t stream_ = nullptr;
  cudaGraph_t graph_ = nullptr;
  cudaMemsetParams fill_{};
  cudaHostNodeParams call_{};
  cudaKernelNodeParams kernel_{};
  cudaGraphNode_t fill_node_ = nullptr, kernel_node_ = nullptr, copy_node_ = nullptr, host_node_ = nullptr;
};

TEST_F(GraphChangesTest, NodesOfExecutableGraphsCanBeChanged) {
  cudaGraphExec_t const executable = instantiate();
  run(executable);
  EXPECT_THAT(first_, Each(2));
  fill_.value = 10;
  ASSERT_EQ(CUDA(cudaGraphExecMemsetNodeSetParams)(executable, fill_node_, &fill_), cudaSuccess);
  ASSERT_EQ(CUDA(cudaGraphExecMemcpyNodeSetParams1D)(executable, copy_node_, second_, data_, sizeof second_,
                                                     cudaMemcpyDeviceToHost),
            cudaSuccess);
  call_.userData = &other_calls_;
  ASSERT_EQ(CUDA(cudaGraphExecHostNodeSetParams)(executable, host_node_, &call_), cudaSuccess);
  run(executable);
  EXPECT_THAT(second_, Each(20));
  EXPECT_THAT(first_, Each(2));
  EXPECT_EQ(calls_, 1);
  EXPECT_EQ(other_calls_, 1);

  ASSERT_EQ(CUDA(cudaGraphNodeSetEnabled)(executable, kernel_node_, 0), cudaSuccess);
  unsigned is_enabled = 1;
  ASSERT_EQ(CUDA(cudaGraphNodeGetEnabled)(executable, kernel_node_, &is_enabled), cudaSuccess);
  EXPECT_EQ(is_enabled, 0u);
  run(executable);
  EXPECT_THAT(second_, Each(10));
  EXPECT_EQ(CUDA(cudaGraphNodeSetEnabled)(executable, host_node_, 0), cudaErrorInvalidValue);
  EXPECT_EQ(CUDA(cudaGraphExecMemsetNodeSetParams)(executable, copy_node_, &fill_), cudaErrorInvalidValue);
}

TEST_F(GraphChangesTest, ChangedGraphsCanBeQueriedAndUpdateExecutableOnes) {
  cudaGraphExec_t const executable = instantiate();
  fill_.value = 3;
  ASSERT_EQ(CUDA(cudaGraphMemsetNodeSetParams)(fill_node_, &fill_), cudaSuccess);
  ASSERT_EQ(CUDA(cudaGraphMemcpyNodeSetParams1D)(copy_node_, second_, data_, sizeof second_,
                                                 cudaMemcpyDeviceToHost),
            cudaSuccess);
  n_ = 8;
  ASSERT_EQ(CUDA(cudaGraphKernelNodeSetParams)(kernel_node_, &kernel_), cudaSuccess);
  call_.userData = &other_calls_;
  ASSERT_EQ(CUDA(cudaGraphHostNodeSetParams)(host_node_, &call_), cudaSuccess);

  cudaMemsetParams fill{};
  ASSERT_EQ(CUDA(cudaGraphMemsetNodeGetParams)(fill_node_, &fill), cudaSuccess);
  EXPECT_EQ(fill.value, 3u);
  cudaMemcpy3DParms copy{};
  ASSERT_EQ(CUDA(cudaGraphMemcpyNodeGetParams)(copy_node_, &copy), cudaSuccess);
  EXPECT_EQ(copy.dstPtr.ptr, second_);
  EXPECT_EQ(copy.extent.width, sizeof second_);
  cudaHostNodeParams call{};
  ASSERT_EQ(CUDA(cudaGraphHostNodeGetParams)(host_node_, &call), cudaSuccess);
  EXPECT_EQ(call.userData, &other_calls_);
  EXPECT_EQ(CUDA(cudaGraphHostNodeGetParams)(copy_node_, &call), cudaErrorInvalidValue);

  run(executable);
  EXPECT_THAT(first_, Each(2)) << "the executable graph has not changed";
  cudaGraphExecUpdateResultInfo result{};
  ASSERT_EQ(CUDA(cudaGraphExecUpdate)(executable, graph_, &result), cudaSuccess);
  run(executable);
  EXPECT_EQ(second_[7], 6);
  EXPECT_EQ(second_[8], 3);
  EXPECT_EQ(other_calls_, 1);
}

TEST_F(GraphChangesTest, CooperativeLaunchRemainsWhenParametersChange) {
  ASSERT_EQ(CUDA(cudaStreamBeginCapture)(stream_, cudaStreamCaptureModeRelaxed), cudaSuccess);
  ASSERT_EQ(CUDA(cudaLaunchCooperativeKernel)(kernel_.func, 1, 32, arguments_, 0, stream_), cudaSuccess);
  cudaGraph_t graph = nullptr;
  ASSERT_EQ(CUDA(cudaStreamEndCapture)(stream_, &graph), cudaSuccess);
  cudaGraphNode_t node = nullptr;
  std::size_t count = 1;
  ASSERT_EQ(CUDA(cudaGraphGetNodes)(graph, &node, &count), cudaSuccess);
  ASSERT_EQ(CUDA(cudaGraphKernelNodeSetParams)(node, &kernel_), cudaSuccess);
  cudaLaunchAttributeValue value{};
  ASSERT_EQ(CUDA(cudaGraphKernelNodeGetAttribute)(node, cudaLaunchAttributeCooperative, &value), cudaSuccess);
  EXPECT_EQ(value.cooperative, 1);
  cudaGraphExec_t executable = nullptr;
  ASSERT_EQ(CUDA(cudaGraphInstantiate)(&executable, graph, 0), cudaSuccess);
  kernel_.gridDim = 1 << 20;
  EXPECT_EQ(CUDA(cudaGraphExecKernelNodeSetParams)(executable, node, &kernel_),
            cudaErrorCooperativeLaunchTooLarge);
}

TEST_F(GraphChangesTest, SymbolsCanBeCopied) {
  int from = 40, to = 0;
  cudaGraphNode_t write = nullptr, read = nullptr;
  ASSERT_EQ(CUDA(cudaGraphAddMemcpyNodeToSymbol)(&write, graph_, nullptr, 0, total_, &from, 4, 0,
                                                 cudaMemcpyHostToDevice),
            cudaSuccess);
  ASSERT_EQ(CUDA(cudaGraphAddDependencies)(graph_, &write, &fill_node_, nullptr, 1), cudaSuccess);
  ASSERT_EQ(CUDA(cudaGraphAddMemcpyNodeFromSymbol)(&read, graph_, &kernel_node_, 1, &to, total_, 4, 0,
                                                   cudaMemcpyDeviceToHost),
            cudaSuccess);
  run(instantiate());
  EXPECT_EQ(to, 72) << "every thread adds one";
}

TEST_F(GraphChangesTest, EventsAreRecordedAndAwaitedByNodes) {
  cudaEvent_t begin = nullptr, end = nullptr, other = nullptr;
  for (cudaEvent_t* const event : {&begin, &end, &other})
    ASSERT_EQ(CUDA(cudaEventCreate)(event), cudaSuccess);
  cudaGraphNode_t record = nullptr, wait = nullptr;
  ASSERT_EQ(CUDA(cudaGraphAddEventRecordNode)(&record, graph_, &host_node_, 1, end), cudaSuccess);
  ASSERT_EQ(CUDA(cudaGraphAddEventWaitNode)(&wait, graph_, nullptr, 0, begin), cudaSuccess);
  cudaEvent_t found = nullptr;
  ASSERT_EQ(CUDA(cudaGraphEventRecordNodeGetEvent)(record, &found), cudaSuccess);
  EXPECT_EQ(found, end);
  EXPECT_EQ(CUDA(cudaGraphEventWaitNodeGetEvent)(record, &found), cudaErrorInvalidValue);
  cudaGraphExec_t const executable = instantiate();
  ASSERT_EQ(CUDA(cudaEventRecord)(begin, stream_), cudaSuccess);
  run(executable);
  float milliseconds = -1;
  ASSERT_EQ(CUDA(cudaEventElapsedTime)(&milliseconds, begin, end), cudaSuccess);
  EXPECT_GE(milliseconds, 0);
  ASSERT_EQ(CUDA(cudaGraphExecEventRecordNodeSetEvent)(executable, record, other), cudaSuccess);
  run(executable);
  EXPECT_EQ(CUDA(cudaEventElapsedTime)(&milliseconds, begin, other), cudaSuccess);
}

TEST_F(GraphChangesTest, ExternalEventsBecomeNodesOfACapture) {
  cudaEvent_t event = nullptr;
  ASSERT_EQ(CUDA(cudaEventCreate)(&event), cudaSuccess);
  ASSERT_EQ(CUDA(cudaStreamBeginCapture)(stream_, cudaStreamCaptureModeRelaxed), cudaSuccess);
  ASSERT_EQ(CUDA(cudaStreamWaitEvent)(stream_, event, cudaEventWaitExternal), cudaSuccess);
  ASSERT_EQ(CUDA(cudaEventRecordWithFlags)(event, stream_, cudaEventRecordExternal), cudaSuccess);
  cudaGraph_t graph = nullptr;
  ASSERT_EQ(CUDA(cudaStreamEndCapture)(stream_, &graph), cudaSuccess);
  cudaGraphNode_t nodes[2] = {};
  std::size_t count = 2;
  ASSERT_EQ(CUDA(cudaGraphGetNodes)(graph, nodes, &count), cudaSuccess);
  ASSERT_EQ(count, 2u);
  cudaGraphNodeType type = cudaGraphNodeTypeEmpty;
  ASSERT_EQ(CUDA(cudaGraphNodeGetType)(nodes[0], &type), cudaSuccess);
  EXPECT_EQ(type, cudaGraphNodeTypeWaitEvent);
  cudaGraphExec_t executable = nullptr;
  ASSERT_EQ(CUDA(cudaGraphInstantiate)(&executable, graph, 0), cudaSuccess);
  float milliseconds = -1;
  EXPECT_EQ(CUDA(cudaEventElapsedTime)(&milliseconds, event, event), cudaErrorInvalidResourceHandle);
  run(executable);
  EXPECT_EQ(CUDA(cudaEventElapsedTime)(&milliseconds, event, event), cudaSuccess);
}

TEST_F(GraphChangesTest, EdgesClonesAndFlagsCanBeQueried) {
  std::size_t count = 0;
  ASSERT_EQ(CUDA(cudaGraphGetEdges)(graph_, nullptr, nullptr, nullptr, &count), cudaSuccess);
  ASSERT_EQ(count, 3u);
  cudaGraphNode_t from[4], to[4];
  count = 4;
  ASSERT_EQ(CUDA(cudaGraphGetEdges)(graph_, from, to, nullptr, &count), cudaSuccess);
  EXPECT_EQ(count, 3u);
  EXPECT_EQ(from[0], fill_node_);
  EXPECT_EQ(to[0], kernel_node_);
  EXPECT_EQ(CUDA(cudaGraphGetEdges)(graph_, from, nullptr, nullptr, &count), cudaErrorInvalidValue);

  cudaGraph_t clone = nullptr;
  ASSERT_EQ(CUDA(cudaGraphClone)(&clone, graph_), cudaSuccess);
  cudaGraphNode_t twin = nullptr;
  ASSERT_EQ(CUDA(cudaGraphNodeFindInClone)(&twin, host_node_, clone), cudaSuccess);
  cudaHostNodeParams call{};
  ASSERT_EQ(CUDA(cudaGraphHostNodeGetParams)(twin, &call), cudaSuccess);
  EXPECT_EQ(call.userData, &calls_);

  cudaGraphInstantiateParams parameters{};
  parameters.flags = cudaGraphInstantiateFlagUseNodePriority;
  cudaGraphExec_t executable = nullptr;
  ASSERT_EQ(CUDA(cudaGraphInstantiateWithParams)(&executable, graph_, &parameters), cudaSuccess);
  EXPECT_EQ(parameters.result_out, cudaGraphInstantiateSuccess);
  unsigned long long flags = 0;
  ASSERT_EQ(CUDA(cudaGraphExecGetFlags)(executable, &flags), cudaSuccess);
  EXPECT_EQ(flags, cudaGraphInstantiateFlagUseNodePriority);

  const std::filesystem::path path =
      std::filesystem::temp_directory_path() / ("lynxpp_graph_" + std::to_string(getpid()) + ".dot");
  ASSERT_EQ(CUDA(cudaGraphDebugDotPrint)(graph_, path.c_str(), 0), cudaSuccess);
  std::stringstream text;
  text << std::ifstream(path).rdbuf();
  std::filesystem::remove(path);
  EXPECT_THAT(text.str(), HasSubstr("kernel: scale"));
  EXPECT_THAT(text.str(), HasSubstr(" -> "));
}

TEST_F(GraphChangesTest, MemoryOfTheGraphIsFilledAndCopied) {
  ASSERT_EQ(CUDA(cudaStreamBeginCapture)(stream_, cudaStreamCaptureModeRelaxed), cudaSuccess);
  int* own = nullptr;
  ASSERT_EQ(CUDA(cudaMallocAsync)(reinterpret_cast<void**>(&own), 128, stream_), cudaSuccess);
  EXPECT_EQ(CUDA(cudaMemsetAsync)(own + 1, 1, 124, stream_), cudaSuccess);
  EXPECT_EQ(CUDA(cudaMemsetAsync)(own + 1, 1, 128, stream_), cudaErrorInvalidValue) << "too many bytes";
  EXPECT_EQ(CUDA(cudaMemcpyAsync)(first_, own + 1, 124, cudaMemcpyDeviceToHost, stream_), cudaSuccess);
  EXPECT_EQ(CUDA(cudaMemcpyAsync)(own, data_, 128, cudaMemcpyDeviceToDevice, stream_), cudaSuccess);
  EXPECT_EQ(CUDA(cudaMemcpyAsync)(second_, own, 128, cudaMemcpyDefault, stream_), cudaSuccess);
  ASSERT_EQ(CUDA(cudaFreeAsync)(own, stream_), cudaSuccess);
  cudaGraph_t graph = nullptr;
  ASSERT_EQ(CUDA(cudaStreamEndCapture)(stream_, &graph), cudaSuccess);
  cudaGraphExec_t executable = nullptr;
  ASSERT_EQ(CUDA(cudaGraphInstantiate)(&executable, graph, 0), cudaSuccess);
  run(executable);
  EXPECT_EQ(first_[30], 0x01010101);
  EXPECT_EQ(first_[31], 0);
  EXPECT_THAT(second_, Each(5));
}

}  // namespace
}  // namespace lynxpp::device::cpu::test
