#include "device/cuda/readback.h"

#include <utility>

#include "device/cuda/our_calls.h"

namespace lynxpp::device::cuda {
namespace {

std::optional<double> elapsed(const Driver& driver, CUevent begin, CUevent end) {
  float milliseconds = 0;
  if (begin == nullptr || end == nullptr ||
      driver.cuEventElapsedTime(&milliseconds, begin, end) != CUDA_SUCCESS) {
    return std::nullopt;
  }
  return milliseconds;
}

class SettledCallGroup final : public CallGroup {
 public:
  SettledCallGroup(const Driver& driver, CUcontext context) : ours_(driver, context) {}

 private:
  const InContext ours_;
};

/// A launch whose end is marked by an event. Once it is over, the driver is not queried again.
class PendingLaunch : public Readback {
 public:
  PendingLaunch(const Driver& driver, Pool& pool, CUevent end, const LaunchEvents& timing)
      : driver_(driver), pool_(pool), end_(end), timing_(timing) {}
  ~PendingLaunch() override {
    if (wait_for_end() != CUDA_SUCCESS) return;
    for (CUevent event : {timing_.cleared_from, timing_.begin, timing_.end}) pool_.release(event);
  }

  std::unique_ptr<CallGroup> call_group() override {
    return std::make_unique<SettledCallGroup>(driver_, pool_.context());
  }

  /// Returns false if the query fails.
  bool ready() override {
    if (is_over_) return true;
    if (end_ == nullptr) return false;
    const InContext ours(driver_, pool_.context());
    return has_ended(driver_.cuEventQuery(end_)) == CUDA_SUCCESS;
  }

  std::optional<double> kernel_milliseconds() override { return kernel_; }

 protected:
  CUresult wait_for_end() {
    if (is_over_) return CUDA_SUCCESS;
    if (end_ == nullptr) return CUDA_ERROR_INVALID_HANDLE;
    const InContext ours(driver_, pool_.context());
    return has_ended(driver_.cuEventSynchronize(end_));
  }
  std::optional<double> between(CUevent begin, CUevent end) {
    if (begin == nullptr || end == nullptr) return std::nullopt;
    const InContext ours(driver_, pool_.context());
    return elapsed(driver_, begin, end);
  }

  const Driver& driver_;
  Pool& pool_;
  CUevent end_;
  LaunchEvents timing_;

 private:
  CUresult has_ended(CUresult answer) {
    if (answer != CUDA_SUCCESS) return answer;
    is_over_ = true;
    kernel_ = elapsed(driver_, timing_.begin, timing_.end);
    return answer;
  }

  bool is_over_ = false;
  std::optional<double> kernel_;
};

class CudaReadback final : public PendingLaunch {
 public:
  CudaReadback(const Driver& driver, Pool& pool, const LaunchMemory& memory, const LaunchEvents& timing,
               Status copied)
      : PendingLaunch(driver, pool, memory.done, timing), memory_(memory), copied_(std::move(copied)) {}
  ~CudaReadback() override {
    if (wait_for_end() != CUDA_SUCCESS) return;
    if (memory_.device.address != 0) pool_.release_device_memory(memory_.device);
    pool_.release_pinned_memory(memory_.pinned);
    pool_.release(end_);
  }

  Result<std::span<std::byte>> wait() override {
    const CUresult result = wait_for_end();
    if (result != CUDA_SUCCESS) return driver_.error("the launch", result);
    if (!copied_) return copied_.error();
    return std::span(reinterpret_cast<std::byte*>(memory_.pinned.address), memory_.bytes);
  }

  std::optional<double> max_milliseconds() override {
    const std::optional<double> kernel = kernel_milliseconds();
    return kernel ? kernel : between(timing_.cleared_from, end_);
  }
  std::optional<double> buffer_milliseconds() override {
    const std::optional<double> clearing = between(timing_.cleared_from, timing_.begin);
    const std::optional<double> copying = between(timing_.end, end_);
    if (!clearing || !copying) return std::nullopt;
    return *clearing + *copying;
  }

 private:
  LaunchMemory memory_;
  const Status copied_;
};

class TimedLaunch final : public PendingLaunch {
 public:
  TimedLaunch(const Driver& driver, Pool& pool, const LaunchEvents& timing)
      : PendingLaunch(driver, pool, timing.end, timing) {}

  Result<std::span<std::byte>> wait() override {
    const CUresult result = wait_for_end();
    if (result != CUDA_SUCCESS) return driver_.error("the launch", result);
    return std::span<std::byte>();
  }
};

}  // namespace

std::unique_ptr<Readback> make_readback(const Driver& driver, Pool& pool, const LaunchMemory& memory,
                                        const LaunchEvents& timing, Status copied) {
  return std::make_unique<CudaReadback>(driver, pool, memory, timing, std::move(copied));
}

std::unique_ptr<Readback> make_timed_launch(const Driver& driver, Pool& pool, const LaunchEvents& timing) {
  return std::make_unique<TimedLaunch>(driver, pool, timing);
}

}  // namespace lynxpp::device::cuda
