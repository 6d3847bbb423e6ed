// What a thread block of a checked launch has done, and what is wrong with what it does next.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "device/cpu/simt/check/launch_check.h"

namespace lynxpp::device::cpu {

class BlockCheck;

/// What those that have arrived at a barrier know, and what they publish from now on.
struct BarrierKnowledge {
  Knowledge known;
  Knowledge released_to_block;
  Knowledge released_to_device;
};

/// What the blocks of a cluster share.
struct ClusterKnowledge {
  std::vector<BlockCheck*> blocks;  ///< by rank
  BarrierKnowledge arriving;        ///< at the cluster's barrier, in its present phase
  BarrierKnowledge over;            ///< in the one before
};

class BlockCheck {
 public:
  BlockCheck(LaunchCheck& launch, std::uint32_t warps) : launch_(launch), warps_(warps) {}

  /// The program writes `shared_bytes` of shared memory; those behind them have been written.
  void start(std::uint64_t block, const std::uint32_t* coordinates, const std::byte* shared,
             std::uint64_t shared_bytes, std::uint64_t all_bytes);
  LaunchCheck& launch() { return launch_; }

  /// Accesses of the block's warps so far, except queries of a barrier object's phase.
  std::uint64_t accesses() const { return accesses_; }

  // What warps do. Addresses are as the site's kind says.

  /// What a lane is about to access. `value`, of a store: the bytes; null: not known.
  struct LaneAccess {
    std::uint64_t address = 0;
    std::uint64_t bytes = 0;
    std::uint32_t lane = 0;
    bool repeats = false;  ///< what another lane stores there with the same instruction, too
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

  // In a cluster, from start() on: what its blocks share, and its barrier.
  void join_cluster(ClusterKnowledge& cluster, std::uint32_t rank);
  void arrive_at_cluster(std::uint32_t warp) { arrive(cluster_->arriving, warp); }
  void leave_cluster(std::uint32_t warp) { leave(cluster_->over, warp); }
  void close_cluster();

 private:
  /// Where in the launch's memory an access goes.
  struct Place {
    enum class Kind { none, shared, global } kind = Kind::none;
    std::uint64_t address = 0;    ///< shared: the offset
    BlockCheck* owner = nullptr;  ///< shared: of the block whose memory it is
  };
  void arrive(BarrierKnowledge& barrier, std::uint32_t warp);
  void leave(const BarrierKnowledge& barrier, std::uint32_t warp);
  Place find_place(const WarpContext& warp, const AccessSite& site, const LaneAccess& access);
  void check_written(const WarpContext& warp, const AccessSite& site, const LaneAccess& access, Place place);
  bool check_gap(const WarpContext& warp, const AccessSite& site, const LaneAccess& access, Place place);
  void check_race(const WarpContext& warp, const AccessSite& site, const LaneAccess& access, Place place,
                  const std::byte* value);
  void add_race(const WarpContext& warp, const AccessSite& site, const LaneAccess& access, Place place,
                const Conflict& conflict);
  bool changes_nothing(Place place, const LaneAccess& access, const std::byte* value) const;
  bool is_unwritten(Place place, std::uint64_t bytes) const;
  CheckedAccess access_of(const WarpContext& warp, const AccessSite& site, std::uint32_t lane) const;
  CheckedAccess access_of(const AccessMark& mark) const;
  std::string name_of(Place place) const;

  LaunchCheck& launch_;
  const std::uint32_t warps_;
  std::uint64_t accesses_ = 0;
  std::uint32_t block_ = 0;
  std::uint32_t coordinates_[3] = {};
  const std::byte* shared_memory_ = nullptr;
  std::vector<bool> shared_written_;  // by byte
  AccessShadow shared_;
  SyncPlaces places_;  // in shared memory
  std::vector<WarpClock> clocks_;
  BarrierKnowledge barriers_[16];
  ClusterKnowledge alone_;  ///< of a block in no cluster
  ClusterKnowledge* cluster_ = &alone_;
};

/// "shared array 'tile' + 4"
std::string name_of_shared(const SharedLayout& layout, std::uint64_t offset);

// Called by compiled code, and by what accesses memory in C++. The launch is checked.

/// Before an access; `values`, of a store, are laid out [element][lane].
void check_access(WarpContext* warp, const std::uint64_t* addresses, const std::byte* values,
                  std::uint32_t mask, const AccessSite* site);
void check_fence(WarpContext* warp, std::uint32_t mask, std::uint32_t reach);
void check_members(WarpContext* warp, const std::uint32_t* members, std::uint32_t mask,
                   const AccessSite* site);
void note_fault(WarpContext* warp, const Fault& fault);

}  // namespace lynxpp::device::cpu
