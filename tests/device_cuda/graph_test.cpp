// Graphs with variants: which objects live until they are over, and what is launched when a driver call
// fails.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <set>
#include <vector>

#include "device/cuda/cuda_device.h"
#include "device/graphs.h"
#include "tests/device_cuda/device_driver.h"

namespace lynxpp::device::cuda {
namespace {

using ::testing::Contains;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

/// A driver whose enqueued work is over when the test says so.
struct Enqueued {
  std::vector<std::unique_ptr<std::byte[]>> memory;
  std::set<CUdeviceptr> allocated;
  std::uintptr_t next_handle = 16;
  std::set<CUevent> over;
  std::map<CUevent, CUstream> recorded;
  float clock = 0;              ///< milliseconds that the stream has worked; a graph takes one
  std::map<CUevent, float> at;  ///< when the stream reached an event
  std::vector<CUgraphExec> launched;
  std::vector<CUmodule> unloaded;
  CUcontext current = nullptr;
  CUresult launch = CUDA_SUCCESS, record = CUDA_SUCCESS, pinned = CUDA_SUCCESS;

  void end_everything() {
    for (const auto& [event, stream] : recorded) over.insert(event);
  }
};
Enqueued* enqueued = nullptr;

template <typename Handle>
Handle new_handle() {
  return reinterpret_cast<Handle>(enqueued->next_handle++);
}

void answer_for_memory(Driver& driver) {
  driver.cuMemAllocAsync = [](CUdeviceptr* address, std::size_t bytes, CUstream) {
    enqueued->memory.push_back(std::make_unique<std::byte[]>(bytes));
    *address = reinterpret_cast<CUdeviceptr>(enqueued->memory.back().get());
    enqueued->allocated.insert(*address);
    return CUDA_SUCCESS;
  };
  driver.cuMemFreeAsync = [](CUdeviceptr, CUstream) { return CUDA_SUCCESS; };
  driver.cuMemHostAlloc = [](void** address, std::size_t bytes, unsigned) {
    if (enqueued->pinned != CUDA_SUCCESS) return enqueued->pinned;
    enqueued->memory.push_back(std::make_unique<std::byte[]>(bytes));
    *address = enqueued->memory.back().get();
    return CUDA_SUCCESS;
  };
  driver.cuMemFreeHost = [](void*) { return CUDA_SUCCESS; };
  driver.cuMemsetD8Async = [](CUdeviceptr, unsigned char, std::size_t, CUstream) { return CUDA_SUCCESS; };
  driver.cuMemcpyDtoHAsync = [](void*, CUdeviceptr, std::size_t, CUstream) { return CUDA_SUCCESS; };
}

void answer_for_events(Driver& driver) {
  driver.cuStreamCreate = [](CUstream* stream, unsigned) {
    *stream = new_handle<CUstream>();
    return CUDA_SUCCESS;
  };
  driver.cuStreamWaitEvent = [](CUstream, CUevent, unsigned) { return CUDA_SUCCESS; };
  driver.cuEventCreate = [](CUevent* event, unsigned) {
    *event = new_handle<CUevent>();
    return CUDA_SUCCESS;
  };
  driver.cuEventRecord = [](CUevent event, CUstream stream) {
    if (enqueued->record != CUDA_SUCCESS) return enqueued->record;
    enqueued->recorded[event] = stream;
    enqueued->at[event] = enqueued->clock;
    enqueued->over.erase(event);
    return CUDA_SUCCESS;
  };
  driver.cuEventQuery = [](CUevent event) {
    return enqueued->over.contains(event) ? CUDA_SUCCESS : CUDA_ERROR_NOT_READY;
  };
  driver.cuEventSynchronize = [](CUevent event) {
    enqueued->over.insert(event);
    return CUDA_SUCCESS;
  };
  driver.cuEventElapsedTime = [](float* milliseconds, CUevent begin, CUevent end) {
    *milliseconds = enqueued->at.at(end) - enqueued->at.at(begin);
    return CUDA_SUCCESS;
  };
}

void answer_for_kernels(Driver& driver) {
  driver.cuCtxPushCurrent = [](CUcontext context) {
    enqueued->current = context;
    return CUDA_SUCCESS;
  };
  driver.cuModuleLoadDataEx = [](CUmodule* module, const void*, unsigned, CUjit_option*, void**) {
    *module = new_handle<CUmodule>();
    return CUDA_SUCCESS;
  };
  driver.cuModuleUnload = [](CUmodule module) {
    EXPECT_EQ(enqueued->current, reinterpret_cast<CUcontext>(1)) << "the module's context must be current";
    enqueued->unloaded.push_back(module);
    return CUDA_SUCCESS;
  };
  driver.cuModuleGetFunction = [](CUfunction*, CUmodule, const char*) { return CUDA_SUCCESS; };
  driver.cuFuncGetAttribute = [](int*, CUfunction_attribute, CUfunction) { return CUDA_ERROR_INVALID_VALUE; };
  driver.cuFuncSetAttribute = [](CUfunction, CUfunction_attribute, int) { return CUDA_SUCCESS; };
  driver.cuOccupancyMaxActiveBlocksPerMultiprocessor = [](int*, CUfunction, int, std::size_t) {
    return CUDA_ERROR_INVALID_VALUE;
  };
}

void answer_for_graphs(Driver& driver) {
  driver.cuGraphKernelNodeGetParams = [](CUgraphNode, CUDA_KERNEL_NODE_PARAMS* parameters) {
    static void* none[] = {nullptr};
    *parameters = {};
    parameters->kernelParams = none;
    return CUDA_SUCCESS;
  };
  driver.cuGraphKernelNodeSetParams = [](CUgraphNode, const CUDA_KERNEL_NODE_PARAMS*) {
    return CUDA_SUCCESS;
  };
  driver.cuGraphKernelNodeGetAttribute = [](CUgraphNode, CUkernelNodeAttrID, CUkernelNodeAttrValue*) {
    return CUDA_ERROR_INVALID_VALUE;
  };
  driver.cuGraphInstantiateWithFlags = [](CUgraphExec* made, CUgraph, unsigned long long) {
    *made = new_handle<CUgraphExec>();
    return CUDA_SUCCESS;
  };
  driver.cuGraphNodeSetEnabled = [](CUgraphExec, CUgraphNode, unsigned) { return CUDA_SUCCESS; };
  driver.cuGraphExecDestroy = [](CUgraphExec) { return CUDA_SUCCESS; };
  driver.cuGraphLaunch = [](CUgraphExec graph, CUstream) {
    if (enqueued->launch != CUDA_SUCCESS) return enqueued->launch;
    enqueued->launched.push_back(graph);
    enqueued->clock += 1;
    return CUDA_SUCCESS;
  };
}

Driver graph_driver() {
  Driver driver = device_driver();
  answer_for_memory(driver);
  answer_for_events(driver);
  answer_for_kernels(driver);
  answer_for_graphs(driver);
  return driver;
}

class CudaGraphs : public testing::Test {
 protected:
  void SetUp() override {
    enqueued = &enqueued_;
    device_ = std::move(*make_device(driver_));
    graph_ = std::move(*device_->program_graph());
    load_variant();
  }
  void load_variant() {
    variant_ = std::move(*device_->load(".version 8.0", "k", in_, {.may_wait_for_blocks = false}));
  }
  Status instantiate() {
    if (Status reserved = graph_->reserve_buffers(64); !reserved) return reserved;
    const VariantNode node{0, variant_, in_, {}, [&](std::uint64_t address) {
                             address_ = address;
                             return std::vector<std::uint64_t>{address};
                           }};
    GraphCopy copy;
    copy.kernels.push_back(this);
    return graph_->instantiate(copy, std::span(&node, 1));
  }
  Status launch() {
    if (Status reserved = graph_->reserve_results(); !reserved) return reserved;
    return graph_->launch({}, in_);
  }
  std::unique_ptr<Readback> launched() {
    EXPECT_TRUE(launch().ok());
    auto readback = std::move(*graph_->read_back(in_));
    graph_->launched(in_);
    return readback;
  }

  Enqueued enqueued_;
  Driver driver_ = graph_driver();
  Launch in_;
  std::unique_ptr<Device> device_;
  std::unique_ptr<ProgramGraph> graph_;
  std::shared_ptr<Variant> variant_;
  std::uint64_t address_ = 0;
};

TEST_F(CudaGraphs, TimeInTheStreamIsNotTheLaunchs) {
  ASSERT_TRUE(instantiate().ok());
  enqueued_.clock += 5000;  // a kernel of the program
  const auto first = launched();
  const auto second = launched();
  enqueued_.end_everything();
  EXPECT_EQ(first->max_milliseconds(), 1.0);
  EXPECT_EQ(second->max_milliseconds(), 1.0);
}

TEST_F(CudaGraphs, VariantsStayLoadedUntilTheLastLaunchIsOver) {
  ASSERT_TRUE(instantiate().ok());
  auto running = launched();
  load_variant();
  ASSERT_TRUE(instantiate().ok());
  EXPECT_THAT(enqueued_.unloaded, IsEmpty()) << "the graph may be running";
  EXPECT_FALSE(running->ready());
  enqueued_.end_everything();
  EXPECT_TRUE(running->ready());
  running.reset();
  EXPECT_THAT(enqueued_.unloaded, SizeIs(1));
}

TEST_F(CudaGraphs, DriverIsNotCalledAfterTheContextIsDestroyed) {
  static int calls = 0;
  calls = 0;
  ASSERT_TRUE(instantiate().ok());
  auto running = launched();
  // Each of these calls would pass a stale handle.
  driver_.cuCtxPushCurrent = [](CUcontext) { return ++calls, CUDA_SUCCESS; };
  driver_.cuEventQuery = [](CUevent) { return ++calls, CUDA_SUCCESS; };
  driver_.cuEventSynchronize = [](CUevent) { return ++calls, CUDA_SUCCESS; };
  driver_.cuGraphExecDestroy = [](CUgraphExec) { return ++calls, CUDA_SUCCESS; };
  driver_.cuModuleUnload = [](CUmodule) { return ++calls, CUDA_SUCCESS; };
  driver_.cuMemFreeAsync = [](CUdeviceptr, CUstream) { return ++calls, CUDA_SUCCESS; };
  driver_.cuMemFreeHost = [](void*) { return ++calls, CUDA_SUCCESS; };
  driver_.end();
  EXPECT_FALSE(running->ready());
  EXPECT_FALSE(running->wait().ok());
  EXPECT_FALSE(instantiate().ok());
  EXPECT_FALSE(launch().ok());
  running.reset();
  graph_.reset();
  variant_.reset();
  device_.reset();
  EXPECT_EQ(calls, 0);
}

TEST_F(CudaGraphs, BuffersOfAFailedLaunchAreNotReusedUntilCleared) {
  ASSERT_TRUE(instantiate().ok());
  const std::uint64_t cleared = address_;
  enqueued_.launch = CUDA_ERROR_OUT_OF_MEMORY;
  EXPECT_FALSE(launch().ok());
  enqueued_.launch = CUDA_SUCCESS;
  ASSERT_TRUE(instantiate().ok());
  ASSERT_TRUE(instantiate().ok());
  EXPECT_NE(address_, cleared) << "the memory may still be being cleared";
  EXPECT_THAT(enqueued_.unloaded, IsEmpty());
}

TEST_F(CudaGraphs, BuffersAreReusedAfterALaterLaunch) {
  ASSERT_TRUE(instantiate().ok());
  const std::uint64_t cleared = address_;
  enqueued_.launch = CUDA_ERROR_OUT_OF_MEMORY;
  EXPECT_FALSE(launch().ok());
  enqueued_.launch = CUDA_SUCCESS;
  launched();  // completes when its readback is destroyed
  ASSERT_TRUE(instantiate().ok());
  ASSERT_TRUE(instantiate().ok());
  EXPECT_EQ(address_, cleared);
}

TEST_F(CudaGraphs, NothingIsLaunchedWithoutMemoryForResults) {
  ASSERT_TRUE(instantiate().ok());
  enqueued_.pinned = CUDA_ERROR_OUT_OF_MEMORY;
  EXPECT_FALSE(launch().ok());
  EXPECT_THAT(enqueued_.launched, IsEmpty());
  enqueued_.pinned = CUDA_SUCCESS;
  launched();
  EXPECT_THAT(enqueued_.launched, SizeIs(1));
}

TEST_F(CudaGraphs, VariantsAreNotLaunchedIfTheEndOfAnEarlierLaunchIsUnknown) {
  ASSERT_TRUE(instantiate().ok());
  launched();
  enqueued_.record = CUDA_ERROR_UNKNOWN;
  graph_->launched(in_);  // a launch of the program's own graph
  enqueued_.record = CUDA_SUCCESS;
  EXPECT_FALSE(launch().ok());
  EXPECT_THAT(enqueued_.launched, SizeIs(1));
}

TEST_F(CudaGraphs, BuffersAreAllocatedOnASeparateStream) {
  static std::vector<CUstream> streams;
  streams.clear();
  driver_.cuMemAllocAsync = [](CUdeviceptr* address, std::size_t, CUstream stream) {
    streams.push_back(stream);
    *address = 0x1000;
    return CUDA_SUCCESS;
  };
  ASSERT_TRUE(instantiate().ok());
  EXPECT_THAT(streams, SizeIs(1));
  EXPECT_THAT(streams, Not(Contains(CU_STREAM_LEGACY)));
}

}  // namespace
}  // namespace lynxpp::device::cuda
