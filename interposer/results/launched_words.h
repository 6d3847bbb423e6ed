// What counting words of memory needs of a launch (engine/word_counts.h): its parameters, the arrays that are
// there when it is made, and where its results go.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "cod/specification.h"
#include "cod/word_map.h"
#include "device/device.h"
#include "engine/instrument.h"
#include "interposer/results/probe_buffer.h"
#include "support/result.h"

namespace lynxpp::interposer {

/// From before the launch until its report. Allocations that the program makes, frees or reuses meanwhile
/// change nothing.
class LaunchedWords {
 public:
  /// Whether their countWords() may want counters in shared memory.
  static bool count_shared_memory(const std::vector<engine::SpecificationPtr>& specifications);
  /// nothing of it is asked: null. Failure: the launch gives too few parameters.
  static Result<std::shared_ptr<LaunchedWords>> of(
      const engine::Instrumented& variant, const std::vector<engine::SpecificationPtr>& specifications,
      device::Device& device, const device::Launch& launch);

  std::uint64_t dynamic_shared_bytes() const { return dynamic_bytes_; }
  std::uint64_t shared_words() const { return shared_words_; }
  std::uint64_t device_words() const { return map_ == nullptr ? 0 : map_->words(); }
  std::uint64_t shared_addresses() const { return counting_->shared_arrays.size(); }
  /// Of the block's shared memory, dynamic included, where the variant has counters there: where those of the
  /// first array begin, from dynamic memory on, the bytes of each, and all dynamic bytes. Else zeros.
  struct BlockCounters {
    std::uint64_t first = 0;
    std::uint64_t bytes_each = 0;
    std::uint64_t dynamic_bytes = 0;
  };
  BlockCounters block_counters() const;
  /// Makes room for them.
  void add_block_counters(device::Launch& launch) const;
  /// What the device finds elements by; null: it need not.
  const cod::WordMap* word_map() const { return map_.get(); }
  std::span<const engine::WordCounting::RunArray> runs() const { return counting_->runs.arrays; }
  std::uint64_t loop_record_bytes() const { return counting_->runs.loop_record_bytes; }
  /// What the device finds allocations by (cod::allocation_table); empty: nobody asks.
  std::span<const std::uint64_t> allocations() const { return allocations_; }

  /// Whether probes may have added to a count of 32 bits so often, in a launch of no more than this time,
  /// that it wrapped around. `clock_khz` 0: not known, of the cpu device.
  bool may_wrap(const cod::Specification& specification, double milliseconds, std::uint32_t clock_khz) const;

  /// engine::word_runs_pay of an array, or there are no runs. Before finish().
  bool runs_pay(const ProbeLayout& layout, std::span<std::byte> buffer,
                const std::vector<engine::SpecificationPtr>& specifications) const;

  /// Adds what was found out without probes, and the arrays to `view`. `notes` gets for each specification
  /// what is not as it should be. False: accesses are missing that only probes would count.
  bool finish(const ProbeLayout& layout, std::span<std::byte> buffer,
              const std::vector<engine::SpecificationPtr>& specifications, cod::LaunchView& view,
              std::vector<std::vector<std::string>>& notes) const;

 private:
  /// Memory that kernels can reach: an allocation, or a variable.
  struct Array {
    std::uint64_t address = 0;
    std::uint64_t bytes = 0;
    std::uint64_t order = 0;  ///< of allocations their number; variables stand behind
    std::uint64_t id = 0;     ///< what allocationId() gives
    std::string name;
    std::string caller;  ///< of the call that allocated it
  };
  void find_arrays(device::Device& device);
  std::vector<Array> in_order() const;  ///< as they were allocated
  void add_shared_arrays(std::span<const std::uint64_t> addresses, cod::LaunchView& view) const;
  void place_arrays(std::span<const std::uint64_t> addresses, cod::LaunchView& view) const;
  void add_runs(const ProbeLayout& layout, std::span<std::byte> buffer,
                const std::vector<engine::SpecificationPtr>& specifications,
                const std::vector<std::vector<std::span<std::byte>>>& arrays,
                std::vector<std::uint64_t>& outside) const;
  void add_device_arrays(const ProbeLayout& layout, std::span<std::byte> buffer,
                         const std::vector<engine::SpecificationPtr>& specifications,
                         cod::LaunchView& view) const;
  template <typename Visit>
  void visit_pointers(const Array& array, Visit visit) const;
  void add_scheme_notes(const cod::Specification& specification,
                        const std::vector<std::span<std::byte>>& counts, const cod::LaunchView& view,
                        std::vector<std::string>& notes) const;
  std::string name_of(const Array& array) const;
  bool is_carried(const Array& array) const;
  std::uint64_t between_arrays(std::span<const std::byte> counts, std::uint64_t element_bytes) const;

  std::shared_ptr<const engine::WordCounting> counting_;
  std::vector<std::byte> parameters_;
  std::vector<device::ParameterSlot> slots_;
  std::vector<Array> arrays_;  ///< ascending by address, none overlap
  std::shared_ptr<const cod::WordMap> map_;
  std::vector<std::uint64_t> allocations_;
  std::uint64_t shared_words_ = 0;
  std::uint64_t dynamic_bytes_ = 0;
  bool lists_arrays_ = false;
};

}  // namespace lynxpp::interposer
