// Services for the launch session: the interceptor, cpu_device() with instrumented variants, and the counters
// file.
#include <gmock/gmock.h>

#include <cstdlib>
#include <cstring>
#include <functional>
#include <nlohmann/json.hpp>

#include "device/cpu/runtime/counters.h"
#include "support/text.h"
#include "tests/device_runtime/runtime_fixture.h"
#include "tests/support/temporary_folder.h"

namespace lynxpp::device::cpu::test {
namespace {

using testing::Each;

// adds its launch's block size to the target of the first probe word, and multiplies like the original
constexpr const char* variant_ptx = R"(.version 7.5
.target sm_75
.address_size 64

.visible .entry scale(
  .param .u64 scale_param_0,
  .param .u64 scale_param_1,
  .param .u32 scale_param_2,
  .param .align 8 .b8 probe[16]
)
{
  .reg .pred %p<2>;
  .reg .b32 %r<12>;
  .reg .b64 %rd<12>;

  ld.param.u64 %rd1, [scale_param_0];
  ld.param.u64 %rd2, [scale_param_1];
  ld.param.u32 %r1, [scale_param_2];
  ld.param.u64 %rd9, [probe];
  ld.param.u64 %rd10, [probe+8];
  mov.u32 %r4, %tid.x;
  setp.ge.s32 %p1, %r4, %r1;
  @%p1 bra $done;
  mul.wide.s32 %rd5, %r4, 4;
  add.s64 %rd6, %rd2, %rd5;
  add.s64 %rd7, %rd1, %rd5;
  ld.global.u32 %r6, [%rd6];
  ld.global.u32 %r7, [%rd10];
  mul.lo.s32 %r8, %r6, %r7;
  st.global.u32 [%rd7], %r8;
  atom.global.add.u32 %r9, [%rd9], 1;
$done:
  ret;
}
)";

std::function<bool(const Launch&, const KernelIdentity&)> intercepted;

class SessionTest : public RuntimeTest {
 protected:
  SessionTest() {
    const int three = 3;
    EXPECT_EQ(CUDA(cudaMemcpyToSymbol)(factor_, &three, 4, 0, cudaMemcpyHostToDevice), cudaSuccess);
    data_ = device_ints(std::vector<int>(32, 5));
  }

  void intercept(std::function<bool(const Launch&, const KernelIdentity&)> with) {
    intercepted = std::move(with);
    set_launch_interceptor(
        [](const Launch& launch, const KernelIdentity& kernel) { return intercepted(launch, kernel); });
  }

  cudaError_t launch(int n) {
    void* arguments[] = {&data_, &data_, &n};
    return CUDA(cudaLaunchKernel)(scale_, dim3(1, 1, 1), dim3(32, 1, 1), arguments, 64, nullptr);
  }

  Program program_{test_ptx};
  const void* scale_ = program_.kernel("scale");
  const void* factor_ = program_.variable("factor", 8);
  int* data_ = nullptr;
};

TEST_F(SessionTest, InterceptorSeesTheLaunchAndMayDecline) {
  int seen = 0;
  intercept([&](const Launch& launch, const KernelIdentity& kernel) {
    ++seen;
    EXPECT_EQ(*kernel.name, "scale");
    EXPECT_EQ(*kernel.ptx, test_ptx);
    EXPECT_EQ(launch.block[0], 32u);
    EXPECT_EQ(launch.shared_bytes, 64u);
    EXPECT_NE(launch.function, nullptr);
    EXPECT_FALSE(launch.per_thread_stream);
    EXPECT_EQ(*static_cast<int*>(launch.parameters[2]), 32);
    return false;
  });
  EXPECT_EQ(launch(32), cudaSuccess);
  EXPECT_EQ(seen, 1);
  EXPECT_THAT(host_ints(data_, 32), Each(15)) << "declined, so the original ran";
  intercept([&](const Launch& launch, const KernelIdentity&) {
    ++seen;
    EXPECT_TRUE(launch.per_thread_stream);
    return true;
  });
  int n = 32;
  void* arguments[] = {&data_, &data_, &n};
  EXPECT_EQ(CUDA_AS(cudaLaunchKernel, cudaLaunchKernel_ptsz)(scale_, 1, 32, arguments, 0, nullptr),
            cudaSuccess);
  EXPECT_EQ(seen, 2);
  EXPECT_THAT(host_ints(data_, 32), Each(15)) << "intercepted, so the original did not run";
}

TEST_F(SessionTest, VariantReceivesProbeWordsAfterTheParameters) {
  intercept([&](const Launch& launch, const KernelIdentity&) {
    Device& device = cpu_device();
    auto variant = device.load(variant_ptx, "scale", launch, {});
    EXPECT_TRUE(variant.ok());
    const auto factor = device.variable_address(launch, "factor");
    EXPECT_TRUE(factor.has_value());
    EXPECT_FALSE(device.variable_address(launch, "no_such_variable").has_value());
    EXPECT_FALSE(device.variable_address({.function = data_}, "factor").has_value());
    auto buffer = device.allocate_zeroed(16, launch);
    EXPECT_TRUE(buffer.ok());
    if (!variant.ok() || !factor || !buffer.ok()) return false;
    const ParameterSlot slots[] = {{0, 8}, {8, 8}, {16, 4}};
    const std::uint64_t probe[] = {(*buffer)->address(), *factor};
    EXPECT_TRUE(device.launch(**variant, launch, slots, probe, **buffer).ok());
    auto readback = device.read_back(std::move(*buffer), launch);
    const auto bytes = (*readback)->wait();
    EXPECT_TRUE((*readback)->ready());
    EXPECT_EQ(bytes->size(), 16u);
    int count = 0;
    std::memcpy(&count, bytes->data(), sizeof count);
    EXPECT_EQ(count, 20);
    EXPECT_FALSE(*device.capturing(launch));
    return true;
  });
  EXPECT_EQ(launch(20), cudaSuccess);
  const auto result = host_ints(data_, 32);
  for (std::size_t i = 0; i < 32; ++i) EXPECT_EQ(result[i], i < 20 ? 15 : 5);
}

TEST_F(SessionTest, FailedVariantIsTheProgramsError) {
  intercept([&](const Launch& launch, const KernelIdentity&) {
    auto variant = cpu_device().load(test_ptx, "dies", launch, {});
    EXPECT_TRUE(variant.ok());
    auto buffer = cpu_device().allocate_zeroed(16, launch);
    EXPECT_TRUE(cpu_device().launch(**variant, launch, {}, {}, **buffer).ok())
        << "the launch itself succeeds";
    auto died = cpu_device().read_back(std::move(*buffer), launch);
    EXPECT_FALSE((*died)->wait().ok());
    buffer = cpu_device().allocate_zeroed(16, launch);
    auto unharmed = cpu_device().read_back(std::move(*buffer), launch);
    EXPECT_TRUE((*unharmed)->wait().ok()) << "the failure is reported once";
    return true;
  });
  EXPECT_EQ(launch(32), cudaSuccess);
  EXPECT_EQ(CUDA(cudaDeviceSynchronize)(), cudaErrorLaunchFailure);
}

TEST_F(SessionTest, InvalidVariantFailsAndTheOriginalCanRun) {
  intercept([&](const Launch& launch, const KernelIdentity&) {
    EXPECT_FALSE(cpu_device().load("this is no PTX {", "scale", launch, {}).ok());
    EXPECT_FALSE(cpu_device().load(variant_ptx, "another", launch, {}).ok());
    auto variant = cpu_device().load(variant_ptx, "scale", launch, {});
    EXPECT_TRUE(variant.ok());
    const ParameterSlot slots[] = {{0, 8}, {8, 8}, {16, 4}};
    const std::uint64_t one_word[] = {1};
    auto buffer = cpu_device().allocate_zeroed(16, launch);
    EXPECT_FALSE(cpu_device().launch(**variant, launch, slots, one_word, **buffer).ok())
        << "the variant needs two probe words";
    return false;
  });
  EXPECT_EQ(launch(32), cudaSuccess);
  EXPECT_THAT(host_ints(data_, 32), Each(15));
}

TEST_F(SessionTest, LaunchesMayPassAParameterBuffer) {
  auto variant = cpu_device().load(variant_ptx, "scale", Launch{}, {});
  ASSERT_TRUE(variant.ok());
  void* address = nullptr;
  ASSERT_EQ(CUDA(cudaGetSymbolAddress)(&address, factor_), cudaSuccess);
  Launch launch;
  launch.block[0] = 32;
  auto buffer = cpu_device().allocate_zeroed(4, launch);
  ASSERT_TRUE(buffer.ok());
  std::byte parameters[20] = {};
  const int n = 32;
  std::memcpy(parameters, &data_, 8);
  std::memcpy(parameters + 8, &data_, 8);
  std::memcpy(parameters + 16, &n, 4);
  std::size_t size = sizeof parameters;
  void* extra[] = {reinterpret_cast<void*>(1), parameters, reinterpret_cast<void*>(2), &size, nullptr};
  launch.extra = extra;
  const ParameterSlot slots[] = {{0, 8}, {8, 8}, {16, 4}};
  const std::uint64_t probe[] = {(*buffer)->address(), reinterpret_cast<std::uint64_t>(address)};
  EXPECT_TRUE(cpu_device().launch(**variant, launch, slots, probe, **buffer).ok());
  EXPECT_THAT(host_ints(data_, 32), Each(15));
  size = 16;
  EXPECT_FALSE(cpu_device().launch(**variant, launch, slots, probe, **buffer).ok())
      << "the buffer is too short";
  EXPECT_TRUE(cpu_device().read_back(std::move(*buffer), launch).ok());
}

TEST_F(SessionTest, CountersAreWrittenPerLaunch) {
  const TemporaryFolder folder;
  const std::string path = folder.file("counters.jsonl");
  set_counters_path(path);
  EXPECT_EQ(launch(32), cudaSuccess);
  EXPECT_EQ(launch(16), cudaSuccess);
  intercept([](const Launch&, const KernelIdentity&) { return true; });
  EXPECT_EQ(launch(32), cudaSuccess);
  set_counters_path(std::nullopt);
  EXPECT_EQ(CUDA(cudaDeviceSynchronize)(), cudaSuccess);
  std::string text;
  ASSERT_TRUE(read_file(path, text));
  const auto lines = split(trim(text), '\n');
  ASSERT_EQ(lines.size(), 2u) << "intercepted launches are not counted";
  const auto first = nlohmann::json::parse(lines[0]);
  EXPECT_FALSE(first.contains("instrumented"));
  const auto second = nlohmann::json::parse(lines[1]);
  EXPECT_EQ(first["kernel"], "scale");
  EXPECT_EQ(first["launch"], 0);
  EXPECT_EQ(second["launch"], 1);
  EXPECT_EQ(first["grid"], nlohmann::json({1, 1, 1}));
  EXPECT_EQ(first["block"], nlohmann::json({32, 1, 1}));
  // 9 instructions up to the branch, 11 after it, and the return.
  EXPECT_EQ(first["warp_instructions"], 9 + 11 + 1);
  EXPECT_EQ(first["thread_instructions"], 32 * (8 + 11 + 1)) << "no lane takes the guarded branch";
  EXPECT_EQ(second["warp_instructions"], 9 + 11 + 1);
  EXPECT_EQ(second["thread_instructions"], 32 * 8 + 16 + 16 * 11 + 32);
  ASSERT_EQ(first["blocks"].size(), 3u);
  EXPECT_EQ(second["blocks"][1]["function"], "scale");
  EXPECT_EQ(second["blocks"][1]["block"], 1);
  EXPECT_EQ(second["blocks"][1]["instructions"], 11);
  EXPECT_EQ(second["blocks"][1]["warp_executions"], 1);
  EXPECT_EQ(second["blocks"][1]["thread_executions"], 16);
}

TEST_F(SessionTest, CountersKeepTheProgramsLaunchNumbers) {
  const TemporaryFolder folder;
  const std::string path = folder.file("counters.jsonl");
  auto variant = cpu_device().load(variant_ptx, "scale", Launch{}, {});
  ASSERT_TRUE(variant.ok());
  int seen = 0;
  intercept([&](const Launch& launch, const KernelIdentity&) {
    if (seen++ % 2 == 0) return false;
    auto buffer = cpu_device().allocate_zeroed(4, launch);
    const auto factor = cpu_device().variable_address(launch, "factor");
    const ParameterSlot slots[] = {{0, 8}, {8, 8}, {16, 4}};
    const std::uint64_t probe[] = {(*buffer)->address(), *factor};
    EXPECT_TRUE(cpu_device().launch(**variant, launch, slots, probe, **buffer).ok());
    EXPECT_TRUE(cpu_device().read_back(std::move(*buffer), launch).ok());
    return true;
  });
  set_counters_path(path);
  for (int i = 0; i < 5; ++i) EXPECT_EQ(launch(32), cudaSuccess);
  set_counters_path(std::nullopt);
  EXPECT_EQ(CUDA(cudaDeviceSynchronize)(), cudaSuccess);
  std::string text;
  ASSERT_TRUE(read_file(path, text));
  std::vector<std::pair<int, bool>> launches;
  for (const std::string& line : split(trim(text), '\n')) {
    const auto json = nlohmann::json::parse(line);
    launches.emplace_back(json["launch"], json.contains("instrumented"));
  }
  EXPECT_THAT(launches, testing::ElementsAre(std::pair(0, false), std::pair(1, true), std::pair(2, false),
                                             std::pair(3, true), std::pair(4, false)));
}

TEST_F(SessionTest, CountersOfVariantsIncludeAddedCode) {
  const TemporaryFolder folder;
  const std::string path = folder.file("counters.jsonl");
  auto variant = cpu_device().load(variant_ptx, "scale", Launch{}, {});
  ASSERT_TRUE(variant.ok());
  intercept([&](const Launch& launch, const KernelIdentity&) {
    auto buffer = cpu_device().allocate_zeroed(4, launch);
    const auto factor = cpu_device().variable_address(launch, "factor");
    const ParameterSlot slots[] = {{0, 8}, {8, 8}, {16, 4}};
    const std::uint64_t probe[] = {(*buffer)->address(), *factor};
    EXPECT_TRUE(cpu_device().launch(**variant, launch, slots, probe, **buffer).ok());
    EXPECT_TRUE(cpu_device().read_back(std::move(*buffer), launch).ok());
    return true;
  });
  set_counters_path(path);
  EXPECT_EQ(launch(32), cudaSuccess);
  EXPECT_EQ(launch(0), cudaSuccess);
  set_counters_path(std::nullopt);
  EXPECT_EQ(CUDA(cudaDeviceSynchronize)(), cudaSuccess);
  std::string text;
  ASSERT_TRUE(read_file(path, text));
  const auto lines = split(trim(text), '\n');
  ASSERT_EQ(lines.size(), 2u);
  const auto first = nlohmann::json::parse(lines[0]);
  const auto second = nlohmann::json::parse(lines[1]);
  EXPECT_EQ(first["kernel"], "scale");
  EXPECT_EQ(first["instrumented"], true);
  EXPECT_EQ(first["warp_instructions"], 8 + 8 + 1) << "the last instruction is lynxpp's";
  EXPECT_EQ(second["launch"], 1);
  EXPECT_EQ(second["warp_instructions"], 8 + 1);
}

}  // namespace
}  // namespace lynxpp::device::cpu::test
