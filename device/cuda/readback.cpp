#include "device/cuda/readback.h"

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

/// A launch whose end an event tells.
class PendingLaunch : public Readback {
 public:
  PendingLaunch(const Driver& driver, Pool& pool, CUevent over, const LaunchEvents& timing)
      : driver_(driver), pool_(pool), over_(over), timing_(timing) {}

  /// An error of the query says nothing of the launch.
  bool ready() override {
    if (over_ == nullptr) return false;
    const InContext ours(driver_, pool_.context());
    return driver_.cuEventQuery(over_) == CUDA_SUCCESS;
  }

  std::optional<double> kernel_milliseconds() override { return between(timing_.begin, timing_.end); }

 protected:
  CUresult wait_for_end() {
    if (over_ == nullptr) return CUDA_ERROR_INVALID_HANDLE;
    const InContext ours(driver_, pool_.context());
    return driver_.cuEventSynchronize(over_);
  }
  std::optional<double> between(CUevent begin, CUevent end) {
    const InContext ours(driver_, pool_.context());
    return elapsed(driver_, begin, end);
  }

  const Driver& driver_;
  Pool& pool_;
  CUevent over_;
  LaunchEvents timing_;
};

class CudaReadback final : public PendingLaunch {
 public:
  CudaReadback(const Driver& driver, Pool& pool, const LaunchMemory& memory, const LaunchEvents& timing)
      : PendingLaunch(driver, pool, memory.done, timing), memory_(memory) {}
  ~CudaReadback() override {
    if (wait_for_end() != CUDA_SUCCESS) return;
    const InContext ours(driver_, pool_.context());
    pool_.give_back_device_memory(memory_.device);
    pool_.give_back_pinned_memory(memory_.pinned);
    for (CUevent event : {over_, timing_.cleared_from, timing_.begin, timing_.end}) pool_.give_back(event);
  }

  Result<std::span<std::byte>> wait() override {
    const CUresult result = wait_for_end();
    if (result != CUDA_SUCCESS) return driver_.error("the launch", result);
    return std::span(reinterpret_cast<std::byte*>(memory_.pinned.address), memory_.bytes);
  }

  std::optional<double> most_milliseconds() override {
    const std::optional<double> kernel = kernel_milliseconds();
    return kernel ? kernel : between(timing_.cleared_from, over_);
  }
  std::optional<double> buffer_milliseconds() override {
    const std::optional<double> clearing = between(timing_.cleared_from, timing_.begin);
    const std::optional<double> copying = between(timing_.end, over_);
    if (!clearing || !copying) return std::nullopt;
    return *clearing + *copying;
  }

 private:
  LaunchMemory memory_;
};

class TimedLaunch final : public PendingLaunch {
 public:
  TimedLaunch(const Driver& driver, Pool& pool, const LaunchEvents& timing)
      : PendingLaunch(driver, pool, timing.end, timing) {}
  ~TimedLaunch() override {
    if (wait_for_end() != CUDA_SUCCESS) return;
    pool_.give_back(timing_.begin);
    pool_.give_back(timing_.end);
  }

  Result<std::span<std::byte>> wait() override {
    const CUresult result = wait_for_end();
    if (result != CUDA_SUCCESS) return driver_.error("the launch", result);
    return std::span<std::byte>();
  }
};

}  // namespace

std::unique_ptr<Readback> make_readback(const Driver& driver, Pool& pool, const LaunchMemory& memory,
                                        const LaunchEvents& timing) {
  return std::make_unique<CudaReadback>(driver, pool, memory, timing);
}

std::unique_ptr<Readback> make_timed_launch(const Driver& driver, Pool& pool, const LaunchEvents& timing) {
  return std::make_unique<TimedLaunch>(driver, pool, timing);
}

}  // namespace lynxpp::device::cuda
