// The launch data that counting memory words needs (engine/word_counts.h): parameters, the arrays that exist
// at the launch, and where results are stored.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "cod/specification.h"
#include "cod/word_map.h"
#include "cod/word_statistics.h"
#include "device/allocations.h"
#include "device/device.h"
#include "engine/instrument.h"
#include "engine/word_counts.h"
#include "interposer/owned_mutex.h"
#include "interposer/results/probe_buffer.h"
#include "support/result.h"

namespace lynxpp::interposer {

/// Created before the launch and kept until its report. Allocations that the program makes, frees or reuses
/// meanwhile have no effect.
class LaunchedWords : public std::enable_shared_from_this<LaunchedWords> {
 public:
  /// True if their countWords() may need counters in shared memory.
  static bool count_shared_memory(const std::vector<engine::SpecificationPtr>& specifications);
  /// Returns null if no specification counts words. Fails if the launch passes too few parameters.
  /// `previous`, of another launch with these specifications, may be null; what follows from equal parameters
  /// and allocations is shared with it, and equal launches have one object.
  static Result<std::shared_ptr<const LaunchedWords>> of(
      const engine::Instrumented& variant, const std::vector<engine::SpecificationPtr>& specifications,
      device::Device& device, const device::Launch& launch,
      const std::shared_ptr<const LaunchedWords>& previous);

  std::uint64_t dynamic_shared_bytes() const { return dynamic_bytes_; }
  std::uint64_t shared_words() const { return shared_words_; }
  std::uint64_t device_words() const { return map() == nullptr ? 0 : map()->words(); }
  std::uint64_t shared_addresses() const { return counting_->shared_arrays.size(); }
  /// Counters in the block's shared memory (including dynamic memory): the offset of the first array's
  /// counters from the start of dynamic memory, the bytes per array, and all dynamic bytes. Zeros if the
  /// variant has none there.
  struct BlockCounters {
    std::uint64_t first = 0;
    std::uint64_t bytes_each = 0;
    std::uint64_t dynamic_bytes = 0;
  };
  BlockCounters block_counters() const;
  /// Adds room for them to the launch.
  void add_block_counters(device::Launch& launch) const;
  /// Returns the map by which the device finds elements; null if it is not needed.
  const cod::WordMap* word_map() const { return map(); }
  /// Returns the table by which the device finds allocations (cod::allocation_table); empty if it is not
  /// needed.
  std::span<const std::uint64_t> allocations() const {
    return memory_ ? std::span<const std::uint64_t>(memory_->allocations) : std::span<const std::uint64_t>();
  }

  /// True if probes may have overflowed a 32-bit count of the specification, the plan's number `index`, in a
  /// launch of at most this duration. `clock_khz` 0: unknown, as on the cpu device.
  bool may_wrap(const cod::Specification& specification, std::size_t index, double milliseconds,
                std::uint32_t clock_khz) const;

  /// SharedParts::is_replayed
  const std::vector<bool>& is_replayed() const { return counting_->is_replayed; }

  /// Fails if replay takes too long for the launch, or cannot follow it (engine::check_replay).
  Status check_replay() const;

  /// A launch's word counts and notes, by specification.
  struct Finished {
    bool is_complete = true;  ///< false if accesses are missing that only probes would count
    std::vector<std::vector<std::string>> notes;
    std::vector<std::map<std::uint32_t, std::shared_ptr<cod::WordSource>>>
        sources;  ///< cod::LaunchView::sources
  };
  /// Adds the counts that needed no probes to the buffer's arrays, and the program's arrays to `view`.
  /// Counters that stay in device memory, and their summary; both outlive what finish() returns.
  struct Kept {
    device::CounterMemory* memory = nullptr;  ///< null: no such counters
    std::span<const CounterPage> pages;
  };
  Finished finish(const ProbeLayout& layout, std::span<std::byte> buffer,
                  const std::vector<engine::SpecificationPtr>& specifications, const Kept& kept,
                  cod::LaunchView& view) const;

  /// True if counters may stay in device memory: nothing but statistics of complete counts is wanted of them.
  bool may_keep_counters() const { return counting_->scheme.sample == 1 && counting_->scheme.threshold == 0; }
  /// cod::LaunchView::counts_exactly
  bool counts_exactly() const { return counting_->scheme.is_exact(); }

 private:
  /// Memory that kernels can access: an allocation or a variable.
  struct Array {
    std::uint64_t address = 0;
    std::uint64_t bytes = 0;
    std::uint64_t order = 0;  ///< number of the allocation; variables come after all allocations
    std::uint64_t id = 0;     ///< value of allocationId()
    std::string name;
    std::string caller;  ///< call that allocated it
  };
  /// The arrays that exist at the launch.
  struct Memory {
    std::uint64_t version = 0;  ///< device::LiveAllocations::version
    std::vector<Array> arrays;  ///< ascending by address, none overlap
    std::optional<cod::WordMap> map;
    std::vector<std::uint64_t> allocations;
  };
  std::shared_ptr<const Memory> find_memory(const std::vector<engine::SpecificationPtr>& specifications,
                                            const device::LiveAllocations& live) const;
  const cod::WordMap* map() const { return memory_ && memory_->map ? &*memory_->map : nullptr; }
  bool is_equal_to(const LaunchedWords& other) const;
  engine::LaunchedWords launched(std::span<const std::uint64_t> shared_addresses) const;
  /// Counts that replay computed for the last of equal launches.
  struct Replayed {
    std::vector<std::uint64_t> shared_addresses;  ///< that the launch stored
    Status status;
    std::vector<std::uint64_t> outside;
    std::vector<std::map<std::uint32_t, std::shared_ptr<cod::WordRuns>>> runs;
    engine::RunsOfArrays added;  ///< to the buffer's arrays
  };
  /// Adds counts to the buffer's arrays.
  Replayed replayed(const engine::LaunchedWords& launched,
                    const std::vector<engine::SpecificationPtr>& specifications,
                    std::span<const std::vector<std::span<std::byte>>> arrays) const;
  /// Returns the runs again that replayed() returned for an array.
  std::vector<cod::ElementRun> find_again(std::span<const std::uint64_t> shared_addresses,
                                          const std::vector<engine::SpecificationPtr>& specifications,
                                          std::uint32_t specification, std::uint32_t array) const;
  std::span<const Array> arrays() const {
    return memory_ ? std::span<const Array>(memory_->arrays) : std::span<const Array>();
  }
  std::vector<Array> in_order() const;  ///< in allocation order
  void add_shared_arrays(std::span<const std::uint64_t> addresses, cod::LaunchView& view) const;
  void place_arrays(std::span<const std::uint64_t> addresses, cod::LaunchView& view) const;
  void add_device_arrays(const std::vector<engine::SpecificationPtr>& specifications,
                         const std::vector<std::vector<std::span<std::byte>>>& arrays,
                         const Finished& finished, cod::LaunchView& view) const;
  template <typename Visit>
  void visit_pointers(const Array& array, Visit visit) const;
  void add_scheme_notes(const cod::Specification& specification,
                        const std::vector<std::span<std::byte>>& counts, const cod::LaunchView& view,
                        std::vector<std::string>& notes) const;
  std::string name_of(const Array& array) const;
  bool is_carried(const Array& array) const;
  /// Calls visit(first, words) for the elements outside every array.
  template <typename Visit>
  void visit_between_arrays(std::uint64_t elements, Visit visit) const;

  std::shared_ptr<const engine::WordCounting> counting_;
  std::vector<std::byte> parameters_;
  std::vector<device::ParameterSlot> slots_;
  std::uint32_t grid_[3] = {}, block_[3] = {};
  std::shared_ptr<const Memory> memory_;  ///< null: no specification needs it
  mutable OwnedMutex<std::mutex> mutex_{LockRank::leaf};
  mutable std::optional<Replayed> replayed_ LYNXPP_GUARDED_BY(mutex_);
  std::uint64_t shared_words_ = 0;
  std::uint64_t dynamic_bytes_ = 0;
  bool lists_arrays_ = false;
};

}  // namespace lynxpp::interposer
