// State of a thread block in a checked launch, and checks of its next operations.
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "device/cpu/simt/check/launch_check.h"
#include "device/cpu/simt/check/object_phases.h"

namespace lynxpp::device::cpu {

class BlockCheck;

/// State that the blocks of a cluster share.
struct ClusterKnowledge {
  std::vector<BlockCheck*> blocks;  ///< by rank
  BarrierKnowledge arriving;        ///< at the cluster's barrier, in the current phase
  BarrierKnowledge over;            ///< at the cluster's barrier, in the previous phase
};

/// Bit of the address of an AsyncAccess to tensor memory that is the other block's (`.cta_group::2`); the
/// lower bits are (lane × 512 + column) × 4.
inline constexpr std::uint64_t tensor_peer_bit = std::uint64_t{1} << 32;

/// Bytes that an asynchronous operation reads or writes. The address is of the kind that the site declares.
struct AsyncAccess {
  const AccessSite* site = nullptr;
  std::uint64_t address = 0;
  std::uint64_t bytes = 0;
  bool reads = false;
  bool writes = false;
};

/// An asynchronous operation that one lane issues.
struct AsyncIssue {
  std::uint32_t lane = 0;
  AsyncCompletion completion = AsyncCompletion::copy_group;
  bool in_async_proxy = false;  ///< false: the generic proxy
  std::span<const AsyncAccess> accesses;
  // With AsyncCompletion::object:
  const AccessSite* object_site = nullptr;
  std::byte* object = nullptr;
  std::uint64_t object_bytes = 0;  ///< that the operation completes
};

class BlockCheck {
 public:
  /// Returns the function of an access that a warp is making, and its callers.
  using FindStack = std::function<DeviceStack(const AccessSite& site, const WarpContext& warp)>;

  BlockCheck(LaunchCheck& launch, std::uint32_t warps, FindStack find_stack)
      : launch_(launch), warps_(warps), find_stack_(std::move(find_stack)) {}

  /// The program writes the first `shared_bytes` of shared memory; the bytes after them count as written.
  void start(std::uint64_t block, const std::uint32_t* coordinates, const std::byte* shared,
             std::uint64_t shared_bytes, std::uint64_t all_bytes);
  LaunchCheck& launch() { return launch_; }
  DeviceStack stack_of(const AccessSite& site, const WarpContext& warp) const {
    return find_stack_(site, warp);
  }

  /// Number of accesses by the block's warps, not counting queries of a barrier object's phase.
  std::uint64_t accesses() const { return accesses_; }

  // Operations of warps. Addresses are of the kind that the site declares.

  /// One access that a lane is about to make. `value`: the bytes that a store writes; null if unknown.
  struct LaneAccess {
    std::uint64_t address = 0;
    std::uint64_t bytes = 0;
    std::uint32_t lane = 0;
    bool repeats = false;   ///< true if another lane stores the same value there with the same instruction
    bool collides = false;  ///< true if another lane stores another value there with the same instruction
  };
  void access(const WarpContext& warp, const AccessSite& site, const LaneAccess& access,
              const std::byte* value);
  void fence(std::uint32_t warp, Reach reach) { clocks_[warp].fence(reach); }
  void meet(const WarpContext& warp, const AccessSite& site, const std::uint32_t* members,
            std::uint32_t mask);
  void fault(const WarpContext& warp, const Fault& fault);
  /// A lane's shuffle reads an inactive lane, so that its value is undefined. Returns the value to use
  /// instead of `own`, which the lane contributes.
  std::uint32_t read_inactive(const WarpContext& warp, const AccessSite& site, std::uint32_t lane,
                              std::uint32_t source, std::uint32_t own);

  // Asynchronous operations and mbarrier objects (block_async.cpp).

  /// Records an operation, whose effect on memory is `perform`. It is performed late: when the block waits.
  void issue(const WarpContext& warp, const AsyncIssue& issue, std::function<void()> perform);
  void commit(const WarpContext& warp, std::uint32_t lanes, AsyncCompletion completion);
  /// Waits until at most `pending` groups of each lane are incomplete; nullopt: until all its copies are
  /// complete, also those in no group. `only_reads`: the operations may still write.
  void wait(const WarpContext& warp, std::uint32_t lanes, AsyncCompletion completion,
            std::optional<std::uint32_t> pending, bool only_reads);
  /// cp.async.mbarrier.arrive: completes the lane's copies, which arrive at the object.
  void arrive_with_copies(const WarpContext& warp, const AccessSite& site, std::byte* object,
                          std::uint32_t lane, const ObjectChange& change);
  /// tcgen05.commit: once the products and copies that the lane has issued are complete, one arrival.
  void commit_tensor_core(const WarpContext& warp, const AccessSite& site, std::uint32_t lane,
                          std::byte* object);
  /// tcgen05.alloc has returned this column; tcgen05.dealloc has released it.
  void note_tensor_allocation(const WarpContext& warp, const AccessSite& site, std::uint32_t column);
  void note_tensor_release(std::uint32_t column) { tensor_allocations_.erase(column); }
  void fence_proxies(std::uint32_t warp, std::uint32_t lanes) { clocks_[warp].fence_proxies(lanes); }

  /// Notes an operation on an object after it has been made.
  void change_object(const WarpContext& warp, const AccessSite& site, const std::byte* object,
                     const ObjectChange& change);
  void test_object(const WarpContext& warp, const AccessSite& site, const std::byte* object,
                   const ObjectTest& test);
  /// Performs the operations that complete on an object. Returns false if none exist.
  bool perform_late(const WarpContext& warp, const std::byte* object);
  /// Performs all operations, because the kernel may wait for their data without any other wait.
  void perform_overdue();
  // In launches with a schedule (explored_run.h):

  /// Ends a round of the block: performs the operations that are due.
  void end_round();
  /// Notes which atomic operations have changed memory. Called after the instruction.
  void settle_atomics();

  /// Describes who has arrived in the present phase; empty if nobody has.
  std::string describe_arrivals(const std::byte* object) const;
  /// All warps of the block have exited.
  void finish();

  void arrive(std::uint32_t barrier, std::uint32_t warp) { arrive(barriers_[barrier], warp); }
  void leave(std::uint32_t barrier, std::uint32_t warp) { leave(barriers_[barrier], warp); }
  void close(std::uint32_t barrier) { barriers_[barrier] = {}; }

  // Joins a cluster after start(): its blocks share knowledge and a barrier.
  void join_cluster(ClusterKnowledge& cluster, std::uint32_t rank);
  void arrive_at_cluster(std::uint32_t warp) { arrive(cluster_->arriving, warp); }
  void leave_cluster(std::uint32_t warp) { leave(cluster_->over, warp); }
  void close_cluster();

 private:
  /// The memory that an access refers to.
  struct Location {
    enum class Kind { none, shared, global, tensor } kind = Kind::none;
    std::uint64_t address = 0;    ///< shared: the offset; tensor: 4 bytes per word
    BlockCheck* owner = nullptr;  ///< shared, tensor: the block that owns the memory
  };
  void arrive(BarrierKnowledge& barrier, std::uint32_t warp);
  void leave(const BarrierKnowledge& barrier, std::uint32_t warp);
  Location locate(const WarpContext& warp, const AccessSite& site, const LaneAccess& access);
  void note_explored(const AccessSite& site, const LaneAccess& access, Location location,
                     const std::byte* value);
  std::function<void()> noting_change(std::function<void()> perform);
  std::uint32_t choose_completion(std::uint32_t warp);
  void check_written(const WarpContext& warp, const AccessSite& site, const LaneAccess& access,
                     Location location);
  bool check_gap(const WarpContext& warp, const AccessSite& site, const LaneAccess& access,
                 Location location);
  void check_race(const WarpContext& warp, const AccessSite& site, const LaneAccess& access,
                  Location location, const std::byte* value);
  /// The agent that makes an access: a warp, or operation number `operation` of the launch.
  struct Accessor {
    AccessRole role;
    std::uint32_t operation = 0;
    bool in_async_proxy = false;
    bool collides = false;  ///< as in LaneAccess
  };
  void add_conflict(const WarpContext& warp, const AccessSite& site, std::uint32_t lane, Location location,
                    const Accessor& accessor, const Conflict& conflict);
  std::string explain(const WarpContext& warp, std::uint32_t lane, const Conflict& conflict) const;
  std::string explain_operation(const WarpContext& warp, std::uint32_t lane, const Conflict& conflict) const;
  void wait_for_warpgroup(const WarpContext& warp, std::uint32_t lanes, std::uint32_t time);
  void check_operation(const WarpContext& warp, const AsyncAccess& access, std::uint32_t lane,
                       const Accessor& accessor);
  enum class ObjectAccess : std::uint8_t { replace, change, test };
  void check_object_access(const WarpContext& warp, const AccessSite& site, std::uint32_t lane,
                           Location location, ObjectAccess access, std::uint32_t operation);
  Location locate_object(const WarpContext& warp, const std::byte* object);
  std::uint32_t groups_clock(std::uint32_t warp, AsyncCompletion completion);
  AsyncGroups& groups_of(std::uint32_t warp, AsyncCompletion completion) {
    return groups_[warp * group_kinds + static_cast<std::size_t>(completion)];
  }
  const AsyncGroups& groups_of(std::uint32_t warp, AsyncCompletion completion) const {
    return groups_[warp * group_kinds + static_cast<std::size_t>(completion)];
  }
  void publish(ObjectPhases& phases, std::uint32_t warp, bool releases);
  ObjectPhases& phases_of(const WarpContext& warp, const AccessSite& site, std::uint32_t lane,
                          Location location, BlockCheck* user);
  void deliver(std::uint32_t number, std::uint64_t offset, std::byte* place, const ObjectEntry& delivered,
               const Knowledge& issuer);
  bool check_in_use(const WarpContext& warp, const AccessSite& site, std::uint32_t lane, Location location);
  void add_unfinished(const LateOperation& late, std::string detail);
  void finish_tensor_core();
  void perform_tensor_core(std::uint64_t count);
  AccessMark mark_of(const WarpContext& warp, const AccessSite& site, std::uint32_t lane,
                     const Accessor& accessor) const;
  /// Marks the words of an access and calls `on_conflict(conflict, address of the word)`.
  template <typename OnConflict>
  void mark_words(const WarpContext& warp, const AccessSite& site, std::uint32_t lane, Location location,
                  std::uint64_t bytes, const Accessor& accessor, const OnConflict& on_conflict);
  CheckedAccess access_of(const AccessSite* site, std::uint32_t block, std::uint32_t warp,
                          std::uint32_t lane) const;
  std::string name_of_object(std::uint64_t offset) const;
  bool changes_nothing(Location location, const LaneAccess& access, const std::byte* value) const;
  bool is_unwritten(Location location, std::uint64_t bytes) const;
  CheckedAccess access_of(const WarpContext& warp, const AccessSite& site, std::uint32_t lane) const;
  CheckedAccess access_of(const AccessMark& mark) const;
  std::string name_of(Location location) const;

  LaunchCheck& launch_;
  const std::uint32_t warps_;
  const FindStack find_stack_;
  std::uint64_t accesses_ = 0;
  std::uint32_t block_ = 0;
  std::uint32_t coordinates_[3] = {};
  const std::byte* shared_memory_ = nullptr;
  std::vector<bool> shared_written_;  // by byte
  AccessShadow shared_;
  AccessShadow tensor_;
  SyncVariables sync_variables_;  // in shared memory
  std::vector<WarpClock> clocks_;
  std::uint32_t next_clock_ = 0;                   // of asynchronous operations
  std::vector<AsyncGroups> groups_;                // per warp, by AsyncCompletion
  std::vector<std::uint32_t> group_clocks_;        // likewise: the first lane's clock; 0: none yet
  std::map<std::uint64_t, ObjectPhases> objects_;  // mbarrier objects in the block's shared memory
  /// Products and copies that the tensor core has yet to perform, in order; `time` counts the block's.
  std::deque<LateOperation> tensor_core_;
  std::uint64_t tensor_issued_ = 0;
  std::map<std::uint32_t, CheckedAccess> tensor_allocations_;  // by first column
  BarrierKnowledge barriers_[16];
  /// Memory of an atomic operation, and its bytes before.
  struct AtomicBytes {
    const std::byte* at = nullptr;
    std::uint64_t bytes = 0;
    std::byte before[16] = {};
  };
  std::vector<AtomicBytes> atomics_;  // of the present instruction; launches with a schedule only
  std::uint32_t rounds_ = 1;          // likewise
  ClusterKnowledge alone_;            ///< used by a block outside clusters
  ClusterKnowledge* cluster_ = &alone_;
};

template <typename OnConflict>
void BlockCheck::mark_words(const WarpContext& warp, const AccessSite& site, std::uint32_t lane,
                            Location location, std::uint64_t bytes, const Accessor& accessor,
                            const OnConflict& on_conflict) {
  constexpr std::uint64_t marked_bytes = 4;
  AccessShadow& shadow = location.kind == Location::Kind::shared   ? location.owner->shared_
                         : location.kind == Location::Kind::tensor ? location.owner->tensor_
                                                                   : launch_.global();
  WarpClock& clock = clocks_[warp.warpid];
  if (accessor.operation == 0 && !accessor.role.is_barrier) clock.note_access(lane);
  AccessMark mark = mark_of(warp, site, lane, accessor);
  // All accesses to tensor memory use the same proxy.
  const bool by_async_proxy = accessor.in_async_proxy && location.kind != Location::Kind::tensor;
  const AccessOrder order{clock, launch_.operations(), clocks_, by_async_proxy};
  const std::uint64_t end = location.address + bytes;
  for (std::uint64_t word = location.address / marked_bytes; word * marked_bytes < end; ++word) {
    const std::uint64_t first = std::max(location.address, word * marked_bytes);
    const std::uint64_t last = std::min(end, (word + 1) * marked_bytes);
    mark.bytes = (((1u << (last - first)) - 1) << (first % marked_bytes)) & 0xf;
    const Conflict found =
        note_access(shadow.word(word), mark, accessor.role.reads, accessor.role.writes, order);
    if (found.earlier.time != 0) on_conflict(found, word * marked_bytes);
  }
}

// Hooks for compiled code and for C++ code that accesses memory, in checked launches only.

/// Called before an access; the `values` of a store have the layout [element][lane].
void check_access(WarpContext* warp, const std::uint64_t* addresses, const std::byte* values,
                  std::uint32_t mask, const AccessSite* site);
void check_fence(WarpContext* warp, std::uint32_t mask, std::uint32_t reach);
void check_proxy_fence(WarpContext* warp, std::uint32_t mask);
void check_members(WarpContext* warp, const std::uint32_t* members, std::uint32_t mask,
                   const AccessSite* site);
/// Called after a shuffle, with its operands and results.
void check_shuffle(WarpContext* warp, std::uint32_t mask, std::uint32_t participants, std::uint32_t mode,
                   std::uint32_t* dst, const std::uint32_t* b, const std::uint32_t* c,
                   const AccessSite* site);
void note_fault(WarpContext* warp, const Fault& fault);

}  // namespace lynxpp::device::cpu
