#include "device/cuda/stream_hold.h"

#include "support/log.h"

namespace lynxpp::device::cuda {
namespace {

/// About 4 ms: more than enqueueing takes, and harmless if the host waits for the stream in the meantime.
constexpr std::uint64_t most_cycles = 8'000'000;

constexpr const char* wait_ptx = R"(.version 6.0
.target sm_50
.address_size 64
.visible .entry lynxpp_wait(.param .u64 released, .param .u32 number, .param .u64 most_cycles)
{
  .reg .pred %waits;
  .reg .b32 %number, %seen;
  .reg .b64 %released, %most, %begin, %now;
  ld.param.u64 %released, [released];
  ld.param.u32 %number, [number];
  ld.param.u64 %most, [most_cycles];
  mov.u64 %begin, %clock64;
again:
  ld.volatile.u32 %seen, [%released];
  sub.s32 %seen, %seen, %number;
  setp.ge.s32 %waits, %seen, 0;
  @%waits ret;
  mov.u64 %now, %clock64;
  sub.u64 %now, %now, %begin;
  setp.lt.u64 %waits, %now, %most;
  @%waits bra again;
  ret;
}
)";

}  // namespace

bool StreamHold::prepare() {
  if (is_tried_) return function_ != nullptr;
  is_tried_ = true;
  void* memory = nullptr;
  CUmodule module = nullptr;
  CUfunction function = nullptr;
  CUresult result = driver_.cuMemHostAlloc(&memory, sizeof *released_, CU_MEMHOSTALLOC_PORTABLE);
  if (result == CUDA_SUCCESS) {
    released_ = static_cast<std::uint32_t*>(memory);
    *released_ = number_;
    result = driver_.cuModuleLoadDataEx(&module, wait_ptx, 0, nullptr, nullptr);
  }
  if (result == CUDA_SUCCESS) result = driver_.cuModuleGetFunction(&function, module, "lynxpp_wait");
  if (result != CUDA_SUCCESS) {
    log().warn("times of short kernels include host time: {}",
               driver_.error("the wait kernel", result).diagnostics.front().message);
    return false;
  }
  function_ = function;
  return true;
}

StreamHold::Hold StreamHold::hold(CUstream stream) {
  const std::lock_guard lock(mutex_);
  if (!prepare()) return {};
  ++number_;
  auto released = reinterpret_cast<std::uint64_t>(released_);
  std::uint64_t cycles = most_cycles;
  void* parameters[] = {&released, &number_, &cycles};
  CUlaunchConfig config{};
  config.gridDimX = config.gridDimY = config.gridDimZ = 1;
  config.blockDimX = config.blockDimY = config.blockDimZ = 1;
  config.hStream = stream;
  Hold held(*this, number_);
  if (driver_.cuLaunchKernelEx(&config, function_, parameters, nullptr) == CUDA_SUCCESS) return held;
  *released_ = number_;
  held.owner_ = nullptr;
  return held;
}

void StreamHold::release(std::uint32_t number) {
  const std::lock_guard lock(mutex_);
  if (static_cast<std::int32_t>(number - *released_) > 0) *released_ = number;
}

}  // namespace lynxpp::device::cuda
