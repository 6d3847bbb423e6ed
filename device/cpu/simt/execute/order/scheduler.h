// Runs a thread block on one host thread: warps take turns, lanes diverge and reconverge.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "device/cpu/simt/check/block_check.h"
#include "device/cpu/simt/compile/program.h"
#include "device/cpu/simt/execute/context.h"
#include "device/cpu/simt/execute/counters/worker_counts.h"
#include "device/cpu/simt/execute/device_stack.h"
#include "device/cpu/simt/execute/launch_state.h"
#include "device/cpu/simt/execute/memory/block_memory.h"
#include "device/cpu/simt/execute/memory/found_ranges.h"
#include "device/cpu/simt/execute/memory/tensor_memory.h"
#include "device/cpu/simt/execute/warp.h"
#include "models/clock/device.h"
#include "support/result.h"

namespace lynxpp::device::cpu {

/// Barriers per block.
inline constexpr std::uint32_t barrier_count = 16;

class BlockRunner;

/// The cluster of a block; all members but the rank are the same for all blocks. Outlives the blocks.
struct ClusterSeat {
  std::uint32_t rank = 0;
  std::uint32_t id[3] = {};           ///< index of the cluster in the grid
  std::byte* shared = nullptr;        ///< shared memory of the first block
  std::uint64_t stride = 0;           ///< distance between the memory of consecutive blocks
  std::vector<BlockRunner*> members;  ///< by rank
  ClusterKnowledge* knowledge = nullptr;
};

class BlockRunner {
 public:
  /// `counts` may be null. Both outlive the runner.
  BlockRunner(LaunchState& launch, WorkerCounts* counts);
  ~BlockRunner();

  enum class Turn { again, blocked, finished, failed };

  /// Prepares to run block number `block` on a multiprocessor. Called again for the next block once this one
  /// is finished. `seat`: the block's cluster, whose blocks all start before one runs; null outside clusters.
  Status start(std::uint64_t block, std::uint32_t multiprocessor, const ClusterSeat* seat = nullptr);
  /// Gives every warp a turn. Returns `blocked` if the block can continue only after others of its cluster;
  /// outside clusters, a block with no runnable warp has failed.
  Turn run_round();
  /// Gives one warp a short turn at this modelled time and appends its steps. Returns `blocked` if it can
  /// continue only after another warp. Precondition: the launch has a clock.
  Turn run_slice(std::uint32_t warp, double cycles, models::clock::Steps& steps);
  const Failure& problem() const { return *failure_; }

  /// Number of most recent rounds in which every warp may have waited for another block or the host.
  std::uint32_t waiting_rounds() const { return waiting_rounds_; }
  void reset_waiting_rounds() { waiting_rounds_ = 0; }
  /// Fails because no block of the cluster can continue.
  void fail_waiting_for_cluster();
  /// True if the block's warps have only queried mbarrier objects for so many rounds that none will complete,
  /// unless another block of the cluster makes progress. Checked launches only.
  bool waits_idly_at_objects() const;
  /// Fails because the warps wait forever at mbarrier objects.
  bool fail_at_object();
  /// In launches with a schedule: true if no warp will do anything new unless memory changes.
  bool is_stuck() const;
  /// Performs asynchronous operations for which the kernel may wait without any other wait.
  void perform_overdue();
  /// Fails because all warps wait forever. `others`: describes other blocks; may be empty.
  bool fail_stuck(const std::string& others);
  /// Returns the block's number in the grid.
  std::uint32_t number() const { return number_; }
  /// Returns the block's three coordinates.
  const std::uint32_t* index() const { return index_; }
  /// Returns the PTX line of an unfinished warp; 0 if all are finished.
  std::uint32_t line() const;
  /// Describes what each warp waits for, or where it is.
  std::string describe_waits() const;

 private:
  struct Barrier {
    std::vector<std::uint32_t> arrived;  ///< lanes per warp; empty before the first arrival
    std::uint32_t warps = 0;             ///< warps with arrived lanes
    std::uint32_t threads = 0;           ///< expected threads; 0: all
    std::uint32_t count = 0;             ///< true predicates
    std::uint32_t total = 0;             ///< predicates
    bool open = false;
    std::uint32_t recorded = 0;  ///< mask of warps whose arrival is recorded as a step
    std::uint32_t more = 0;      ///< repeated arrivals of warps that did not wait
    /// First waiter in the current phase; null if none exists.
    const CompiledFunction* function = nullptr;
    const Segment* at = nullptr;
    std::uint32_t first_warp = 0;
    /// Arrivals of warps that do not wait: since the last wait of any warp, and the most between two waits.
    struct Arrivals {
      std::uint32_t warp = 0;
      std::uint32_t arrivals = 0;
    };
    std::vector<std::uint32_t> since_wait = {};  ///< per warp; empty if none exist
    Arrivals doubled = {};
    void note_arrival(std::uint32_t warp, std::size_t warps);
    void note_wait(std::uint32_t warp, const CompiledFunction& in, const Segment& segment);
  };
  static void number_threads(WarpContext& context, const Dim3& block, std::uint32_t first);
  void prepare_warp(Warp& warp, std::uint32_t index);
  static void reset(Warp& warp);
  void set_block_state(WarpContext& context) const;
  [[gnu::always_inline]] bool has_registers(Warp& warp) const;
  std::byte* reserve_kernel_registers(Warp& warp) const;
  Status assign_memory();
  void enter_kernel(Warp& warp);
  SegmentFunction first_region() const;
  [[gnu::always_inline]] std::uint32_t run_first_slice(Warp& warp, SegmentFunction region);
  [[gnu::always_inline]] bool has_ended(const Warp& warp, std::uint32_t taken) const;
  Turn continue_after_first_slice(Warp& warp, std::uint32_t taken);
  Turn begin_warp(Warp& warp);
  Turn begin_block();
  std::uint32_t patience_of(std::int32_t slice) const;
  Turn run_warp(Warp& warp);
  void begin_schedule();
  std::size_t scheduled_index(std::size_t turn) const;
  bool is_delayed(Warp& warp);
  Turn take_scheduled_turn(Warp& warp);
  Turn take_turn(Warp& warp);
  void end_scheduled_round(std::uint64_t changes_before);
  std::uint64_t state_of(const Warp& warp) const;
  void watch(Warp& warp, bool is_blocked);
  bool warps_are_in_step() const;
  bool reaches_block_barrier(const Warp& warp, std::uint32_t taken) const;
  Turn run_in_step();
  Turn leave_step(Warp& warp, std::uint32_t taken, std::uint32_t barrier);
  [[gnu::always_inline]] static bool is_settled(const Warp& warp);
  /// Pops joined and empty groups and returned frames. Returns false if the warp is finished.
  bool settle(Warp& warp);
  [[gnu::always_inline]] void show(WarpContext& context, const LaneGroup& group, const Frame& frame);
  [[gnu::always_inline]] Turn step(Warp& warp);
  Turn continue_after(Warp& warp, Frame& frame, std::uint32_t pc, std::uint32_t taken);
  bool apply_control(Warp& warp, Frame& frame, const Segment& segment, std::uint32_t taken);
  [[gnu::always_inline]] std::uint32_t run_segment(const CompiledFunction& function, std::uint32_t segment,
                                                   WarpContext& context, std::uint32_t mask);
  void load_runs();
  void store_runs() const;
  void count_divergence(const Frame& frame, const Segment& segment);
  void branch(Warp& warp, const Segment& segment, std::uint32_t taken);
  bool runs_other_side_first(const Warp& warp) const;
  bool indexed_branch(Warp& warp, const Segment& segment, std::uint32_t taken);
  void diverge(Frame& frame, std::uint32_t reconvergence, std::span<LaneGroup> sides);
  void return_lanes(Warp& warp, std::uint32_t lanes);
  void exit_lanes(Warp& warp, std::uint32_t lanes);

  /// Order in which other groups of the stack are tried when the topmost one yields.
  enum class Preference { nearest, farthest };
  bool give_way(Warp& warp, Preference preference);
  bool bring_forward(Warp& warp, std::uint32_t level, Preference preference, bool only_full_groups);
  void resume_calls(Warp& warp);
  bool release_returned_lanes(Warp& warp);
  static void interrupt_calls(Warp& warp, std::uint32_t level);

  bool meet(Warp& warp, const Segment& segment, std::uint32_t lanes);
  void exchange(Warp& warp, const Frame& frame, std::uint32_t pc, std::uint32_t lanes,
                std::uint32_t participants);
  void complete_meeting(Warp& warp, std::string_view opcode, std::uint32_t members);
  void complete_meetings(Warp& warp);
  bool fail_if_deadlocked();
  bool fail_at_barrier();
  bool fail_waiting(FindingPlace place, std::string message);
  static ActiveCalls calls_of(const Warp& warp, const Frame& frame);
  FindingPlace place_at(const Warp& warp, const Frame& frame, const Segment& segment,
                        std::uint32_t lanes) const;
  FindingPlace place_at(const Warp& warp, const CompiledFunction& function, const Segment& segment,
                        std::uint32_t lanes, const ActiveCalls& calls) const;
  std::string name_of_awaited(const WarpContext& context) const;
  std::string describe_cluster_waits() const;
  void add_wait(const Warp& warp, std::string& one, std::string& many) const;
  void note_idle_round();
  void note_visit(const Warp& warp, const CompiledFunction& function, std::uint32_t segment);
  const ptx::Instruction* find_work_after(const CompiledFunction& function, const Segment& barrier,
                                          std::uint32_t warp) const;
  void check_skipped(const Barrier& barrier, std::uint32_t id);

  bool call(Warp& warp, const Segment& segment, std::uint32_t lanes);
  void diverge_for_calls(Frame& caller, const Segment& segment, std::uint32_t pc, std::uint32_t lanes);
  bool call_target(Warp& warp, const Segment& segment);
  bool push_frame(Warp& warp, const CompiledFunction& callee, const Segment& segment, std::uint32_t lanes);
  void pop_frame(Warp& warp);
  void copy_results(Warp& warp, const Frame& callee, const Frame& caller, std::uint32_t lanes);
  void copy_slot(Warp& warp, std::uint32_t lanes, const Frame& from, const CallSlot& source, const Frame& to,
                 const CallSlot& target);
  bool call_builtin(Warp& warp, const Segment& segment, std::uint32_t lanes);

  bool arrive(Warp& warp, const Segment& segment, std::uint32_t lanes);
  void set_cluster_state(WarpContext& context) const;
  std::span<BlockRunner* const> cluster_members() const {
    return seat_ != nullptr ? std::span<BlockRunner* const>(seat_->members) : std::span(&self_, 1);
  }
  void meet_cluster(Warp& warp, LaneGroup& group, BarrierKind kind, std::uint32_t lanes);
  bool has_arrived_at_cluster() const;
  void complete_cluster_barrier();
  void leave_cluster_barrier();
  bool waits_for_cluster() const;
  void complete_barriers();
  void record_arrival(Warp& warp, Barrier& barrier, std::uint32_t id);
  bool complete(Barrier& barrier, std::uint32_t id);

  bool fail(std::string message, std::uint32_t line = 0);
  /// Fails at the last instruction of a segment, for the first lane in `lanes`.
  bool fail_at(const Warp& warp, const Segment& segment, std::uint32_t lanes, std::string message);
  bool check_fault(Warp& warp);
  bool skip_access(Warp& warp);
  std::uint32_t leaving_lanes(const Warp& warp) const;
  void check_arrival(const Warp& warp, const Segment& segment, std::uint32_t lanes);
  /// Drops cached ranges if memory was freed while the kernel runs.
  void forget_removed_ranges() {
    if (launch_.memory->removals() != removals_) forget_ranges();
  }
  void forget_ranges();

  LaunchState& launch_;
  const Program& program_;
  WorkerCounts* const counts_;
  std::vector<std::unique_ptr<Warp>> warps_;
  std::array<Barrier, barrier_count> barriers_;
  std::uint32_t open_barriers_ = 0;
  bool has_arrivals_ = false;     ///< true if a warp has arrived at a block barrier without waiting
  std::uint32_t live_warps_ = 0;  ///< warps that have not exited
  const ClusterSeat* seat_ = nullptr;
  BlockRunner* const self_ = this;
  std::uint32_t rank_ = 0;
  std::uint32_t index_[3] = {};  ///< of the block
  std::uint32_t number_ = 0;     ///< of the block
  std::uint32_t multiprocessor_ = 0;
  bool is_new_ = false;                         ///< true if no warp of the block has started
  std::uint32_t completed_barriers_ = 0;        ///< of the block
  bool in_step_ = false;                        ///< result of warps_are_in_step()
  bool meets_cluster_ = true;                   ///< true if lanes may be at the cluster's barrier
  std::vector<std::uint32_t> cluster_arrived_;  ///< lanes at the cluster's barrier, per warp
  std::vector<AddressRange> ranges_;            ///< range of the last access of every AccessSite
  std::vector<ProductProgress> products_;       ///< by warp
  const FoundRanges::Pointer found_ = FoundRanges::take();
  std::uint64_t removals_ = 0;  ///< GlobalMemory::removals() when ranges_ was last cleared
  const std::optional<std::uint32_t> promoted_after_;  ///< runs before promotion of a segment
  std::vector<std::uint32_t> runs_;                    ///< runs of each segment's steps
  AlignedBuffer shared_;
  LocalArena local_;
  TensorMemory tensor_;
  std::byte* local_memory_ = nullptr;   ///< of the block's threads
  std::byte* shared_memory_ = nullptr;  ///< of the block
  std::uint32_t waiting_rounds_ = 0;
  std::optional<Failure> failure_;
  std::optional<BlockCheck> check_;    ///< checked launches only, like the following members
  std::vector<bool> visits_;           ///< segments that each warp has run in the current block
  std::uint64_t accesses_before_ = 0;  ///< BlockCheck::accesses() one round ago
  std::uint32_t idle_rounds_ = 0;
  std::uint32_t checked_rounds_ = 0;
  std::uint32_t rotation_ = 0;  ///< launches with a schedule only, like the next member
  bool has_delays_ = false;
};

/// True if settle() would do nothing, for a converged warp.
inline bool BlockRunner::is_settled(const Warp& warp) {
  if (!warp.is_converged()) return false;
  const LaneGroup& group = warp.frames[0]->groups.front();
  return group.mask != 0 && group.pc != no_segment && group.pc != group.reconvergence &&
         group.calls.empty() && !group.calls_indirectly;
}

/// Writes the state of the lanes that run next to the warp's context.
inline void BlockRunner::show(WarpContext& context, const LaneGroup& group, const Frame& frame) {
  context.registers = frame.registers;
  context.frame = frame.local;
  context.stack_top = frame.top;
  context.barrier_result = group.barrier_result;
  context.join = group.reconvergence;
  context.segment = group.pc;
  forget_removed_ranges();
}

}  // namespace lynxpp::device::cpu
