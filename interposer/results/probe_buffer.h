// The device memory of one instrumented launch: the offset of every array of every specification in one
// buffer.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "cod/specification.h"
#include "cod/word_map.h"
#include "device/device.h"
#include "device/graphs.h"
#include "engine/instrument.h"
#include "support/result.h"

namespace lynxpp::interposer {

struct ProbeLayout {
  struct Specification {
    std::vector<std::pair<std::uint64_t, std::uint64_t>> arrays;  ///< offset, bytes; in the order of arrays()
    /// For each array: its position in the launch's device::CounterMemory, where it has all its elements.
    std::vector<std::optional<std::uint64_t>> kept;
    std::uint64_t dropped = 0;         ///< offset of the counts of out-of-bounds accesses
    std::uint64_t dropped_counts = 1;  ///< number of these counts
    /// For each array: the offset of its counters in shared memory (cod::Word::Kind::shared_counters), or 0.
    std::vector<std::uint64_t> shared_counters;
  };
  std::vector<Specification> specifications;
  std::pair<std::uint64_t, std::uint64_t> counters;          ///< offset, number of slots
  std::pair<std::uint64_t, std::uint64_t> shared_addresses;  ///< offset, count
  std::pair<std::uint64_t, std::uint64_t> word_map;          ///< offset, bytes; written before the launch
  const cod::WordMap* words = nullptr;                       ///< the map stored at `word_map`
  std::uint64_t allocations = 0;                             ///< offset of allocation_table
  std::span<const std::uint64_t> allocation_table;
  struct Initial {
    std::uint64_t offset = 0;
    std::vector<std::byte> bytes;
  };
  std::vector<Initial> initial;  ///< initial contents of arrays; written before the launch
  cod::LaunchExtents extents;
  std::uint64_t bytes = 0;
  std::uint64_t kept_bytes = 0;  ///< of the device::CounterMemory; 0: none

  /// Returns all writes before the launch, onto zeros; valid as long as the layout and the objects that it
  /// refers to.
  std::vector<device::BufferWrite> writes() const;

  /// Returns the offset and the size of a specification's part.
  std::pair<std::uint64_t, std::uint64_t> part_of(std::size_t specification) const;
  std::vector<std::span<std::byte>> arrays_of(std::size_t specification, std::span<std::byte> buffer) const;
  /// The first count sums up drops that do not belong to checked_accesses().
  std::vector<std::uint64_t> dropped(std::size_t specification, std::span<const std::byte> buffer) const;
  std::span<const std::uint64_t> counters_of(std::span<const std::byte> buffer) const;
  std::span<const std::uint64_t> shared_addresses_of(std::span<const std::byte> buffer) const;
};

cod::LaunchExtents extents_of(const device::Launch& launch, const cod::LaunchView& view);

/// A variant's parts of the buffer besides the specifications' arrays.
struct SharedParts {
  std::uint64_t counters = 0;           ///< slots
  std::uint64_t shared_addresses = 0;   ///< count
  const cod::WordMap* words = nullptr;  ///< lives as long as the layout
  std::vector<bool> is_replayed = {};   ///< by specification: its arrays of words have no elements
  std::span<const std::uint64_t> allocations = {};  ///< lives as long as the layout
  std::uint64_t shared_counters = 0;                ///< offset of the first array's counters; 0: none
  std::uint64_t shared_counter_bytes = 0;           ///< bytes per array
  bool keeps_words = false;  ///< large arrays of 32-bit words of device memory stay there
};

/// Fails if an array's size overflows or the buffer would exceed 16 GiB.
Result<ProbeLayout> lay_out(const std::vector<engine::SpecificationPtr>& specifications,
                            const cod::LaunchExtents& extents, const SharedParts& parts = {});

/// Return one or all values of the parameter slots for a buffer at `address`, and for counters that stay in
/// device memory at `kept`.
std::uint64_t probe_word(const engine::ProbeWord& word, const ProbeLayout& layout, std::uint64_t address,
                         std::uint64_t kept = 0);
std::vector<std::uint64_t> probe_words(const std::vector<engine::ProbeWord>& words, const ProbeLayout& layout,
                                       std::uint64_t address);

}  // namespace lynxpp::interposer
