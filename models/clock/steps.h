// A warp's steps, the input of the clock, in program order.
#pragma once

#include <cstdint>
#include <vector>

#include "models/machine.h"

namespace lynxpp::models::clock {

struct Step {
  enum class Kind : std::uint8_t {
    arithmetic,  ///< `count` instructions, which occupy the scheduler for `value` cycles
    access,      ///< an instruction that accesses `value` bytes of global memory; `count` transactions follow
    transaction,  ///< `count` bytes at address `value`; `lanes` for atomic operations
    shared,       ///< an access to shared memory that takes `count` turns
    wait,         ///< waits until all but the last `count` reads have completed
    barrier,      ///< waits at barrier `count` for `value` warps; 0: all warps that have not exited
    arrive,       ///< the same without waiting
  };
  enum class Access : std::uint8_t { load, store, atomic };

  Kind kind = Kind::arithmetic;
  Access access = Access::load;  ///< of an access or an access to shared memory
  bool reads = false;            ///< it loads a value that a `wait` can wait for
  std::uint8_t lanes = 1;
  std::uint32_t count = 0;
  std::uint64_t value = 0;
};
using Steps = std::vector<Step>;

/// Class of an instruction by execution unit: simple, or one of the slower ones.
enum class Operation : std::uint8_t { simple, special, wide };

/// Cycles for which an instruction occupies its scheduler.
constexpr std::uint32_t busy_cycles(const ArithmeticTiming& timing, Operation operation) {
  switch (operation) {
    case Operation::special: return timing.special;
    case Operation::wide: return timing.wide;
    case Operation::simple: break;
  }
  return timing.issue;
}

}  // namespace lynxpp::models::clock
