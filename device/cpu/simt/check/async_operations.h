// Asynchronous operations of a launch as the race detector sees them: threads of their own.
//
// An operation starts after what its warp did before it: its accesses are checked with the clock of the
// issuing warp. It happens before other accesses only once they know its completion: a time of the clock of a
// lane's copies, or of an mbarrier object (happens_before.h). It completes on an object when its bytes have
// been counted in a phase.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <utility>
#include <vector>

#include "device/cpu/simt/check/happens_before.h"
#include "device/cpu/simt/execute/context.h"

namespace lynxpp::device::cpu {

/// The kind of wait that reports the completion of an asynchronous operation.
enum class AsyncCompletion : std::uint8_t {
  copy_group,    ///< cp.async.wait_group, wait_all, cp.async.mbarrier.arrive
  bulk_group,    ///< cp.async.bulk.wait_group
  matrix_group,  ///< wgmma.wait_group: groups of the warp, not of its lanes
  tensor_core,   ///< tcgen05.commit and an mbarrier object; like copies, of a lane
  tensor_load,   ///< tcgen05.wait::ld, of the warp
  tensor_store,  ///< tcgen05.wait::st, of the warp
  object,        ///< an mbarrier object, by the number of completed bytes
};
inline constexpr std::size_t group_kinds = 6;

/// True if each lane has groups of its own.
constexpr bool is_per_lane(AsyncCompletion completion) {
  return completion == AsyncCompletion::copy_group || completion == AsyncCompletion::bulk_group ||
         completion == AsyncCompletion::tensor_core;
}

/// One operation; for groups of copies, of all lanes that issued it together.
struct AsyncOperation {
  const AccessSite* site = nullptr;
  AsyncCompletion completion = AsyncCompletion::copy_group;
  bool in_async_proxy = false;
  std::uint32_t block = 0;  ///< that issued it
  std::uint32_t warp = 0;
  std::uint32_t issued = 0;  ///< time of the warp
  /// The completion of its reads, and of its writes. In groups, `clock` is that of the first lane and `time`
  /// counts the warp's operations. Time 0: it is in no completed phase yet.
  ClockTime read_at;
  ClockTime written_at;
  std::uint64_t object = 0;  ///< address of the mbarrier object in the shared memory of block read_at.block

  /// Returns the completion for the lane that issued the operation.
  ClockTime completion_for(std::uint32_t lane, bool writes) const {
    ClockTime made = writes ? written_at : read_at;
    if (is_per_lane(completion)) made.clock += lane;
    return made;
  }
};

/// True if the tensor core performs the operation. It performs those of a block in the order of their issue.
constexpr bool is_of_tensor_core(const AsyncOperation& operation) {
  return operation.completion == AsyncCompletion::tensor_core;
}

/// All asynchronous operations of a launch, numbered from 1.
class AsyncOperations {
 public:
  /// Returns the number of the new operation; 0 if there are too many to remember it.
  std::uint32_t add(const AsyncOperation& operation);
  AsyncOperation& operator[](std::uint32_t number) { return all_[number - 1]; }
  const AsyncOperation& operator[](std::uint32_t number) const { return all_[number - 1]; }

 private:
  static constexpr std::size_t most = std::size_t{1} << 23;  // about 0.7 GB
  std::deque<AsyncOperation> all_;
};

/// A memory operation that is performed late, when a wait demands it.
struct LateOperation {
  std::uint32_t number = 0;  ///< in AsyncOperations; 0: not remembered
  std::uint32_t lane = 0;
  std::uint32_t time = 0;         ///< in groups
  std::uint32_t due = 0;          ///< round of its block at whose end it is performed; 0: none
  std::function<void()> perform;  ///< empty once it has been performed
};

/// The asynchronous operations that the lanes of one warp put into groups of one kind.
class AsyncGroups {
 public:
  /// Returns the time of an operation that `lane` issues now. Lanes that execute one instruction together
  /// share it: `number` is then that of the operation, otherwise 0.
  std::uint32_t issue(const AccessSite* site, std::uint32_t lane, std::uint32_t& number);
  /// Remembers the operation that was issued last.
  void set_number(std::uint32_t number) { number_ = number; }
  void add(LateOperation operation) { late_.push_back(std::move(operation)); }
  void commit(std::uint32_t lanes);
  /// Returns the time up to which all operations of `lane` are complete once at most `pending` of its groups
  /// are not.
  std::uint32_t completed_by_wait(std::uint32_t lane, std::uint32_t pending) const;
  std::uint32_t now() const { return time_; }
  bool is_committed(std::uint32_t lane, std::uint32_t time) const;
  /// Performs operations of `lane` up to a time.
  void perform(std::uint32_t lane, std::uint32_t time);
  /// Performs the operations that are due in a round, which stay incomplete.
  void perform_due(std::uint32_t round);
  /// Performs all operations, which stay incomplete.
  void perform_all();
  const std::vector<LateOperation>& late() const { return late_; }

 private:
  struct Commit {
    std::uint32_t lanes = 0;
    std::uint32_t time = 0;
  };
  static constexpr std::size_t most_commits = 256;
  std::uint32_t time_ = 0;
  const AccessSite* site_ = nullptr;  // of the last operation
  std::uint32_t lanes_ = 0;           // that have issued it
  std::uint32_t number_ = 0;
  std::deque<Commit> commits_;
  std::vector<LateOperation> late_;
};

}  // namespace lynxpp::device::cpu
