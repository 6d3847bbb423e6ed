// Records the actions of a warp as steps for the modelled device (docs/design/modelled-time.md).
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "device/cpu/simt/execute/context.h"
#include "device/cpu/simt/execute/memory/global_memory.h"
#include "models/clock/device.h"

namespace lynxpp::device::cpu {

struct Program;
struct Segment;
struct CompiledFunction;

/// Maps host addresses to addresses on the modelled device, which are the same in every run. Allocations and
/// variables are placed in the order in which kernels first touch them, each aligned to one stripe over all
/// channels.
class ModelledAddresses {
 public:
  explicit ModelledAddresses(const models::Machine& machine);

  std::uint64_t of(const GlobalMemory& memory, std::uint64_t address);

 private:
  struct ModelledRange {
    std::uint64_t bytes = 0;
    std::uint64_t begin = 0;  ///< modelled address
  };
  const std::uint64_t alignment_;
  std::uint64_t next_ = 0;
  std::map<std::uint64_t, ModelledRange> ranges_;  ///< by host address of the first byte
  AddressRange last_;                              ///< range of the last query
  std::uint64_t last_begin_ = 0;
  std::uint64_t removals_ = 0;
};

/// A modelled device and its memory. Not thread safe.
struct LaunchClock {
  explicit LaunchClock(const models::Machine& machine,
                       models::clock::CachesBefore caches = models::clock::CachesBefore::kept)
      : device(machine, caches), addresses(machine) {}

  models::clock::Device device;
  ModelledAddresses addresses;
  std::uint64_t begin_ns = 0;           ///< modelled time at which the launch begins
  models::clock::KernelTime last = {};  ///< time of the last launch
};

/// The statically known steps of a program's instructions.
class StepTable {
 public:
  StepTable(const Program& program, const models::ArithmeticTiming& timing);

  /// Timing of one instruction, indexed by site as in the launch's counters.
  struct Instruction {
    std::uint64_t busy_before = 0;  ///< cycles of all earlier instructions of the function
    std::uint32_t first_use = 0;    ///< first use of the value read; the block's end if unused
  };
  const Instruction& of(std::size_t site) const { return instructions_[site]; }

 private:
  std::vector<Instruction> instructions_;
};

/// Records the steps of one warp.
class StepRecorder {
 public:
  StepRecorder(const StepTable& table, LaunchClock& clock, const GlobalMemory& memory)
      : table_(&table), clock_(&clock), memory_(&memory) {}

  /// Sets the destination of the following steps.
  void begin_slice(models::clock::Steps& steps) { steps_ = &steps; }
  bool has_steps() const { return !steps_->empty(); }

  void begin_segment(const CompiledFunction& function, const Segment& segment);
  void end_segment(const Segment& segment);
  /// Records the accesses of the lanes in `mask`. Global addresses are host addresses, shared addresses are
  /// offsets.
  void global(std::uint32_t site, const std::uint64_t* addresses, std::uint32_t mask, std::uint32_t bytes,
              models::clock::Step::Access access, bool reads);
  void shared(std::uint32_t site, const std::uint64_t* offsets, std::uint32_t mask, std::uint32_t bytes,
              models::clock::Step::Access access, bool reads);
  /// Records the warp's arrival at a barrier for `warps` warps; 0 means all.
  void barrier(std::uint32_t id, std::uint32_t warps, bool waits);

 private:
  struct Read {
    std::uint32_t first_use = 0;
    std::uint32_t number = 0;  ///< index among the segment's reads
  };
  void arithmetic_until(std::uint32_t instruction);
  void go_to(std::uint32_t instruction);
  void note_read(std::uint32_t instruction, bool reads);

  const StepTable* table_;
  LaunchClock* clock_;
  const GlobalMemory* memory_;
  models::clock::Steps* steps_ = nullptr;
  std::uint32_t site_base_ = 0;
  std::uint32_t at_ = 0;    ///< the segment's instructions before this one are recorded
  std::uint32_t read_ = 0;  ///< reads of the segment so far
  std::vector<Read> outstanding_;
};

/// Called by compiled code before an access, with the arguments of count_access().
void record_access(WarpContext* warp, const std::uint64_t* addresses, std::uint32_t mask, std::uint32_t site,
                   std::uint32_t bytes, std::uint32_t space, std::uint32_t kind);
/// Values of `%clock64` and `%globaltimer`.
std::uint64_t read_modelled_clock(const WarpContext* warp);
std::uint64_t read_modelled_timer(const WarpContext* warp);

}  // namespace lynxpp::device::cpu
