// Runs a thread block on one host thread: warps take turns, lanes diverge and reconverge.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "device/cpu/simt/check/block_check.h"
#include "device/cpu/simt/compile/program.h"
#include "device/cpu/simt/execute/clock.h"
#include "device/cpu/simt/execute/cluster_queue.h"
#include "device/cpu/simt/execute/context.h"
#include "device/cpu/simt/execute/counters.h"
#include "device/cpu/simt/execute/executor.h"
#include "device/cpu/simt/execute/faults.h"
#include "device/cpu/simt/execute/found_ranges.h"

namespace lynxpp::device::cpu {

/// Segments a warp runs before the next one gets its turn.
inline constexpr std::int32_t slice_segments = 4096;
/// Of a block.
inline constexpr std::uint32_t barrier_count = 16;

/// When a launch that does not end is named, and when it began.
struct RunningReport {
  std::chrono::steady_clock::time_point begin = std::chrono::steady_clock::now();
  std::atomic<std::chrono::steady_clock::duration> next;
  std::atomic<bool> is_abandoned = false;  ///< true if its early end has been reported
};

/// Where the blocks of a cooperative launch meet: what %envreg1 and %envreg2 tell cooperative groups the
/// address of.
struct GridWorkspace {
  std::uint32_t bytes = sizeof(GridWorkspace);
  std::uint32_t arrived = 0;
};

class BlockRunner;

/// What a block is told of the cluster it is in; all but the rank is the same for all its blocks. Outlives
/// them.
struct ClusterSeat {
  std::uint32_t rank = 0;
  std::uint32_t id[3] = {};           ///< of the cluster in the grid
  std::byte* shared = nullptr;        ///< shared memory of the first block
  std::uint64_t stride = 0;           ///< … and from one block's to the next one's
  std::vector<BlockRunner*> members;  ///< by rank
  ClusterKnowledge* knowledge = nullptr;
};

/// What the threads of one launch share.
struct LaunchState {
  const Program* program = nullptr;
  LaunchShape shape;
  const std::byte* parameters = nullptr;
  GlobalMemory* memory = nullptr;
  std::uint64_t grid_id = 0;
  GridWorkspace* workspace = nullptr;  ///< of a cooperative launch
  std::string_view name;               ///< of the module, in diagnostics
  std::atomic<bool> failed{false};
  std::atomic<bool> spins{false};        ///< lanes have been seen to wait for lanes of their warp
  std::uint64_t local_bytes = 0;         ///< of local memory, of one thread
  std::size_t resident_blocks = 1;       ///< that one worker may run in turns
  std::uint32_t multiprocessors = 1;     ///< of the device, as kernels are told
  LaunchClock* clock = nullptr;          ///< of a launch that keeps a modelled time
  const StepTable* steps = nullptr;      ///< … and what its instructions are
  LaunchCheck* check = nullptr;          ///< of a launch that is checked
  std::atomic<bool> blocks_wait{false};  ///< blocks have been seen to wait for blocks
  RunningReport report;
  std::optional<ClusterQueue> queue;  ///< what is still to run

  /// Whether there is no use in going on.
  bool stops() const { return failed.load(std::memory_order_relaxed) || launches_abandoned(); }

  std::uint64_t blocks() const { return std::uint64_t{shape.grid.x} * shape.grid.y * shape.grid.z; }
  std::uint32_t cluster_blocks() const {
    return shape.cluster ? shape.cluster->x * shape.cluster->y * shape.cluster->z : 1;
  }
  std::uint64_t clusters() const { return blocks() / cluster_blocks(); }
  std::uint32_t threads() const { return shape.block.x * shape.block.y * shape.block.z; }
};

/// Memory on a boundary of 128 bytes, so that generic addresses of shared memory tell the bank; what was in
/// it is lost when it grows.
class AlignedBuffer {
 public:
  std::byte* reserve(std::size_t bytes);
  std::size_t bytes() const { return bytes_; }
  /// As if it were new.
  void clear() {
    if (memory_) std::memset(memory_.get(), 0, bytes_);
  }

 private:
  struct Free {
    void operator()(std::byte* memory) const { std::free(memory); }
  };
  std::unique_ptr<std::byte, Free> memory_;
  std::size_t bytes_ = 0;
};

/// Address space for the local memory of all threads of a block; pages come when they are touched.
class LocalArena {
 public:
  LocalArena() = default;
  ~LocalArena();
  LocalArena(const LocalArena&) = delete;
  LocalArena& operator=(const LocalArena&) = delete;
  /// Null when the system gives no memory.
  std::byte* reserve(std::size_t bytes);

 private:
  std::byte* memory_ = nullptr;
  std::size_t bytes_ = 0;
};

struct Frame;

/// Lanes of a warp that run together.
struct LaneGroup {
  enum class Wait { none, barrier, meeting, cluster };
  std::uint32_t pc = 0;                      ///< next segment; no_segment: the function returns
  std::uint32_t reconvergence = no_segment;  ///< where the group joins the one below
  std::uint32_t mask = 0;
  Wait wait = Wait::none;
  std::uint32_t barrier = 0;  ///< waited for
  std::uint32_t barrier_result = 0;
  std::uint32_t members = 0;                       ///< of the meeting waited for; `pc` is its operation
  bool calls_indirectly = false;                   ///< the call at `pc` is still to be made
  std::vector<std::unique_ptr<Frame>> calls = {};  ///< outermost first: its frames, while other lanes run
};

/// A call frame. `groups` is the SIMT stack: a group waits until those above it have joined it or are gone. A
/// lane is where the topmost group that has it is.
struct Frame {
  const CompiledFunction* function = nullptr;
  AlignedBuffer storage;
  std::byte* registers = nullptr;
  std::uint64_t local = 0;        ///< local address of the frame
  std::uint64_t top = 0;          ///< … and where a called function's begins
  const Segment* call = nullptr;  ///< the caller's segment; null for the kernel
  std::uint32_t lanes = 0;        ///< that were called
  std::vector<LaneGroup> groups;
  std::uint64_t targets[warp_size] = {};  ///< of an indirect call made from this frame
};

struct Warp {
  WarpContext context;
  /// [0, depth) are in use: each is called by the topmost group of the one before. What other groups have
  /// called is kept with them.
  std::vector<std::unique_ptr<Frame>> frames;
  std::uint32_t depth = 0;
  bool is_new = false;                    ///< it has run nothing of its block yet
  std::uint32_t threads = 0;              ///< lanes that have a thread
  std::byte* kernel_registers = nullptr;  ///< of frames[0], once it has had any
  std::uint32_t live = 0;                 ///< lanes that have not exited
  std::uint32_t meeting = 0;              ///< lanes that wait at a meeting
  std::uint32_t spinning_slices = 0;
  const Segment* exit = nullptr;         ///< last known exit of lanes
  std::uint32_t waited_slices = 0;       ///< such slices, all through which some lanes waited for others
  std::optional<StepRecorder> recorder;  ///< of a launch that keeps a modelled time

  /// All of its lanes are in the kernel and together, as those of most warps are all the time.
  bool is_together() const { return depth == 1 && frames[0]->groups.size() == 1; }
  /// Precondition: the warp has a topmost group.
  bool has_waiting_lanes() const { return top().groups.back().mask != live; }
  const Frame& top() const { return *frames[depth - 1]; }
  Frame& top() { return *frames[depth - 1]; }
  std::span<const std::unique_ptr<Frame>> used_frames() const { return {frames.data(), depth}; }
};

template <typename Visit>
void for_each_group_of_calls(const LaneGroup& group, const Visit& visit);

/// Calls `visit(frame, group)` for every group of the frames, of those that wait inside calls too.
template <typename Visit>
inline void for_each_group(std::span<const std::unique_ptr<Frame>> frames, const Visit& visit) {
  for (const std::unique_ptr<Frame>& frame : frames) {
    for (LaneGroup& group : frame->groups) {
      visit(*frame, group);
      if (!group.calls.empty()) for_each_group_of_calls(group, visit);
    }
  }
}

template <typename Visit>
[[gnu::noinline]] void for_each_group_of_calls(const LaneGroup& group, const Visit& visit) {
  for_each_group(std::span<const std::unique_ptr<Frame>>(group.calls), visit);
}

class BlockRunner {
 public:
  /// `counts` may be null. Both outlive the runner.
  BlockRunner(LaunchState& launch, WorkerCounts* counts);
  ~BlockRunner();

  enum class Turn { again, blocked, finished, failed };

  /// Sets out to run the block of this number, on the multiprocessor of that. To be called again once a block
  /// is finished. `seat`: in a cluster, whose blocks are all started before one runs; null: in none.
  Status start(std::uint64_t block, std::uint32_t multiprocessor, const ClusterSeat* seat = nullptr);
  /// Gives every warp a turn. `blocked`: it can go on when other blocks of its cluster have; any other block
  /// none of whose warps can go on has failed.
  Turn run_round();
  /// Gives one warp a short turn, at this modelled time of the launch, and appends what it does. `blocked`:
  /// it can go on when another warp has. Precondition: the launch has a clock.
  Turn run_slice(std::uint32_t warp, double cycles, models::clock::Steps& steps);
  const Failure& problem() const { return *failure_; }

  /// Rounds, the last ones, in which every warp may have waited for another block or the host.
  std::uint32_t waiting_rounds() const { return waiting_rounds_; }
  void wait_anew() { waiting_rounds_ = 0; }
  /// No block of the cluster can go on.
  void fail_waiting_for_cluster();
  /// Of the block: three coordinates.
  const std::uint32_t* index() const { return index_; }
  /// Line in the PTX where a warp is that is not finished; 0 when all are.
  std::uint32_t line() const;
  /// Describes what each warp waits for, or where it is.
  std::string describe_waits() const;

 private:
  struct Barrier {
    std::vector<std::uint32_t> arrived;  ///< lanes, per warp; empty before the first one arrives
    std::uint32_t warps = 0;             ///< of which lanes have arrived
    std::uint32_t threads = 0;           ///< expected; 0: all
    std::uint32_t count = 0;             ///< predicates that were true
    std::uint32_t total = 0;             ///< predicates
    bool open = false;
    std::uint32_t recorded = 0;  ///< warps whose steps have it
    std::uint32_t more = 0;      ///< repeated arrivals of warps, without waiting
    /// First waiter in the present phase; null if there is none.
    const CompiledFunction* function = nullptr;
    const Segment* at = nullptr;
    std::uint32_t first_warp = 0;
    /// Arrivals of warps that do not wait: since the last wait of any warp, and the most between two waits.
    struct Arrivals {
      std::uint32_t warp = 0;
      std::uint32_t arrivals = 0;
    };
    std::vector<std::uint32_t> since_wait = {};  ///< per warp; empty: none
    Arrivals doubled = {};
    void note_arrival(std::uint32_t warp, std::size_t warps);
    void note_wait(std::uint32_t warp, const CompiledFunction& in, const Segment& segment);
  };
  static void number_threads(WarpContext& context, const Dim3& block, std::uint32_t first);
  void prepare_warp(Warp& warp, std::uint32_t index);
  static void renew(Warp& warp);
  void place(WarpContext& context) const;
  [[gnu::always_inline]] bool has_registers(Warp& warp) const;
  std::byte* reserve_kernel_registers(Warp& warp) const;
  Status place_memory();
  void enter_kernel(Warp& warp);
  SegmentFunction first_region() const;
  [[gnu::always_inline]] std::uint32_t run_first_slice(Warp& warp, SegmentFunction region);
  [[gnu::always_inline]] bool has_ended(const Warp& warp, std::uint32_t taken) const;
  Turn go_on_from_first_slice(Warp& warp, std::uint32_t taken);
  Turn begin_warp(Warp& warp);
  Turn begin_block();
  Turn run_warp(Warp& warp);
  bool warps_are_in_step() const;
  bool reaches_block_barrier(const Warp& warp, std::uint32_t taken) const;
  Turn run_in_step();
  Turn leave_step(Warp& warp, std::uint32_t taken, std::uint32_t barrier);
  [[gnu::always_inline]] static bool is_settled(const Warp& warp);
  bool settle(Warp& warp);  ///< pops joined and empty groups and returned frames; false: the warp is finished
  [[gnu::always_inline]] void show(WarpContext& context, const LaneGroup& group, const Frame& frame);
  [[gnu::always_inline]] Turn step(Warp& warp);
  Turn go_on(Warp& warp, Frame& frame, std::uint32_t pc, std::uint32_t taken);
  bool act(Warp& warp, Frame& frame, const Segment& segment, std::uint32_t taken);
  [[gnu::always_inline]] std::uint32_t run_segment(const CompiledFunction& function, std::uint32_t segment,
                                                   WarpContext& context, std::uint32_t mask);
  void take_over_runs();
  void hand_on_runs() const;
  void count_divergence(const Frame& frame, const Segment& segment);
  void branch(Frame& frame, const Segment& segment, std::uint32_t taken);
  bool indexed_branch(Warp& warp, const Segment& segment, std::uint32_t taken);
  void diverge(Frame& frame, std::uint32_t reconvergence, std::span<LaneGroup> sides);
  void return_lanes(Warp& warp, std::uint32_t lanes);
  void exit_lanes(Warp& warp, std::uint32_t lanes);

  /// Which lanes run next, when others have priority.
  enum class Preference { nearest, farthest };
  bool give_way(Warp& warp, Preference preference);
  bool bring_forward(Warp& warp, std::uint32_t level, Preference preference, bool whole);
  void resume_calls(Warp& warp);
  bool release_returned_lanes(Warp& warp);
  static void interrupt_calls(Warp& warp, std::uint32_t level);

  bool meet(Warp& warp, const Segment& segment, std::uint32_t lanes);
  void exchange(Warp& warp, const Frame& frame, std::uint32_t pc, std::uint32_t lanes,
                std::uint32_t participants);
  void complete_meeting(Warp& warp, std::string_view opcode, std::uint32_t members);
  void complete_meetings(Warp& warp);
  bool fail_for_ever_waiting();
  bool fail_at_barrier();
  bool fail_at_object();
  bool fail_waiting(FindingPlace place, std::string message);
  FindingPlace place_at(const Warp& warp, const CompiledFunction& function, const Segment& segment,
                        std::uint32_t lanes) const;
  std::string name_of_awaited(const WarpContext& context) const;
  void add_wait(const Warp& warp, std::string& one, std::string& many) const;
  bool waits_idly_at_objects();
  void note_visit(const Warp& warp, const CompiledFunction& function, std::uint32_t segment);
  const ptx::Instruction* find_work_after(const CompiledFunction& function, const Segment& barrier,
                                          std::uint32_t warp) const;
  void check_left_out(const Barrier& barrier, std::uint32_t id);

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
  void take_seat(WarpContext& context) const;
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
  /// In the last instruction of a segment, for the first of `lanes`.
  bool fail_at(const Warp& warp, const Segment& segment, std::uint32_t lanes, std::string message);
  bool check_fault(Warp& warp);
  bool leave_out_access(Warp& warp);
  std::uint32_t leaving_lanes(const Warp& warp) const;
  void check_arrival(const Warp& warp, const Segment& segment, std::uint32_t lanes);
  /// Memory that was freed while the kernel runs is not to be found again.
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
  bool has_arrivals_ = false;     ///< a warp has arrived at a block barrier without waiting
  std::uint32_t live_warps_ = 0;  ///< that have not exited
  const ClusterSeat* seat_ = nullptr;
  BlockRunner* const self_ = this;
  std::uint32_t rank_ = 0;
  std::uint32_t index_[3] = {};  ///< of the block
  std::uint32_t multiprocessor_ = 0;
  bool is_new_ = false;                         ///< no warp of the block has begun
  std::uint32_t completed_barriers_ = 0;        ///< of the block
  bool in_step_ = false;                        ///< what warps_are_in_step() says
  bool meets_cluster_ = true;                   ///< lanes may be at the cluster's barrier
  std::vector<std::uint32_t> cluster_arrived_;  ///< … and which, per warp
  std::vector<AddressRange> ranges_;            ///< of every AccessSite
  const FoundRanges::Pointer found_ = FoundRanges::take();
  std::uint64_t removals_ = 0;                         ///< of the memory's, as known to ranges_
  const std::optional<std::uint32_t> promoted_after_;  ///< runs, after which segments get code of their own
  std::vector<std::uint32_t> runs_;                    ///< of each segment's steps
  AlignedBuffer shared_;
  LocalArena local_;
  std::byte* local_memory_ = nullptr;   ///< of the block's threads
  std::byte* shared_memory_ = nullptr;  ///< of the block
  std::uint32_t waiting_rounds_ = 0;
  std::optional<Failure> failure_;
  std::optional<BlockCheck> check_;    ///< of a checked launch; likewise the members below
  std::vector<bool> visits_;           ///< segments that each warp has run in the present block
  std::uint64_t accesses_before_ = 0;  ///< BlockCheck::accesses() one round ago
  std::uint32_t idle_rounds_ = 0;
};

/// Whether settle() would do nothing, for a warp whose lanes are together.
inline bool BlockRunner::is_settled(const Warp& warp) {
  if (!warp.is_together()) return false;
  const LaneGroup& group = warp.frames[0]->groups.front();
  return group.mask != 0 && group.pc != no_segment && group.pc != group.reconvergence &&
         group.calls.empty() && !group.calls_indirectly;
}

/// What code sees of the lanes that are to run it.
inline void BlockRunner::show(WarpContext& context, const LaneGroup& group, const Frame& frame) {
  context.registers = frame.registers;
  context.frame = frame.local;
  context.stack_top = frame.top;
  context.barrier_result = group.barrier_result;
  context.join = group.reconvergence;
  context.segment = group.pc;
  forget_removed_ranges();
}

/// One lane's call of a builtin: reads arguments and writes results as bytes.
struct BuiltinCall {
  Builtin builtin = Builtin::none;
  std::uint64_t arguments[5] = {};
  std::uint32_t lane = 0;
  const WarpContext* warp = nullptr;
  GlobalMemory* memory = nullptr;
};
/// The result, or a failure that ends the launch (__assertfail, a text or an address that is none).
Result<std::uint64_t> run_builtin(const BuiltinCall& call);

}  // namespace lynxpp::device::cpu
