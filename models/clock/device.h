// A modelled device: kernels one after the other, each from its warps' steps to its time. Equations:
// docs/design/modelled-time.md.
//
// The device asks for steps when it needs them: whoever runs the kernel learns the time at which a warp goes
// on, and need not know more of a warp than what comes next. Results depend on nothing but the steps.
#pragma once

#include <cstdint>

#include "models/clock/kernel_time.h"
#include "models/clock/memory.h"
#include "models/clock/steps.h"
#include "models/machine.h"
#include "support/result.h"

namespace lynxpp::models::clock {

/// A kernel that runs. A place holds one block at a time; places are numbered through all multiprocessors,
/// those of one next to each other.
class Grid {
 public:
  virtual ~Grid() = default;

  /// A block begins in a place.
  virtual Status begin(std::uint64_t block, std::uint32_t place, std::uint32_t multiprocessor) = 0;

  enum class More {
    steps,  ///< there are some, or there may be
    waits,  ///< not before another warp of the block has gone on
    ended
  };
  /// Appends what the warp does from `cycles` on, since the kernel began.
  virtual Result<More> advance(std::uint32_t place, std::uint32_t warp, double cycles, Steps& steps) = 0;

  /// Why nothing goes on, when a block is in `place` and all warps wait.
  virtual Failure why_stuck(std::uint32_t place) = 0;
};

struct KernelShape {
  std::uint64_t blocks = 0;
  std::uint32_t warps = 0;            ///< of a block
  std::uint32_t resident_blocks = 0;  ///< of a multiprocessor, at least 1
};

class Device {
 public:
  /// Precondition: the machine has a timing.
  explicit Device(Machine machine, CachesBefore caches = CachesBefore::kept);
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;

  const Machine& machine() const { return machine_; }

  /// Runs the kernel to its end. Failure: the grid's.
  Result<KernelTime> run(const KernelShape& shape, Grid& grid);

 private:
  const Machine machine_;
  Memory memory_;
};

}  // namespace lynxpp::models::clock
