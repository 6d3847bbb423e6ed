// A modelled device: runs kernels sequentially and computes each kernel's time from its warps' steps.
// Equations: docs/design/modelled-time.md.
//
// The device requests steps on demand: the caller learns the time at which a warp continues, and only needs
// to know the warp's next steps. Results depend only on the steps.
#pragma once

#include <cstdint>

#include "models/clock/kernel_time.h"
#include "models/clock/memory.h"
#include "models/clock/steps.h"
#include "models/machine.h"
#include "support/result.h"

namespace lynxpp::models::clock {

/// A running kernel. A slot holds one block at a time; slots are numbered consecutively,
/// multiprocessor by multiprocessor.
class Grid {
 public:
  virtual ~Grid() = default;

  /// Begins a block in a slot.
  virtual Status begin(std::uint64_t block, std::uint32_t slot, std::uint32_t multiprocessor) = 0;

  enum class More {
    steps,  ///< steps were appended, or more may follow
    waits,  ///< blocked until another warp of the block continues
    ended
  };
  /// Appends the steps of the warp from `cycles` on, counted from the kernel's beginning.
  virtual Result<More> advance(std::uint32_t slot, std::uint32_t warp, double cycles, Steps& steps) = 0;

  /// Explains a deadlock: a block is in `slot` and all warps wait.
  virtual Failure why_stuck(std::uint32_t slot) = 0;
};

struct KernelShape {
  std::uint64_t blocks = 0;
  std::uint32_t warps = 0;            ///< per block
  std::uint32_t resident_blocks = 0;  ///< per multiprocessor, at least 1
};

class Device {
 public:
  /// Precondition: the machine has a timing.
  explicit Device(Machine machine, CachesBefore caches = CachesBefore::kept);
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;

  const Machine& machine() const { return machine_; }

  /// Runs the kernel to its end. Fails if the grid does.
  Result<KernelTime> run(const KernelShape& shape, Grid& grid);

 private:
  const Machine machine_;
  Memory memory_;
};

}  // namespace lynxpp::models::clock
