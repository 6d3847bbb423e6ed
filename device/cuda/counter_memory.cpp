#include "device/cuda/counter_memory.h"

#include <string>
#include <string_view>
#include <utility>

#include "device/cuda/kernels.h"
#include "device/cuda/our_calls.h"

namespace lynxpp::device::cuda {
namespace {

constexpr std::uint64_t page_bytes = CounterPage::counters * sizeof(std::uint32_t);

class CudaCounterMemory final : public CounterMemory {
 public:
  struct Memory {
    Pool::Block counters, summaries;
  };

  CudaCounterMemory(const Driver& driver, Pool& pool, const Memory& memory, std::uint64_t bytes,
                    CUfunction kernel, CUstream stream)
      : CounterMemory(memory.counters.address, bytes),
        driver_(driver),
        pool_(pool),
        memory_(memory),
        kernel_(kernel),
        stream_(stream) {}
  /// Before a launch, the memory may still have to be cleared.
  ~CudaCounterMemory() override {
    for (const Pool::Block& block : {memory_.counters, memory_.summaries})
      is_launched_ ? pool_.release_device_memory(block) : pool_.free_device_memory(block, stream_);
  }

  void launched() override {
    constexpr std::uint32_t pages_per_block = 8, threads = 256;
    is_launched_ = true;
    std::uint64_t counters = address(), to = memory_.summaries.address;
    auto count = static_cast<std::uint32_t>(bytes() / page_bytes);
    void* parameters[] = {&counters, &to, &count};
    CUlaunchConfig config{};
    config.gridDimX = (count + pages_per_block - 1) / pages_per_block;
    config.gridDimY = config.gridDimZ = 1;
    config.blockDimX = threads;
    config.blockDimY = config.blockDimZ = 1;
    config.hStream = stream_;
    const CaptureRelaxed relaxed(driver_);
    summarised_ = driver_.cuLaunchKernelEx(&config, kernel_, parameters, nullptr);
  }

  Result<std::vector<CounterPage>> pages() override {
    if (summarised_ != CUDA_SUCCESS) return driver_.error("summarising counters", summarised_);
    std::vector<CounterPage> pages(bytes() / page_bytes);
    const std::span<std::byte> all = std::as_writable_bytes(std::span(pages));
    if (Status copied = copy(all, memory_.summaries.address); !copied) return copied.error();
    return pages;
  }

  Status read(std::uint64_t offset, std::span<std::byte> to) override { return copy(to, address() + offset); }

 private:
  /// Returns when the copy is done.
  Status copy(std::span<std::byte> to, std::uint64_t from) {
    const InContext ours(driver_, pool_.context());
    const CUstream stream = pool_.own_stream();
    if (stream == nullptr) return failure("cannot create a stream");
    const CUresult result = driver_.cuMemcpyDtoHAsync(to.data(), from, to.size(), stream);
    const CUevent copied = pool_.recorded_event(stream);
    const CUresult waited =
        copied == nullptr ? CUDA_ERROR_INVALID_HANDLE : driver_.cuEventSynchronize(copied);
    pool_.release(copied);
    for (const CUresult each : {result, waited}) {
      if (each != CUDA_SUCCESS) return driver_.error("copying counters", each);
    }
    return success();
  }

  const Driver& driver_;
  Pool& pool_;
  const Memory memory_;
  const CUfunction kernel_;
  const CUstream stream_;  ///< of the launch
  bool is_launched_ = false;
  CUresult summarised_ = CUDA_ERROR_NOT_READY;
};

}  // namespace

Result<std::unique_ptr<CounterMemory>> CounterMemories::make(std::uint64_t bytes, CUstream stream) {
  const Result<CUfunction> function = kernel();
  if (!function) return function.error();
  const Result<Pool::Block> counters = pool_.device_memory(bytes, stream);
  if (!counters) return counters.error();
  const Result<Pool::Block> summaries = pool_.device_memory(bytes / page_bytes * sizeof(CounterPage), stream);
  if (!summaries) {
    pool_.free_device_memory(*counters, stream);
    return summaries.error();
  }
  auto memory = std::make_unique<CudaCounterMemory>(
      driver_, pool_, CudaCounterMemory::Memory{*counters, *summaries}, bytes, *function, stream);
  const CUresult result = driver_.cuMemsetD8Async(counters->address, 0, bytes, stream);
  if (result != CUDA_SUCCESS) return driver_.error("cuMemsetD8Async", result);
  return std::unique_ptr<CounterMemory>(std::move(memory));
}

Result<CUfunction> CounterMemories::kernel() {
  const std::lock_guard lock(mutex_);
  if (!std::exchange(is_tried_, true)) {
    const std::string text(kernels().front().text);
    CUmodule module = nullptr;
    CUresult result = driver_.cuModuleLoadDataEx(&module, text.c_str(), 0, nullptr, nullptr);
    if (result == CUDA_SUCCESS)
      result = driver_.cuModuleGetFunction(&function_, module, "lynxpp_counter_pages");
    if (result != CUDA_SUCCESS)
      problem_ = driver_.error("the kernel that summarises counters", result).diagnostics.front().message;
  }
  if (!problem_.empty()) return failure(problem_);
  return function_;
}

}  // namespace lynxpp::device::cuda
