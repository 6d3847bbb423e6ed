// State of a thread block in a checked launch, and checks of its next operations.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "device/cpu/simt/check/launch_check.h"

namespace lynxpp::device::cpu {

class BlockCheck;

/// Accesses known to the threads that arrived at a barrier, and what they publish after it.
struct BarrierKnowledge {
  Knowledge known;
  Knowledge released_to_block;
  Knowledge released_to_device;
};

/// State that the blocks of a cluster share.
struct ClusterKnowledge {
  std::vector<BlockCheck*> blocks;  ///< by rank
  BarrierKnowledge arriving;        ///< at the cluster's barrier, in the current phase
  BarrierKnowledge over;            ///< at the cluster's barrier, in the previous phase
};

class BlockCheck {
 public:
  BlockCheck(LaunchCheck& launch, std::uint32_t warps) : launch_(launch), warps_(warps) {}

  /// The program writes the first `shared_bytes` of shared memory; the bytes after them count as written.
  void start(std::uint64_t block, const std::uint32_t* coordinates, const std::byte* shared,
             std::uint64_t shared_bytes, std::uint64_t all_bytes);
  LaunchCheck& launch() { return launch_; }

  /// Number of accesses by the block's warps, not counting queries of a barrier object's phase.
  std::uint64_t accesses() const { return accesses_; }

  // Operations of warps. Addresses are of the kind that the site declares.

  /// One access that a lane is about to make. `value`: the bytes that a store writes; null if unknown.
  struct LaneAccess {
    std::uint64_t address = 0;
    std::uint64_t bytes = 0;
    std::uint32_t lane = 0;
    bool repeats = false;  ///< true if another lane stores the same value there with the same instruction
  };
  void access(const WarpContext& warp, const AccessSite& site, const LaneAccess& access,
              const std::byte* value);
  void fence(std::uint32_t warp, Reach reach) { clocks_[warp].fence(reach); }
  void meet(const WarpContext& warp, const AccessSite& site, const std::uint32_t* members,
            std::uint32_t mask);
  void fault(const WarpContext& warp, const Fault& fault);

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
    enum class Kind { none, shared, global } kind = Kind::none;
    std::uint64_t address = 0;    ///< shared: the offset
    BlockCheck* owner = nullptr;  ///< shared: the block that owns the memory
  };
  void arrive(BarrierKnowledge& barrier, std::uint32_t warp);
  void leave(const BarrierKnowledge& barrier, std::uint32_t warp);
  Location locate(const WarpContext& warp, const AccessSite& site, const LaneAccess& access);
  void check_written(const WarpContext& warp, const AccessSite& site, const LaneAccess& access,
                     Location location);
  bool check_gap(const WarpContext& warp, const AccessSite& site, const LaneAccess& access,
                 Location location);
  void check_race(const WarpContext& warp, const AccessSite& site, const LaneAccess& access,
                  Location location, const std::byte* value);
  void add_race(const WarpContext& warp, const AccessSite& site, const LaneAccess& access, Location location,
                const Conflict& conflict);
  bool changes_nothing(Location location, const LaneAccess& access, const std::byte* value) const;
  bool is_unwritten(Location location, std::uint64_t bytes) const;
  CheckedAccess access_of(const WarpContext& warp, const AccessSite& site, std::uint32_t lane) const;
  CheckedAccess access_of(const AccessMark& mark) const;
  std::string name_of(Location location) const;

  LaunchCheck& launch_;
  const std::uint32_t warps_;
  std::uint64_t accesses_ = 0;
  std::uint32_t block_ = 0;
  std::uint32_t coordinates_[3] = {};
  const std::byte* shared_memory_ = nullptr;
  std::vector<bool> shared_written_;  // by byte
  AccessShadow shared_;
  SyncVariables sync_variables_;  // in shared memory
  std::vector<WarpClock> clocks_;
  BarrierKnowledge barriers_[16];
  ClusterKnowledge alone_;  ///< used by a block outside clusters
  ClusterKnowledge* cluster_ = &alone_;
};

// Hooks for compiled code and for C++ code that accesses memory, in checked launches only.

/// Called before an access; the `values` of a store have the layout [element][lane].
void check_access(WarpContext* warp, const std::uint64_t* addresses, const std::byte* values,
                  std::uint32_t mask, const AccessSite* site);
void check_fence(WarpContext* warp, std::uint32_t mask, std::uint32_t reach);
void check_members(WarpContext* warp, const std::uint32_t* members, std::uint32_t mask,
                   const AccessSite* site);
void note_fault(WarpContext* warp, const Fault& fault);

}  // namespace lynxpp::device::cpu
