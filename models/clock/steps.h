// What the clock is told of a warp, in the order of the program.
#pragma once

#include <cstdint>
#include <vector>

#include "models/machine.h"

namespace lynxpp::models::clock {

struct Step {
  enum class Kind : std::uint8_t {
    arithmetic,  ///< `count` instructions, which keep the scheduler busy for `value` cycles
    access,      ///< an instruction that accesses `value` bytes of global memory; `count` transactions follow
    transaction,  ///< of `count` bytes at address `value`; `lanes` of an atomic operation
    shared,       ///< an access to shared memory of `count` turns
    wait,         ///< until all but the last `count` reads have what they read
    barrier,      ///< number `count`, for `value` warps, 0: all that have not ended; the warp waits
    arrive,       ///< the same, and the warp goes on
  };
  enum class Access : std::uint8_t { load, store, atomic };

  Kind kind = Kind::arithmetic;
  Access access = Access::load;  ///< of an access or an access to shared memory
  bool reads = false;            ///< … it brings something that a `wait` can wait for
  std::uint8_t lanes = 1;
  std::uint32_t count = 0;
  std::uint64_t value = 0;
};
using Steps = std::vector<Step>;

/// What an instruction asks of the units that are not as fast as the simple ones.
enum class Operation : std::uint8_t { simple, special, wide };

/// Cycles for which an instruction keeps its scheduler busy.
constexpr std::uint32_t busy_cycles(const ArithmeticTiming& timing, Operation operation) {
  switch (operation) {
    case Operation::special: return timing.special;
    case Operation::wide: return timing.wide;
    case Operation::simple: break;
  }
  return timing.issue;
}

}  // namespace lynxpp::models::clock
