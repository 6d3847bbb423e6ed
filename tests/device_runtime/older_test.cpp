// The functions for programs that are built for CUDA 12 or older, called with the types of that version.
#include <gtest/gtest.h>

#include <cstring>
#include <set>
#include <string>

#include "device/cpu/runtime/older_api.h"
#include "tests/device_runtime/runtime_fixture.h"

namespace lynxpp::device::cpu::test {
namespace {

void* older(int version, const std::string& name) {
  for (const ApiFunction& function : older_runtime_api(version)) {
    if (function.name == name) return function.address;
  }
  return nullptr;
}

#define CUDA12(name) (reinterpret_cast<decltype(&api::cuda12::name)>(older(12, #name)))

class OlderTest : public RuntimeTest {};

TEST_F(OlderTest, TablesHaveEveryFunctionOnceAndSorted) {
  for (const int version : {11, 12}) {
    const auto table = older_runtime_api(version);
    for (std::size_t i = 1; i < table.size(); ++i)
      EXPECT_LT(std::strcmp(table[i - 1].name, table[i].name), 0) << table[i].name;
    std::set<std::string> names;
    for (const ApiFunction& function : table) names.insert(function.name);
    for (const ApiFunction& function : runtime_api())
      EXPECT_TRUE(names.contains(function.name)) << function.name;
  }
  EXPECT_EQ(older(12, "cudaMalloc"), lookup("cudaMalloc"));
  EXPECT_EQ(older(12, "cudaMemPrefetchAsync_v2_ptsz"), lookup("cudaMemPrefetchAsync_ptsz"));
  EXPECT_NE(older(12, "cudaMemAdvise"), lookup("cudaMemAdvise"));
}

TEST_F(OlderTest, PropertiesHaveTheLayoutOfCuda12) {
  cudaDeviceProp now = {};
  ASSERT_EQ(CUDA(cudaGetDeviceProperties)(&now, 0), cudaSuccess);
  struct {
    api::cuda12::DeviceProperties properties;
    std::uint64_t after = 0x1234;
  } then;
  ASSERT_EQ(CUDA12(cudaGetDeviceProperties_v2)(&then.properties, 0), cudaSuccess);
  EXPECT_EQ(then.after, 0x1234u);
  // Offsets in bytes by CUDA 12's driver_types.h, which a program compiled for it has.
  const auto at = [&](std::size_t offset) {
    int value = 0;
    std::memcpy(&value, reinterpret_cast<const char*>(&then.properties) + offset, sizeof value);
    return value;
  };
  EXPECT_STREQ(then.properties.name, now.name);
  EXPECT_EQ(then.properties.global_bytes, now.totalGlobalMem);
  EXPECT_EQ(at(308), now.warpSize);
  EXPECT_EQ(at(320), now.maxThreadsPerBlock);
  EXPECT_GT(at(348), 0) << "the clock rate";
  EXPECT_EQ(at(360), now.major);
  EXPECT_EQ(at(364), now.minor);
  EXPECT_EQ(at(388), now.multiProcessorCount);
  EXPECT_EQ(at(576), now.concurrentKernels);
  EXPECT_EQ(at(604), now.unifiedAddressing);
  EXPECT_EQ(at(612), now.memoryBusWidth);
  EXPECT_EQ(at(616), now.l2CacheSize);
  EXPECT_EQ(at(624), now.maxThreadsPerMultiProcessor);
  EXPECT_EQ(then.properties.shared_bytes_per_multiprocessor, now.sharedMemPerMultiprocessor);
  EXPECT_EQ(at(648), now.regsPerMultiprocessor);
  EXPECT_EQ(at(688), now.cooperativeLaunch);
  EXPECT_EQ(then.properties.shared_bytes_per_block_optin, now.sharedMemPerBlockOptin);
  EXPECT_EQ(at(712), now.maxBlocksPerMultiProcessor);
  EXPECT_EQ(then.properties.reserved_shared_bytes, now.reservedSharedMemPerBlock);
  EXPECT_EQ(at(744), now.memoryPoolsSupported);
  EXPECT_EQ(at(772), now.clusterLaunch);
  EXPECT_EQ(CUDA12(cudaGetDeviceProperties_v2)(&then.properties, 1), cudaErrorInvalidDevice);
}

TEST_F(OlderTest, GraphsHaveNoDataOfEdges) {
  cudaGraph_t graph = nullptr;
  ASSERT_EQ(CUDA(cudaGraphCreate)(&graph, 0), cudaSuccess);
  cudaGraphNode_t nodes[2] = {};
  for (cudaGraphNode_t& node : nodes)
    ASSERT_EQ(CUDA(cudaGraphAddEmptyNode)(&node, graph, nullptr, 0), cudaSuccess);
  ASSERT_EQ(CUDA12(cudaGraphAddDependencies)(graph, &nodes[0], &nodes[1], 1), cudaSuccess);
  std::size_t count = 1;
  cudaGraphNode_t from = nullptr;
  cudaGraphNode_t to = nullptr;
  ASSERT_EQ(CUDA12(cudaGraphGetEdges)(graph, &from, &to, &count), cudaSuccess);
  EXPECT_EQ(count, 1u);
  EXPECT_EQ(from, nodes[0]);
  EXPECT_EQ(to, nodes[1]);
  ASSERT_EQ(CUDA12(cudaGraphNodeGetDependencies)(nodes[1], &from, &count), cudaSuccess);
  EXPECT_EQ(from, nodes[0]);
  ASSERT_EQ(CUDA12(cudaGraphNodeGetDependentNodes)(nodes[0], &to, &count), cudaSuccess);
  EXPECT_EQ(to, nodes[1]);
  ASSERT_EQ(CUDA12(cudaGraphRemoveDependencies)(graph, &nodes[0], &nodes[1], 1), cudaSuccess);
  ASSERT_EQ(CUDA12(cudaGraphGetEdges)(graph, nullptr, nullptr, &count), cudaSuccess);
  EXPECT_EQ(count, 0u);
  EXPECT_EQ(CUDA(cudaGraphDestroy)(graph), cudaSuccess);
}

TEST_F(OlderTest, MemoryIsAdvisedByDevice) {
  void* memory = nullptr;
  ASSERT_EQ(CUDA(cudaMallocManaged)(&memory, 64, cudaMemAttachGlobal), cudaSuccess);
  EXPECT_EQ(CUDA12(cudaMemAdvise)(memory, 64, cudaMemAdviseSetPreferredLocation, 0), cudaSuccess);
  EXPECT_EQ(CUDA12(cudaMemAdvise)(memory, 64, cudaMemAdviseSetPreferredLocation, cudaCpuDeviceId),
            cudaSuccess);
  EXPECT_EQ(CUDA12(cudaMemAdvise)(memory, 64, cudaMemAdviseSetPreferredLocation, 9), cudaErrorInvalidDevice);
  EXPECT_EQ(CUDA12(cudaMemPrefetchAsync)(memory, 64, 0, nullptr), cudaSuccess);
  EXPECT_EQ(CUDA12(cudaMemPrefetchAsync)(memory, 64, cudaCpuDeviceId, nullptr), cudaSuccess);
  EXPECT_EQ(CUDA(cudaFree)(memory), cudaSuccess);
}

TEST_F(OlderTest, CapturesAreDescribedWithoutDataOfEdges) {
  cudaStream_t stream = nullptr;
  ASSERT_EQ(CUDA(cudaStreamCreate)(&stream), cudaSuccess);
  ASSERT_EQ(CUDA(cudaStreamBeginCapture)(stream, cudaStreamCaptureModeGlobal), cudaSuccess);
  cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
  unsigned long long id = 0;
  cudaGraph_t graph = nullptr;
  const cudaGraphNode_t* dependencies = nullptr;
  std::size_t count = 9;
  ASSERT_EQ(CUDA12(cudaStreamGetCaptureInfo_v2)(stream, &status, &id, &graph, &dependencies, &count),
            cudaSuccess);
  EXPECT_EQ(status, cudaStreamCaptureStatusActive);
  EXPECT_NE(graph, nullptr);
  EXPECT_EQ(count, 0u);
  ASSERT_EQ(CUDA(cudaStreamEndCapture)(stream, &graph), cudaSuccess);
  EXPECT_EQ(CUDA(cudaGraphDestroy)(graph), cudaSuccess);
  EXPECT_EQ(CUDA(cudaStreamDestroy)(stream), cudaSuccess);
}

TEST_F(OlderTest, TypesOlderThanTheVersionAreRefused) {
  using Refused = cudaError_t (*)();
  for (const char* const name : {"cudaGetDeviceProperties", "cudaStreamGetCaptureInfo"})
    EXPECT_EQ(reinterpret_cast<Refused>(older(12, name))(), cudaErrorNotSupported) << name;
  for (const char* const name : {"cudaGraphInstantiate", "cudaFuncGetAttributes", "cudaGraphExecUpdate"})
    EXPECT_EQ(reinterpret_cast<Refused>(older(11, name))(), cudaErrorNotSupported) << name;
  EXPECT_EQ(older(12, "cudaGraphInstantiate"), lookup("cudaGraphInstantiate"));
}

}  // namespace
}  // namespace lynxpp::device::cpu::test
