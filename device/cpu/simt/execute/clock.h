// Launches that keep a modelled time (docs/design/modelled-time.md): what a warp does is written down as
// steps, and the modelled device says which warp goes on. Such a launch runs on one host thread; a warp runs
// ahead of the modelled time by few segments.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "device/cpu/simt/execute/context.h"
#include "device/cpu/simt/execute/global_memory.h"
#include "models/clock/device.h"

namespace lynxpp::device::cpu {

struct Program;
struct Segment;
struct CompiledFunction;
struct LaunchState;
struct WorkerCounts;

/// Addresses as the modelled device has them, the same in every run: an allocation or variable begins at a
/// multiple of the bytes that all channels hold side by side, in the order in which kernels first touch them.
class ModelledAddresses {
 public:
  explicit ModelledAddresses(const models::Machine& machine);

  std::uint64_t of(const GlobalMemory& memory, std::uint64_t address);

 private:
  struct Place {
    std::uint64_t bytes = 0;
    std::uint64_t begin = 0;  ///< modelled
  };
  const std::uint64_t alignment_;
  std::uint64_t next_ = 0;
  std::map<std::uint64_t, Place> places_;  ///< by the host address of their begin
  AddressRange last_;                      ///< the range that was asked for last
  std::uint64_t last_place_ = 0;
  std::uint64_t removals_ = 0;
};

/// A modelled device, and where its memory is. Not thread safe.
struct LaunchClock {
  explicit LaunchClock(const models::Machine& machine,
                       models::clock::CachesBefore caches = models::clock::CachesBefore::kept)
      : device(machine, caches), addresses(machine) {}

  models::clock::Device device;
  ModelledAddresses addresses;
  std::uint64_t begin_ns = 0;           ///< of the launch, in the modelled device's time
  models::clock::KernelTime last = {};  ///< of the launch that was run last
};

/// What the steps of a program's instructions are, as far as that is known beforehand.
class StepTable {
 public:
  StepTable(const Program& program, const models::ArithmeticTiming& timing);

  /// By site, as in the launch's counters.
  struct Instruction {
    std::uint64_t busy_before = 0;  ///< cycles of all instructions of the function before it
    std::uint32_t first_use = 0;    ///< instruction that uses first what this one reads; the end of its block
  };
  const Instruction& of(std::size_t site) const { return instructions_[site]; }

 private:
  std::vector<Instruction> instructions_;
};

/// Writes down what one warp does.
class StepRecorder {
 public:
  StepRecorder(const StepTable& table, LaunchClock& clock, const GlobalMemory& memory)
      : table_(&table), clock_(&clock), memory_(&memory) {}

  /// Where the steps go, and the time at which they begin.
  void begin_slice(models::clock::Steps& steps) { steps_ = &steps; }
  bool has_steps() const { return !steps_->empty(); }

  void begin_segment(const CompiledFunction& function, const Segment& segment);
  void end_segment(const Segment& segment);
  /// What the lanes in `mask` access; addresses of global memory are the host's, those of shared memory
  /// offsets.
  void global(std::uint32_t site, const std::uint64_t* addresses, std::uint32_t mask, std::uint32_t bytes,
              models::clock::Step::Access access, bool reads);
  void shared(std::uint32_t site, const std::uint64_t* offsets, std::uint32_t mask, std::uint32_t bytes,
              models::clock::Step::Access access, bool reads);
  /// The warp has arrived at a barrier for `warps` warps, 0: for all.
  void barrier(std::uint32_t id, std::uint32_t warps, bool waits);

 private:
  struct Read {
    std::uint32_t first_use = 0;
    std::uint32_t number = 0;  ///< among the segment's reads
  };
  void arithmetic_until(std::uint32_t instruction);
  void go_to(std::uint32_t instruction);
  void note_read(std::uint32_t instruction, bool reads);

  const StepTable* table_;
  LaunchClock* clock_;
  const GlobalMemory* memory_;
  models::clock::Steps* steps_ = nullptr;
  std::uint32_t site_base_ = 0;
  std::uint32_t at_ = 0;    ///< the segment's instructions before it are written down
  std::uint32_t read_ = 0;  ///< reads of the segment
  std::vector<Read> outstanding_;
};

/// Called by compiled code before an access; as count_access().
void record_access(WarpContext* warp, const std::uint64_t* addresses, std::uint32_t mask, std::uint32_t site,
                   std::uint32_t bytes, std::uint32_t space, std::uint32_t kind);
/// What `%clock64` and `%globaltimer` yield.
std::uint64_t read_modelled_clock(const WarpContext* warp);
std::uint64_t read_modelled_timer(const WarpContext* warp);

/// Runs the launch to its end, and leaves its time in `clock`. `counts` may be null.
Status run_timed(LaunchState& launch, LaunchClock& clock, std::uint32_t resident_blocks,
                 WorkerCounts* counts);

}  // namespace lynxpp::device::cpu
