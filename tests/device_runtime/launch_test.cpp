// Registration, launches, symbols, function attributes.
#include <gmock/gmock.h>

#include <numeric>
#include <thread>

#include "tests/device_runtime/runtime_fixture.h"

namespace lynxpp::device::cpu::test {
namespace {

using testing::Each;
using testing::ElementsAre;

class LaunchTest : public RuntimeTest {
 protected:
  void set_factor(int value) {
    ASSERT_EQ(CUDA(cudaMemcpyToSymbol)(factor_, &value, sizeof value, 0, cudaMemcpyHostToDevice),
              cudaSuccess);
  }
  cudaError_t launch_scale(int* out, int* in, int n, dim3 grid = 2, dim3 block = 64, std::size_t shared = 0,
                           cudaStream_t stream = nullptr) {
    void* arguments[] = {&out, &in, &n};
    return CUDA(cudaLaunchKernel)(scale_, grid, block, arguments, shared, stream);
  }
  int read_total() {
    int value = 0;
    EXPECT_EQ(CUDA(cudaMemcpyFromSymbol)(&value, total_, sizeof value, 0, cudaMemcpyDeviceToHost),
              cudaSuccess);
    return value;
  }

  Program program_{test_ptx};
  const void* scale_ = program_.kernel("scale");
  const void* factor_ = program_.variable("factor", 8);
  const void* total_ = program_.variable("total", 4);
};

TEST_F(LaunchTest, RunsTheKernelWithItsParametersAndVariables) {
  set_factor(3);
  std::vector<int> values(100);
  std::iota(values.begin(), values.end(), 0);
  int* in = device_ints(values);
  int* out = device_ints(std::vector<int>(128, -1));
  ASSERT_EQ(launch_scale(out, in, 100), cudaSuccess);
  const auto result = host_ints(out, 128);
  for (int i = 0; i < 128; ++i) EXPECT_EQ(result[static_cast<std::size_t>(i)], i < 100 ? 3 * i : -1) << i;
  EXPECT_EQ(read_total(), 105) << "initially 5, plus one for each thread that wrote";
}

TEST_F(LaunchTest, UsesTheKernelHandleOfGeneratedHostCode) {
  set_factor(2);
  cudaKernel_t handle = nullptr;
  ASSERT_EQ(CUDA(__cudaGetKernel)(&handle, scale_), cudaSuccess);
  ASSERT_EQ(CUDA(__cudaPushCallConfiguration)(1, 32, 0, nullptr), 0u);
  dim3 grid(9), block(9);
  std::size_t shared = 9;
  cudaStream_t stream = cudaStreamLegacy;
  ASSERT_EQ(CUDA(__cudaPopCallConfiguration)(&grid, &block, &shared, &stream), cudaSuccess);
  EXPECT_EQ(grid.x, 1u);
  EXPECT_EQ(block.x, 32u);
  EXPECT_EQ(shared, 0u);
  EXPECT_EQ(stream, nullptr);
  int* data = device_ints(std::vector<int>(32, 21));
  int n = 32;
  void* arguments[] = {&data, &data, &n};
  ASSERT_EQ(CUDA(__cudaLaunchKernel)(handle, grid, block, arguments, shared, stream), cudaSuccess);
  EXPECT_THAT(host_ints(data, 32), Each(42));
  ASSERT_EQ(
      CUDA_AS(__cudaLaunchKernel, __cudaLaunchKernel_ptsz)(handle, grid, block, arguments, shared, stream),
      cudaSuccess);
  EXPECT_THAT(host_ints(data, 32), Each(84));
}

TEST_F(LaunchTest, PopWithoutPushIsAnError) {
  dim3 grid, block;
  std::size_t shared = 0;
  cudaStream_t stream = nullptr;
  EXPECT_EQ(CUDA(__cudaPopCallConfiguration)(&grid, &block, &shared, &stream), cudaErrorMissingConfiguration);
}

TEST_F(LaunchTest, ExtendedLaunchTakesAttributes) {
  set_factor(2);
  int* data = device_ints(std::vector<int>(32, 4));
  int n = 32;
  void* arguments[] = {&data, &data, &n};
  cudaLaunchAttribute attribute = {};
  attribute.id = cudaLaunchAttributePriority;
  cudaLaunchConfig_t configuration = {};
  configuration.gridDim = 1;
  configuration.blockDim = 32;
  configuration.attrs = &attribute;
  configuration.numAttrs = 1;
  ASSERT_EQ(CUDA(cudaLaunchKernelExC)(&configuration, scale_, arguments), cudaSuccess);
  EXPECT_THAT(host_ints(data, 32), Each(8));
  attribute.id = cudaLaunchAttributeClusterDimension;
  attribute.val.clusterDim = {2, 1, 1};
  EXPECT_EQ(CUDA(cudaLaunchKernelExC)(&configuration, scale_, arguments), cudaErrorInvalidClusterSize)
      << "a cluster of two blocks in a grid of one";
  attribute.val.clusterDim = {1, 1, 1};
  EXPECT_EQ(CUDA(cudaLaunchKernelExC)(&configuration, scale_, arguments), cudaSuccess);
  EXPECT_THAT(host_ints(data, 32), Each(16));
}

TEST_F(LaunchTest, ClustersFollowTheKernelAndAttributes) {
  Program program{R"(.version 8.0
.target sm_90
.address_size 64
.visible .entry size(.param .u64 out) { .reg .b64 %o; .reg .b32 %n;
  ld.param.u64 %o, [out]; mov.u32 %n, %cluster_nctarank; st.global.u32 [%o], %n; ret; }
.visible .entry fixed(.param .u64 out) .explicitcluster .reqnctapercluster 2, 1, 1 { .reg .b64 %o; .reg .b32 %n;
  ld.param.u64 %o, [out]; mov.u32 %n, %cluster_nctarank; st.global.u32 [%o], %n; ret; }
)"};
  const void* const size = program.kernel("size");
  const void* const fixed = program.kernel("fixed");
  int* data = device_ints({0});
  void* arguments[] = {&data};
  cudaLaunchAttribute attribute = {};
  attribute.id = cudaLaunchAttributeClusterDimension;
  cudaLaunchConfig_t configuration = {};
  configuration.gridDim = 32;
  configuration.blockDim = 32;
  configuration.attrs = &attribute;
  configuration.numAttrs = 1;
  const auto launch = [&](const void* kernel, unsigned blocks) {
    attribute.val.clusterDim = {blocks, 1, 1};
    return CUDA(cudaLaunchKernelExC)(&configuration, kernel, arguments);
  };
  EXPECT_EQ(launch(size, 4), cudaSuccess);
  EXPECT_EQ(host_ints(data, 1)[0], 4);
  EXPECT_EQ(launch(size, 3), cudaErrorInvalidClusterSize) << "does not divide the grid";
  EXPECT_EQ(launch(size, 16), cudaErrorInvalidClusterSize) << "not a portable cluster size";
  ASSERT_EQ(CUDA(cudaFuncSetAttribute)(size, cudaFuncAttributeNonPortableClusterSizeAllowed, 1), cudaSuccess);
  EXPECT_EQ(launch(size, 16), cudaSuccess);
  EXPECT_EQ(host_ints(data, 1)[0], 16);
  EXPECT_EQ(launch(size, 32), cudaErrorInvalidClusterSize);
  EXPECT_EQ(launch(fixed, 4), cudaErrorInvalidClusterSize) << "the kernel requires another size";
  EXPECT_EQ(CUDA(cudaLaunchKernel)(fixed, 2, 32, arguments, 0, nullptr), cudaSuccess);
  EXPECT_EQ(host_ints(data, 1)[0], 2);
  EXPECT_EQ(CUDA(cudaLaunchKernel)(fixed, 3, 32, arguments, 0, nullptr), cudaErrorInvalidClusterSize);
  cudaFuncAttributes of_kernel{};
  ASSERT_EQ(CUDA(cudaFuncGetAttributes)(&of_kernel, fixed), cudaSuccess);
  EXPECT_EQ(of_kernel.requiredClusterWidth, 2);
  EXPECT_EQ(of_kernel.clusterDimMustBeSet, 1);
  EXPECT_EQ(CUDA(cudaFuncSetAttribute)(fixed, cudaFuncAttributeRequiredClusterWidth, 4),
            cudaErrorNotPermitted);
  for (int axis = 0; axis < 3; ++axis) {
    const auto which = static_cast<cudaFuncAttribute>(cudaFuncAttributeRequiredClusterWidth + axis);
    ASSERT_EQ(CUDA(cudaFuncSetAttribute)(size, which, axis == 0 ? 8 : 1), cudaSuccess);
  }
  EXPECT_EQ(CUDA(cudaLaunchKernel)(size, 16, 32, arguments, 0, nullptr), cudaSuccess);
  EXPECT_EQ(host_ints(data, 1)[0], 8);

  int count = 0;
  attribute.val.clusterDim = {2, 1, 1};
  ASSERT_EQ(CUDA(cudaOccupancyMaxActiveClusters)(&count, fixed, &configuration), cudaSuccess);
  int blocks = 0;
  ASSERT_EQ(CUDA(cudaOccupancyMaxActiveBlocksPerMultiprocessor)(&blocks, fixed, 32, 0), cudaSuccess);
  cudaDeviceProp properties{};
  ASSERT_EQ(CUDA(cudaGetDeviceProperties)(&properties, 0), cudaSuccess);
  EXPECT_EQ(count, blocks / 2 * properties.multiProcessorCount);
  EXPECT_EQ(properties.clusterLaunch, 1);
  ASSERT_EQ(CUDA(cudaOccupancyMaxPotentialClusterSize)(&count, fixed, &configuration), cudaSuccess);
  EXPECT_EQ(count, 2);
  ASSERT_EQ(CUDA(cudaOccupancyMaxPotentialClusterSize)(&count, size, &configuration), cudaSuccess);
  EXPECT_EQ(count, 16);
}

TEST_F(LaunchTest, GraphsKeepTheClustersOfALaunch) {
  Program program{R"(.version 8.0
.target sm_90
.address_size 64
.visible .entry size(.param .u64 out) { .reg .b64 %o; .reg .b32 %n;
  ld.param.u64 %o, [out]; mov.u32 %n, %cluster_nctarank; st.global.u32 [%o], %n; ret; }
)"};
  int* data = device_ints({0});
  void* arguments[] = {&data};
  cudaLaunchAttribute attribute = {};
  attribute.id = cudaLaunchAttributeClusterDimension;
  attribute.val.clusterDim = {4, 1, 1};
  cudaLaunchConfig_t configuration = {};
  configuration.gridDim = 8;
  configuration.blockDim = 32;
  configuration.attrs = &attribute;
  configuration.numAttrs = 1;
  ASSERT_EQ(CUDA(cudaStreamCreate)(&configuration.stream), cudaSuccess);
  ASSERT_EQ(CUDA(cudaStreamBeginCapture)(configuration.stream, cudaStreamCaptureModeGlobal), cudaSuccess);
  ASSERT_EQ(CUDA(cudaLaunchKernelExC)(&configuration, program.kernel("size"), arguments), cudaSuccess);
  cudaGraph_t graph = nullptr;
  ASSERT_EQ(CUDA(cudaStreamEndCapture)(configuration.stream, &graph), cudaSuccess);
  cudaGraphExec_t executable = nullptr;
  ASSERT_EQ(CUDA(cudaGraphInstantiate)(&executable, graph, 0), cudaSuccess);
  ASSERT_EQ(CUDA(cudaGraphLaunch)(executable, configuration.stream), cudaSuccess);
  ASSERT_EQ(CUDA(cudaStreamSynchronize)(configuration.stream), cudaSuccess);
  EXPECT_EQ(host_ints(data, 1)[0], 4);
}

TEST_F(LaunchTest, CooperativeLaunchMustFitTheDevice) {
  set_factor(2);
  int* data = device_ints(std::vector<int>(32, 4));
  int n = 32;
  void* arguments[] = {&data, &data, &n};
  EXPECT_EQ(CUDA(cudaLaunchCooperativeKernel)(scale_, 1, 32, arguments, 0, nullptr), cudaSuccess);
  EXPECT_THAT(host_ints(data, 32), Each(8));
  EXPECT_EQ(CUDA(cudaLaunchCooperativeKernel)(scale_, 1 << 20, 32, arguments, 0, nullptr),
            cudaErrorCooperativeLaunchTooLarge);
}

TEST_F(LaunchTest, SharedMemoryAndBarriers) {
  std::vector<int> values(64);
  std::iota(values.begin(), values.end(), 0);
  int* data = device_ints(values);
  const void* reverse = program_.kernel("reverse");
  void* arguments[] = {&data};
  ASSERT_EQ(CUDA(cudaLaunchKernel)(reverse, 1, 64, arguments, 0, nullptr), cudaSuccess);
  const auto result = host_ints(data, 64);
  for (std::size_t i = 0; i < 64; ++i) EXPECT_EQ(result[i], 63 - static_cast<int>(i));
}

TEST_F(LaunchTest, InvalidConfigurationsAreRejected) {
  int* data = device_ints({1});
  const struct {
    dim3 grid, block;
  } bad[] = {{0, 32},
             {dim3(1, 0), 32},
             {1, 0},
             {1, 1025},
             {1, dim3(32, 33)},
             {1, dim3(1, 1, 65)},
             {dim3(1, 65536), 32},
             {dim3(1, 1, 65536), 32},
             {0x80000000u, 32}};
  for (const auto& [grid, block] : bad) {
    EXPECT_EQ(launch_scale(data, data, 0, grid, block), cudaErrorInvalidConfiguration)
        << grid.x << "," << grid.y << "," << grid.z << " " << block.x << "," << block.y << "," << block.z;
  }
  EXPECT_EQ(launch_scale(data, data, 0, 1, dim3(16, 1, 64)), cudaSuccess);
}

TEST_F(LaunchTest, SharedMemoryAboveTheDefaultNeedsOptIn) {
  int* data = device_ints(std::vector<int>(64, 1));
  const void* reverse = program_.kernel("reverse");
  void* arguments[] = {&data};
  const auto launch = [&](std::size_t shared) {
    return CUDA(cudaLaunchKernel)(reverse, 1, 64, arguments, shared, nullptr);
  };
  EXPECT_EQ(launch(48 * 1024 - 256), cudaSuccess);
  EXPECT_EQ(launch(48 * 1024 - 255), cudaErrorInvalidValue) << "256 bytes are static";
  EXPECT_EQ(CUDA(cudaFuncSetAttribute)(reverse, cudaFuncAttributeMaxDynamicSharedMemorySize, 100 * 1024),
            cudaSuccess);
  EXPECT_EQ(launch(100 * 1024), cudaSuccess);
  EXPECT_EQ(launch(100 * 1024 + 1), cudaErrorInvalidValue);
  EXPECT_EQ(CUDA(cudaFuncSetAttribute)(reverse, cudaFuncAttributeMaxDynamicSharedMemorySize, 227 * 1024),
            cudaErrorInvalidValue);
  EXPECT_EQ(
      CUDA(cudaFuncSetAttribute)(reverse, cudaFuncAttributeMaxDynamicSharedMemorySize, 227 * 1024 - 256),
      cudaSuccess);
  EXPECT_EQ(launch(std::size_t{1} << 33), cudaErrorInvalidValue);
}

TEST_F(LaunchTest, LaunchBoundsAreEnforced) {
  const void* bounded = program_.kernel("bounded");
  EXPECT_EQ(CUDA(cudaLaunchKernel)(bounded, 1, 64, nullptr, 0, nullptr), cudaSuccess);
  EXPECT_EQ(CUDA(cudaLaunchKernel)(bounded, 1, 65, nullptr, 0, nullptr), cudaErrorInvalidValue);
}

TEST_F(LaunchTest, UnknownFunctionsAndSymbols) {
  int value = 0;
  EXPECT_EQ(CUDA(cudaLaunchKernel)(&value, 1, 1, nullptr, 0, nullptr), cudaErrorInvalidDeviceFunction);
  EXPECT_EQ(CUDA(__cudaLaunchKernel)(nullptr, 1, 1, nullptr, 0, nullptr), cudaErrorInvalidDeviceFunction);
  EXPECT_EQ(CUDA(cudaMemcpyToSymbol)(&value, &value, 4, 0, cudaMemcpyHostToDevice), cudaErrorInvalidSymbol);
  EXPECT_EQ(CUDA(cudaMemcpyToSymbol)(program_.variable("absent", 4), &value, 4, 0, cudaMemcpyHostToDevice),
            cudaErrorInvalidSymbol);
  EXPECT_EQ(CUDA(cudaLaunchKernel)(program_.kernel("absent"), 1, 1, nullptr, 0, nullptr),
            cudaErrorInvalidDeviceFunction);
}

TEST_F(LaunchTest, SymbolsHaveAddressesSizesAndBounds) {
  void* address = nullptr;
  std::size_t bytes = 0;
  ASSERT_EQ(CUDA(cudaGetSymbolAddress)(&address, factor_), cudaSuccess);
  ASSERT_EQ(CUDA(cudaGetSymbolSize)(&bytes, factor_), cudaSuccess);
  EXPECT_EQ(bytes, 8u);
  const int pair[] = {11, 12};
  EXPECT_EQ(CUDA(cudaMemcpyToSymbol)(factor_, &pair[1], 4, 4, cudaMemcpyHostToDevice), cudaSuccess);
  EXPECT_EQ(CUDA(cudaMemcpy)(address, &pair[0], 4, cudaMemcpyHostToDevice), cudaSuccess)
      << "the address refers to the same storage";
  int read[2] = {};
  EXPECT_EQ(CUDA(cudaMemcpyFromSymbol)(read, factor_, 8, 0, cudaMemcpyDeviceToHost), cudaSuccess);
  EXPECT_THAT(read, ElementsAre(11, 12));
  EXPECT_EQ(CUDA(cudaMemcpyToSymbol)(factor_, pair, 8, 4, cudaMemcpyHostToDevice), cudaErrorInvalidValue);
  EXPECT_EQ(CUDA(cudaMemcpyToSymbol)(factor_, pair, 8, 0, cudaMemcpyDeviceToHost),
            cudaErrorInvalidMemcpyDirection);
  cudaPointerAttributes attributes = {};
  ASSERT_EQ(CUDA(cudaPointerGetAttributes)(&attributes, address), cudaSuccess);
  EXPECT_EQ(attributes.type, cudaMemoryTypeDevice);
  EXPECT_EQ(CUDA(cudaFree)(address), cudaErrorInvalidValue);
}

TEST_F(LaunchTest, ManagedVariablesAreReadableOnTheHost) {
  Program program{test_ptx};
  auto** pointer = reinterpret_cast<int**>(program.managed_variable("managed_total", 4));
  const void* scale = program.kernel("scale");
  ASSERT_EQ(CUDA(__cudaInitModule)(reinterpret_cast<void**>(1)), 0) << "not a fatbinary's handle";
  int* data = device_ints(std::vector<int>(32, 4));
  int n = 10;
  void* arguments[] = {&data, &data, &n};
  ASSERT_EQ(CUDA(cudaLaunchKernel)(scale, 1, 32, arguments, 0, nullptr), cudaSuccess);
  EXPECT_EQ(program.initialise(), 1);
  ASSERT_NE(*pointer, nullptr);
  ASSERT_EQ(CUDA(cudaDeviceSynchronize)(), cudaSuccess);
  EXPECT_EQ(**pointer, 10);
  cudaPointerAttributes attributes = {};
  ASSERT_EQ(CUDA(cudaPointerGetAttributes)(&attributes, *pointer), cudaSuccess);
  EXPECT_EQ(attributes.type, cudaMemoryTypeManaged);
  std::size_t bytes = 0;
  EXPECT_EQ(CUDA(cudaGetSymbolSize)(&bytes, *pointer), cudaSuccess) << "&variable is the storage's address";
  EXPECT_EQ(bytes, 4u);
}

TEST_F(LaunchTest, FunctionAttributesAndOccupancy) {
  cudaFuncAttributes attributes = {};
  const void* bounded = program_.kernel("bounded");
  const void* reverse = program_.kernel("reverse");
  ASSERT_EQ(CUDA(cudaFuncGetAttributes)(&attributes, bounded), cudaSuccess);
  EXPECT_EQ(attributes.maxThreadsPerBlock, 64);
  ASSERT_EQ(CUDA(cudaFuncGetAttributes)(&attributes, reverse), cudaSuccess);
  EXPECT_EQ(attributes.maxThreadsPerBlock, 1024);
  EXPECT_EQ(attributes.sharedSizeBytes, 256u);
  EXPECT_EQ(attributes.ptxVersion, 75);
  EXPECT_EQ(attributes.binaryVersion, 90);
  EXPECT_EQ(attributes.maxDynamicSharedSizeBytes, 48 * 1024);
  int blocks = 0;
  const auto occupancy = [&](int threads, std::size_t shared) {
    EXPECT_EQ(CUDA(cudaOccupancyMaxActiveBlocksPerMultiprocessor)(&blocks, reverse, threads, shared),
              cudaSuccess);
    return blocks;
  };
  EXPECT_EQ(occupancy(1024, 0), 2);
  EXPECT_EQ(occupancy(33, 0), 32);
  EXPECT_EQ(occupancy(32, 75 * 1024), 2) << "228 KB; each block reserves 1 KB";
  EXPECT_EQ(occupancy(2048, 0), 0);
  EXPECT_EQ(CUDA(cudaOccupancyMaxActiveBlocksPerMultiprocessor)(&blocks, reverse, 0, 0),
            cudaErrorInvalidValue);
  std::size_t shared = 0;
  EXPECT_EQ(CUDA(cudaOccupancyAvailableDynamicSMemPerBlock)(&shared, reverse, 2, 64), cudaSuccess);
  EXPECT_EQ(shared, 113u * 1024 - 256);
  const char* name = nullptr;
  EXPECT_EQ(CUDA(cudaFuncGetName)(&name, reverse), cudaSuccess);
  EXPECT_STREQ(name, "reverse");
  std::size_t offset = 0, bytes = 0;
  EXPECT_EQ(CUDA(cudaFuncGetParamInfo)(scale_, 2, &offset, &bytes), cudaSuccess);
  EXPECT_EQ(offset, 16u);
  EXPECT_EQ(bytes, 4u);
  EXPECT_EQ(CUDA(cudaFuncGetParamInfo)(scale_, 3, &offset, &bytes), cudaErrorInvalidValue);
}

TEST_F(LaunchTest, KernelHandlesAreAcceptedAsFunctions) {
  cudaFunction_t function = nullptr;
  cudaKernel_t kernel = nullptr;
  ASSERT_EQ(CUDA(cudaGetFuncBySymbol)(&function, scale_), cudaSuccess);
  ASSERT_EQ(CUDA(cudaGetKernel)(&kernel, scale_), cudaSuccess);
  const char* name = nullptr;
  EXPECT_EQ(CUDA(cudaFuncGetName)(&name, function), cudaSuccess);
  EXPECT_STREQ(name, "scale");
  EXPECT_EQ(CUDA(cudaKernelSetAttributeForDevice)(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                                  64 * 1024, 0),
            cudaSuccess);
  cudaFuncAttributes attributes = {};
  ASSERT_EQ(CUDA(cudaFuncGetAttributes)(&attributes, kernel), cudaSuccess);
  EXPECT_EQ(attributes.maxDynamicSharedSizeBytes, 64 * 1024);
}

TEST_F(LaunchTest, SeveralThreadsLaunchConcurrently) {
  set_factor(2);
  constexpr int threads = 4;
  constexpr int launches = 25;
  std::vector<int*> data;
  for (int i = 0; i < threads; ++i) data.push_back(device_ints(std::vector<int>(64, 1)));
  std::vector<std::thread> running;
  std::vector<cudaError_t> errors(threads, cudaSuccess);
  for (std::size_t t = 0; t < threads; ++t) {
    running.emplace_back([&, t] {
      cudaStream_t stream = nullptr;
      CUDA(cudaStreamCreateWithFlags)(&stream, t % 2 == 0 ? cudaStreamNonBlocking : cudaStreamDefault);
      for (int i = 0; i < launches; ++i) {
        const cudaError_t error = launch_scale(data[t], data[t], 64, 1, 64, 0, t == 3 ? nullptr : stream);
        if (error != cudaSuccess) errors[t] = error;
      }
    });
  }
  for (auto& thread : running) thread.join();
  EXPECT_THAT(errors, Each(cudaSuccess));
  EXPECT_EQ(CUDA(cudaDeviceSynchronize)(), cudaSuccess);
  EXPECT_EQ(read_total(), 5 + threads * launches * 64);
  for (int* values : data) EXPECT_THAT(host_ints(values, 64), Each(1 << 25));
}

TEST_F(LaunchTest, ResetRestoresInitialValuesOfVariables) {
  set_factor(2);
  int* data = device_ints(std::vector<int>(64, 1));
  ASSERT_EQ(launch_scale(data, data, 64, 1, 64), cudaSuccess);
  EXPECT_EQ(read_total(), 5 + 64);
  ASSERT_EQ(CUDA(cudaDeviceReset)(), cudaSuccess);
  EXPECT_EQ(read_total(), 5);
  EXPECT_EQ(CUDA(cudaFree)(data), cudaErrorInvalidValue) << "the reset freed it";
}

TEST_F(LaunchTest, UnregisteredKernelsCannotBeLaunched) {
  int* data = device_ints({1});
  ASSERT_EQ(launch_scale(data, data, 1, 1, 1), cudaSuccess);
  cudaKernel_t handle = nullptr;
  ASSERT_EQ(CUDA(__cudaGetKernel)(&handle, scale_), cudaSuccess);
  program_.unregister();
  EXPECT_EQ(launch_scale(data, data, 1, 1, 1), cudaErrorInvalidDeviceFunction);
  EXPECT_EQ(CUDA(__cudaLaunchKernel)(handle, 1, 1, nullptr, 0, nullptr), cudaErrorInvalidDeviceFunction);
  std::size_t bytes = 0;
  EXPECT_EQ(CUDA(cudaGetSymbolSize)(&bytes, total_), cudaErrorInvalidSymbol);
}

}  // namespace
}  // namespace lynxpp::device::cpu::test
