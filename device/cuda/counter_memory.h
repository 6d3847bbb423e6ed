// Counters that stay in device memory, and the kernel that summarises them.
#pragma once

#include <memory>
#include <mutex>

#include "device/counter_memory.h"
#include "device/cuda/driver.h"
#include "device/cuda/pool.h"

namespace lynxpp::device::cuda {

/// Creates the counters of launches in one context. Thread safe.
class CounterMemories {
 public:
  CounterMemories(const Driver& driver, Pool& pool) : driver_(driver), pool_(pool) {}

  /// Returns zeroed counters for a launch on the stream. Precondition: the context is current.
  Result<std::unique_ptr<CounterMemory>> make(std::uint64_t bytes, CUstream stream);

 private:
  /// Returns the kernel, which is loaded once.
  Result<CUfunction> kernel();

  const Driver& driver_;
  Pool& pool_;
  std::mutex mutex_;  // guards the members below
  bool is_tried_ = false;
  CUfunction function_ = nullptr;
  std::string problem_;
};

}  // namespace lynxpp::device::cuda
