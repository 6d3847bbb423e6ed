#include "interposer/results/probe_buffer.h"

#include <cstring>

#include "support/check.h"

namespace lynxpp::interposer {
namespace {

// One L2 line apart, so that atomics of two arrays never share a line.
constexpr std::uint64_t array_alignment = 256;
constexpr std::uint64_t largest_buffer = 16ull << 30;
/// Copying and reading fewer bytes costs less than a kernel that summarises them.
constexpr std::uint64_t least_kept_bytes = 4ull << 20;

/// True if the array's elements are whole pages of 32-bit counters.
bool can_be_kept(const cod::GlobalArray& array) {
  return array.counts_words && array.dimensions[0].extent == cod::Extent::device_words &&
         cod::size_of(array.type) == sizeof(std::uint32_t) && array.initial.empty();
}

}  // namespace

std::pair<std::uint64_t, std::uint64_t> ProbeLayout::part_of(std::size_t specification) const {
  const std::uint64_t begin = specifications[specification].dropped;
  const bool is_last = specification + 1 == specifications.size();
  return {begin, (is_last ? bytes : specifications[specification + 1].dropped) - begin};
}

std::vector<std::span<std::byte>> ProbeLayout::arrays_of(std::size_t specification,
                                                         std::span<std::byte> buffer) const {
  std::vector<std::span<std::byte>> spans;
  for (const auto& [offset, size] : specifications[specification].arrays)
    spans.push_back(buffer.subspan(offset, size));
  return spans;
}

std::vector<std::uint64_t> ProbeLayout::dropped(std::size_t specification,
                                                std::span<const std::byte> buffer) const {
  const Specification& placed = specifications[specification];
  std::vector<std::uint64_t> counts(placed.dropped_counts);
  std::memcpy(counts.data(), buffer.data() + placed.dropped, counts.size() * sizeof counts[0]);
  return counts;
}

std::vector<device::BufferWrite> ProbeLayout::writes() const {
  std::vector<device::BufferWrite> all;
  if (word_map.second != 0) all.push_back({word_map.first, std::as_bytes(words->entries())});
  if (!allocation_table.empty()) all.push_back({allocations, std::as_bytes(allocation_table)});
  for (const Initial& each : initial) all.push_back({each.offset, each.bytes});
  return all;
}

std::span<const std::uint64_t> ProbeLayout::counters_of(std::span<const std::byte> buffer) const {
  // The buffer begins at a multiple of `array_alignment`, on the host too.
  return {reinterpret_cast<const std::uint64_t*>(buffer.data() + counters.first), counters.second};
}

std::span<const std::uint64_t> ProbeLayout::shared_addresses_of(std::span<const std::byte> buffer) const {
  return {reinterpret_cast<const std::uint64_t*>(buffer.data() + shared_addresses.first),
          shared_addresses.second};
}

cod::LaunchExtents extents_of(const device::Launch& launch, const cod::LaunchView& view) {
  cod::LaunchExtents extents;
  extents.basic_blocks = view.basic_blocks;
  extents.instructions = view.instructions;
  extents.blocks = launch.blocks();
  extents.warps = launch.blocks() * ((launch.threads_per_block() + 31) / 32);
  extents.threads = launch.blocks() * launch.threads_per_block();
  extents.sms = view.sms;
  extents.shared_words = view.shared_words;
  extents.device_words = view.device_words;
  return extents;
}

Result<ProbeLayout> lay_out(const std::vector<engine::SpecificationPtr>& specifications,
                            const cod::LaunchExtents& extents, const SharedParts& parts) {
  ProbeLayout layout;
  layout.extents = extents;
  const auto take = [&](std::uint64_t bytes) {
    const std::uint64_t offset = layout.bytes;
    layout.bytes = (offset + bytes + array_alignment - 1) / array_alignment * array_alignment;
    return offset;
  };
  layout.counters = {take(8 * parts.counters), parts.counters};
  layout.shared_addresses = {take(8 * parts.shared_addresses), parts.shared_addresses};
  const std::uint64_t map_bytes = parts.words == nullptr ? 0 : parts.words->entries().size_bytes();
  layout.word_map = {take(map_bytes), map_bytes};
  layout.words = parts.words;
  layout.allocation_table = parts.allocations;
  layout.allocations = take(parts.allocations.size_bytes());
  std::uint64_t shared_counter_arrays = 0;
  for (const engine::SpecificationPtr& specification : specifications) {
    ProbeLayout::Specification placed;
    placed.dropped_counts = 1 + specification->checked_accesses().size();
    placed.dropped = take(placed.dropped_counts * sizeof(std::uint64_t));
    placed.shared_counters.assign(specification->arrays().size(), 0);
    for (const cod::Word& word : specification->words()) {
      if (word.kind != cod::Word::Kind::shared_counters || parts.shared_counters == 0) continue;
      placed.shared_counters[word.index] =
          parts.shared_counters + parts.shared_counter_bytes * shared_counter_arrays++;
    }
    for (const cod::GlobalArray& array : specification->arrays()) {
      const std::uint64_t elements = cod::element_count(array, extents);
      const std::size_t position = layout.specifications.size();
      const bool is_replayed =
          position < parts.is_replayed.size() && parts.is_replayed[position] && array.counts_words;
      const std::uint64_t before = is_replayed ? 0 : layout.bytes;
      if (elements == 0 || elements > largest_buffer / cod::size_of(array.type) ||
          before + elements * cod::size_of(array.type) > largest_buffer) {
        return failure("specification '" + specification->name() + "': array '" + array.name +
                       "' is too large for this launch");
      }
      const std::uint64_t size = is_replayed ? 0 : elements * cod::size_of(array.type);
      const bool is_kept = parts.keeps_words && size >= least_kept_bytes && can_be_kept(array);
      placed.kept.push_back(is_kept ? std::optional(layout.kept_bytes) : std::nullopt);
      if (is_replayed || is_kept) {
        placed.arrays.emplace_back(layout.bytes, 0);
        layout.kept_bytes += is_kept ? size : 0;
        continue;
      }
      placed.arrays.emplace_back(take(size), size);
      if (array.initial.empty()) continue;
      ProbeLayout::Initial begin{placed.arrays.back().first, {}};
      begin.bytes.resize(cod::initial_bytes(array, size));
      cod::set_initial_values(array, begin.bytes);
      layout.initial.push_back(std::move(begin));
    }
    layout.specifications.push_back(std::move(placed));
  }
  return layout;
}

std::uint64_t probe_word(const engine::ProbeWord& word, const ProbeLayout& layout, std::uint64_t address,
                         std::uint64_t kept) {
  using Kind = engine::ProbeWord::Kind;
  switch (word.kind) {
    case Kind::counters: return address + layout.counters.first;
    case Kind::shared_addresses: return address + layout.shared_addresses.first;
    case Kind::specification: break;
    case Kind::allocation_begin:
    case Kind::allocation_mask:
    case Kind::allocation_rotation:
    case Kind::zero:
    case Kind::scratch:
    case Kind::scratch_mask:
    case Kind::results:
    case Kind::map_mask: LYNXPP_CHECK(false, "the variant of a perturbation has no probes"); return 0;
  }
  const ProbeLayout::Specification& specification = layout.specifications[word.specification];
  switch (word.word.kind) {
    case cod::Word::Kind::array_address:
      return specification.kept[word.word.index] ? kept + *specification.kept[word.word.index]
                                                 : address + specification.arrays[word.word.index].first;
    case cod::Word::Kind::extent: return cod::value_of({word.word.extent, 1, {}}, layout.extents);
    case cod::Word::Kind::allocations: return address + layout.allocations;
    case cod::Word::Kind::dropped: return address + specification.dropped;
    case cod::Word::Kind::shared_counters: return specification.shared_counters[word.word.index];
    case cod::Word::Kind::word_map:
      return layout.words == nullptr ? 0
                                     : layout.words->word(word.word.index, address + layout.word_map.first);
  }
  return 0;
}

std::vector<std::uint64_t> probe_words(const std::vector<engine::ProbeWord>& words, const ProbeLayout& layout,
                                       std::uint64_t address) {
  std::vector<std::uint64_t> values;
  for (const engine::ProbeWord& word : words) values.push_back(probe_word(word, layout, address));
  return values;
}

}  // namespace lynxpp::interposer
