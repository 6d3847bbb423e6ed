// Features that the device does not support: they are reported, and nothing else runs instead.
#include <gmock/gmock.h>

#include "tests/device_runtime/runtime_fixture.h"

namespace lynxpp::device::cpu::test {
namespace {

using testing::Each;
using testing::HasSubstr;

class RefusalTest : public RuntimeTest {
 protected:
  cudaError_t launch(cudaStream_t stream) {
    int n = 32;
    void* arguments[] = {&data_, &data_, &n};
    return CUDA(cudaLaunchKernel)(scale_, 1, 32, arguments, 0, stream);
  }
  void SetUp() override {
    const int two = 2;
    ASSERT_EQ(CUDA(cudaMemcpyToSymbol)(program_.variable("factor", 8), &two, 4, 0, cudaMemcpyHostToDevice),
              cudaSuccess);
    data_ = device_ints(std::vector<int>(32, 1));
    for (cudaStream_t* stream : {&stream_, &other_})
      ASSERT_EQ(CUDA(cudaStreamCreateWithFlags)(stream, cudaStreamNonBlocking), cudaSuccess);
  }
  /// Begins a capture and invalidates it by a call that cannot be captured.
  void begin() {
    ASSERT_EQ(CUDA(cudaStreamBeginCapture)(stream_, cudaStreamCaptureModeRelaxed), cudaSuccess);
    ASSERT_EQ(CUDA(cudaStreamSynchronize)(stream_), cudaErrorStreamCaptureUnsupported);
  }

  Program program_{test_ptx};
  const void* scale_ = program_.kernel("scale");
  int* data_ = nullptr;
  cudaStream_t stream_ = nullptr;
  cudaStream_t other_ = nullptr;
};

TEST_F(RefusalTest, UnsupportedFunctionsAreReported) {
  cudaIpcMemHandle_t handle{};
  const cudaChannelFormatDesc format = CUDA(cudaCreateChannelDesc)(32, 0, 0, 0, cudaChannelFormatKindFloat);
  EXPECT_EQ(format.x, 32);
  EXPECT_EQ(format.f, cudaChannelFormatKindFloat);
  testing::internal::CaptureStderr();
  EXPECT_EQ(CUDA(cudaIpcGetMemHandle)(&handle, nullptr), cudaErrorNotSupported);
  EXPECT_EQ(CUDA(cudaPeekAtLastError)(), cudaErrorNotSupported);
  EXPECT_EQ(CUDA(cudaGetLastError)(), cudaErrorNotSupported);
  EXPECT_EQ(CUDA(cudaGetLastError)(), cudaSuccess);
  EXPECT_THAT(testing::internal::GetCapturedStderr(), HasSubstr("does not have cudaIpcGetMemHandle;"));
  testing::internal::CaptureStderr();
  EXPECT_EQ(CUDA(cudaIpcGetMemHandle)(&handle, nullptr), cudaErrorNotSupported);
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "") << "reported only once";
}

TEST_F(RefusalTest, OlderPtxRunsIfNewerPtxIsUnsupported) {
  const std::string head = ".version 8.0\n.target sm_90\n.address_size 64\n";
  const auto kernels = [&](const std::string& extra, int value) {
    return head + ".visible .global .u32 held = " + std::to_string(value) +
           ";\n.visible .entry store(.param .u64 out) {\n.reg .u64 %a;\n.reg .u32 %r<3>;\n" + extra +
           "ld.param.u64 %a, [out];\nld.global.u32 %r1, [held];\nst.global.u32 [%a], %r1;\nret;\n}\n";
  };
  const std::string unknown = "tcgen05.shift.cta_group::1.down [%r2];\n";
  Program both(kernels("", 7), kernels(unknown, 9));
  int* const data = device_ints({0});
  void* arguments[] = {const_cast<int**>(&data)};
  testing::internal::CaptureStderr();
  EXPECT_EQ(CUDA(cudaLaunchKernel)(both.kernel("store"), 1, 1, arguments, 0, nullptr), cudaSuccess);
  EXPECT_EQ(host_ints(data, 1), std::vector<int>{7});
  EXPECT_THAT(testing::internal::GetCapturedStderr(), HasSubstr("its PTX for compute_75 is run instead"));

  // PTX in use is not replaced by an older version.
  Program used(kernels("", 7), kernels(unknown, 9));
  int held = 0;
  EXPECT_EQ(CUDA(cudaMemcpyFromSymbol)(&held, used.variable("held", 4), 4, 0, cudaMemcpyDeviceToHost),
            cudaSuccess);
  EXPECT_EQ(held, 9);
  testing::internal::CaptureStderr();
  EXPECT_EQ(CUDA(cudaLaunchKernel)(used.kernel("store"), 1, 1, arguments, 0, nullptr), cudaErrorNotSupported);
  EXPECT_THAT(testing::internal::GetCapturedStderr(), HasSubstr("tcgen05"));
}

TEST_F(RefusalTest, PerThreadAndGraphicsFunctionsAreReportedToo) {
  EXPECT_EQ(CUDA_AS(cudaStreamBeginCaptureToGraph, cudaStreamBeginCaptureToGraph_ptsz)(
                nullptr, nullptr, nullptr, nullptr, 0, cudaStreamCaptureModeRelaxed),
            cudaErrorNotSupported);
  EXPECT_EQ(reinterpret_cast<cudaError_t (*)(unsigned)>(lookup("cudaGLUnregisterBufferObject"))(1),
            cudaErrorNotSupported);
  EXPECT_EQ(reinterpret_cast<cudaError_t (*)(int)>(unknown_function())(1), cudaErrorNotSupported);
  EXPECT_EQ(reinterpret_cast<void* (*)(void*)>(lookup("__cudaRegisterUnifiedTable"))(nullptr), nullptr);
}

TEST_F(RefusalTest, WorkOfAnInvalidatedCaptureDoesNotRun) {
  begin();
  const int seven = 7;
  cudaEvent_t event = nullptr;
  ASSERT_EQ(CUDA(cudaEventCreate)(&event), cudaSuccess);
  cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
  EXPECT_EQ(CUDA(cudaStreamIsCapturing)(stream_, &status), cudaSuccess);
  EXPECT_EQ(status, cudaStreamCaptureStatusInvalidated);
  EXPECT_EQ(launch(stream_), cudaErrorStreamCaptureInvalidated);
  EXPECT_EQ(CUDA(cudaMemcpyAsync)(data_, &seven, 4, cudaMemcpyHostToDevice, stream_),
            cudaErrorStreamCaptureInvalidated);
  EXPECT_EQ(CUDA(cudaMemsetAsync)(data_, 0, 4, stream_), cudaErrorStreamCaptureInvalidated);
  bool called = false;
  EXPECT_EQ(CUDA(cudaLaunchHostFunc)(
                stream_, [](void* flag) { *static_cast<bool*>(flag) = true; }, &called),
            cudaErrorStreamCaptureInvalidated);
  EXPECT_FALSE(called);
  EXPECT_THAT(host_ints(data_, 32), Each(1));

  cudaGraph_t graph = reinterpret_cast<cudaGraph_t>(1);
  EXPECT_EQ(CUDA(cudaStreamEndCapture)(stream_, &graph), cudaErrorStreamCaptureInvalidated);
  EXPECT_EQ(graph, nullptr);
  EXPECT_EQ(launch(stream_), cudaSuccess) << "the stream can be used again";
  EXPECT_EQ(CUDA(cudaStreamSynchronize)(stream_), cudaSuccess);
  EXPECT_THAT(host_ints(data_, 32), Each(2));
  EXPECT_EQ(CUDA(cudaStreamEndCapture)(stream_, &graph), cudaErrorIllegalState);
  EXPECT_EQ(CUDA(cudaStreamBeginCapture)(nullptr, cudaStreamCaptureModeRelaxed),
            cudaErrorStreamCaptureUnsupported)
      << "CUDA does not capture the legacy stream";
}

TEST_F(RefusalTest, StreamsJoiningAnInvalidatedCaptureRunNothing) {
  begin();
  cudaEvent_t event = nullptr;
  ASSERT_EQ(CUDA(cudaEventCreate)(&event), cudaSuccess);
  EXPECT_EQ(launch(other_), cudaSuccess) << "not yet part of the capture";
  EXPECT_EQ(CUDA(cudaStreamSynchronize)(other_), cudaSuccess);
  EXPECT_EQ(CUDA(cudaEventRecord)(event, stream_), cudaErrorStreamCaptureInvalidated);
  EXPECT_EQ(CUDA(cudaStreamWaitEvent)(other_, event, 0), cudaErrorStreamCaptureInvalidated);
  EXPECT_EQ(launch(other_), cudaErrorStreamCaptureInvalidated);
  cudaGraph_t graph = nullptr;
  EXPECT_EQ(CUDA(cudaStreamEndCapture)(other_, &graph), cudaErrorStreamCaptureUnmatched);
  EXPECT_EQ(CUDA(cudaStreamEndCapture)(stream_, &graph), cudaErrorStreamCaptureInvalidated);
  EXPECT_EQ(launch(other_), cudaSuccess);
  EXPECT_EQ(CUDA(cudaStreamSynchronize)(other_), cudaSuccess);
  EXPECT_THAT(host_ints(data_, 32), Each(4));
}

}  // namespace
}  // namespace lynxpp::device::cpu::test
