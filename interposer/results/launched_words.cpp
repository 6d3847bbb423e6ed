#include "interposer/results/launched_words.h"

#include <algorithm>
#include <cstring>

#include "cod/allocation_table.h"
#include "interposer/results/kept_words.h"
#include "support/check.h"
#include "support/text.h"
#include "support/trust.h"

namespace lynxpp::interposer {
namespace {

constexpr std::uint64_t word = 4;
/// Dynamic shared memory begins at a multiple of at most this.
constexpr std::uint64_t shared_alignment = 128;

/// "tile" of "_ZZ6matmulPKfS0_PfE4tile".
std::string short_name(const std::string& symbol) {
  const std::string name = demangle(symbol);
  const std::size_t end = name.rfind("::");
  return end == std::string::npos ? name : name.substr(end + 2);
}

bool is_of(const cod::GlobalArray& array, cod::Extent extent) {
  return std::ranges::any_of(array.dimensions,
                             [extent](const cod::Dimension& each) { return each.extent == extent; });
}

bool asks_for(const std::vector<engine::SpecificationPtr>& specifications, cod::Extent extent) {
  return std::ranges::any_of(specifications, [extent](const engine::SpecificationPtr& specification) {
    return std::ranges::any_of(specification->arrays(),
                               [extent](const cod::GlobalArray& array) { return is_of(array, extent); });
  });
}

bool has_word(const std::vector<engine::SpecificationPtr>& specifications, cod::Word::Kind kind) {
  return std::ranges::any_of(specifications, [kind](const engine::SpecificationPtr& specification) {
    return std::ranges::any_of(specification->words(),
                               [kind](const cod::Word& each) { return each.kind == kind; });
  });
}

/// True if some count in [first, first + words) is nonzero.
bool has_counts(std::span<const std::byte> array, std::uint64_t element_bytes, std::uint64_t first,
                std::uint64_t words) {
  const std::uint64_t begin = std::min<std::uint64_t>(first * element_bytes, array.size());
  const std::uint64_t end = std::min<std::uint64_t>((first + words) * element_bytes, array.size());
  const auto counts = array.subspan(begin, end - begin);
  // All are zero if the first is and each equals the next; arrays may have gigabytes.
  return !counts.empty() &&
         (counts[0] != std::byte{0} || std::memcmp(counts.data(), counts.data() + 1, counts.size() - 1) != 0);
}

template <typename Number>
std::uint64_t sum_of(const std::byte* numbers, std::uint64_t count) {
  std::uint64_t sum = 0;
  for (std::uint64_t i = 0; i < count; ++i) {
    Number number = 0;
    std::memcpy(&number, numbers + i * sizeof number, sizeof number);
    sum += number;
  }
  return sum;
}

/// True if some word of the array has that count.
bool reaches(std::span<const std::byte> counts, std::uint64_t element_bytes, const cod::MemoryArray& array,
             std::uint64_t threshold) {
  for (std::uint64_t i = array.first; i < array.first + array.words; ++i) {
    if ((i + 1) * element_bytes > counts.size()) break;
    std::uint64_t count = 0;
    std::memcpy(&count, counts.data() + i * element_bytes, element_bytes);
    if (count >= threshold) return true;
  }
  return false;
}

}  // namespace

bool LaunchedWords::count_shared_memory(const std::vector<engine::SpecificationPtr>& specifications) {
  return std::ranges::any_of(specifications, [](const engine::SpecificationPtr& specification) {
    return std::ranges::any_of(specification->arrays(), [](const cod::GlobalArray& array) {
      return array.dimensions.size() == 1 && is_of(array, cod::Extent::shared_words);
    });
  });
}

Result<std::shared_ptr<const LaunchedWords>> LaunchedWords::of(
    const engine::Instrumented& variant, const std::vector<engine::SpecificationPtr>& specifications,
    device::Device& device, const device::Launch& launch,
    const std::shared_ptr<const LaunchedWords>& previous) {
  if (variant.words == nullptr) return std::shared_ptr<const LaunchedWords>();
  Result<std::vector<std::byte>> parameters = device::parameter_buffer(launch, variant.parameters);
  if (!parameters) return parameters.error();
  auto words = std::make_shared<LaunchedWords>();
  words->counting_ = variant.words;
  words->parameters_ = std::move(*parameters);
  words->slots_ = variant.parameters;
  std::copy(std::begin(launch.grid), std::end(launch.grid), words->grid_);
  std::copy(std::begin(launch.block), std::end(launch.block), words->block_);
  words->dynamic_bytes_ = launch.shared_bytes;
  const std::uint64_t shared_bytes =
      variant.words->static_shared_bytes + shared_alignment + launch.shared_bytes;
  words->shared_words_ = (shared_bytes + word - 1) / word;
  words->lists_arrays_ = std::ranges::any_of(specifications, &cod::Specification::lists_arrays);
  const bool is_counting = asks_for(specifications, cod::Extent::device_words) ||
                           has_word(specifications, cod::Word::Kind::word_map);
  if (is_counting || words->lists_arrays_) {
    const std::shared_ptr<const device::LiveAllocations> live = device.allocations();
    const bool is_known = previous != nullptr && previous->counting_ == words->counting_ &&
                          previous->memory_ != nullptr && previous->memory_->version == live->version;
    words->memory_ = is_known ? previous->memory_ : words->find_memory(specifications, *live);
  }
  if (previous != nullptr && previous->is_equal_to(*words)) return previous;
  return std::shared_ptr<const LaunchedWords>(std::move(words));
}

bool LaunchedWords::is_equal_to(const LaunchedWords& other) const {
  // Names of arrays depend on all parameters, counts only on those that replay loads.
  const auto have_equal_parameters = [&] {
    if (parameters_ == other.parameters_) return true;
    return memory_ == nullptr && parameters_.size() == other.parameters_.size() &&
           ptx::loads_equal_parameters(counting_->program, parameters_, other.parameters_);
  };
  return counting_ == other.counting_ && memory_ == other.memory_ && std::ranges::equal(grid_, other.grid_) &&
         std::ranges::equal(block_, other.block_) && dynamic_bytes_ == other.dynamic_bytes_ &&
         have_equal_parameters();
}

std::shared_ptr<const LaunchedWords::Memory> LaunchedWords::find_memory(
    const std::vector<engine::SpecificationPtr>& specifications, const device::LiveAllocations& live) const {
  auto memory = std::make_shared<Memory>();
  memory->version = live.version;
  for (const device::LiveAllocation& each : live.sorted) {
    memory->arrays.push_back({each.address, each.bytes, each.number, each.number,
                              "#" + std::to_string(each.number), std::string(each.site.caller)});
  }
  constexpr std::uint64_t behind_allocations = ~std::uint64_t{0};
  std::uint64_t id = cod::first_variable_id;
  for (const engine::WordCounting::DeviceVariable& each : counting_->device_variables) {
    const bool is_known = live.find(each.address) != nullptr;
    if (!is_known && each.bytes != 0) {
      memory->arrays.push_back({each.address, each.bytes, behind_allocations, id, short_name(each.name), {}});
    }
    ++id;
  }
  std::ranges::sort(memory->arrays, {}, &Array::address);
  if (has_word(specifications, cod::Word::Kind::allocations)) {
    std::vector<cod::AllocatedRange> ranges;
    for (const Array& each : memory->arrays) ranges.push_back({each.address, each.bytes, each.id});
    memory->allocations = cod::allocation_table(std::move(ranges));
  }
  if (!asks_for(specifications, cod::Extent::device_words) &&
      !has_word(specifications, cod::Word::Kind::word_map))
    return memory;
  std::vector<std::pair<std::uint64_t, std::uint64_t>> ranges;
  for (const Array& each : memory->arrays) ranges.emplace_back(each.address, each.bytes);
  memory->map.emplace(std::move(ranges));
  return memory;
}

LaunchedWords::BlockCounters LaunchedWords::block_counters() const {
  if (counting_->block_counters == 0) return {};
  constexpr std::uint64_t alignment = 16;
  const auto rounded = [](std::uint64_t bytes) { return (bytes + alignment - 1) / alignment * alignment; };
  BlockCounters counters;
  counters.first = rounded(dynamic_bytes_) + ptx::BlockCounters::header_bytes;
  counters.bytes_each = rounded(shared_words_ * counting_->scheme.shared_bits / 8);
  counters.dynamic_bytes = counters.first + counting_->block_counters * counters.bytes_each;
  return counters;
}

void LaunchedWords::add_block_counters(device::Launch& launch) const {
  if (const BlockCounters counters = block_counters(); counters.dynamic_bytes != 0)
    launch.shared_bytes = static_cast<std::uint32_t>(counters.dynamic_bytes);
}

void LaunchedWords::add_shared_arrays(std::span<const std::uint64_t> addresses, cod::LaunchView& view) const {
  for (std::size_t i = 0; i < counting_->shared_arrays.size() && i < addresses.size(); ++i) {
    const engine::WordCounting::SharedArray& array = counting_->shared_arrays[i];
    const std::uint64_t bytes = array.is_dynamic ? dynamic_bytes_ : array.bytes;
    // All names of dynamic shared memory refer to the same memory.
    const auto is_same = [&](const cod::MemoryArray& each) { return each.first == addresses[i] / word; };
    const bool is_known = array.is_dynamic && std::ranges::any_of(view.shared_arrays, is_same);
    if (bytes == 0 || is_known) continue;
    view.shared_arrays.push_back({short_name(array.name), addresses[i] / word, (bytes + word - 1) / word});
  }
  std::ranges::sort(view.shared_arrays, {}, &cod::MemoryArray::first);
}

/// Allocation order is used because addresses differ from run to run.
std::vector<LaunchedWords::Array> LaunchedWords::in_order() const {
  std::vector<Array> arrays(this->arrays().begin(), this->arrays().end());
  std::ranges::sort(arrays, {}, [](const Array& each) { return std::pair(each.order, each.address); });
  return arrays;
}

/// Adds all arrays that exist at the launch, accessed or not.
void LaunchedWords::place_arrays(std::span<const std::uint64_t> addresses, cod::LaunchView& view) const {
  for (std::size_t i = 0; i < counting_->shared_arrays.size() && i < addresses.size(); ++i) {
    const engine::WordCounting::SharedArray& array = counting_->shared_arrays[i];
    const std::uint64_t bytes = array.is_dynamic ? dynamic_bytes_ : array.bytes;
    const auto is_same = [&](const cod::LocatedArray& each) { return each.address == addresses[i]; };
    if (bytes == 0 || (array.is_dynamic && std::ranges::any_of(view.located_arrays, is_same))) continue;
    view.located_arrays.push_back({short_name(array.name), addresses[i], bytes, true});
  }
  for (const Array& array : in_order())
    view.located_arrays.push_back({name_of(array), array.address, array.bytes, false, array.id});
}

/// Calls visit(parameter, offset in it) for every aligned word of a parameter that points into the array.
template <typename Visit>
void LaunchedWords::visit_pointers(const Array& array, Visit visit) const {
  std::uint64_t pointer = 0;
  for (std::size_t i = 0; i < slots_.size(); ++i) {
    for (std::uint32_t offset = 0; offset + sizeof pointer <= slots_[i].bytes; offset += sizeof pointer) {
      std::memcpy(&pointer, parameters_.data() + slots_[i].offset + offset, sizeof pointer);
      if (pointer - array.address < array.bytes) visit(i, offset);
    }
  }
}

/// Returns "#3 parameter 0, main+0x1c8": the array's number, the parameters that point into it, and the call
/// that allocated it. For a pointer that is a member of a parameter, adds its offset: "parameter 2+8".
std::string LaunchedWords::name_of(const Array& array) const {
  std::string details;
  visit_pointers(array, [&](std::size_t parameter, std::uint32_t offset) {
    details += (details.empty() ? "parameter " : ", parameter ") + std::to_string(parameter);
    if (slots_[parameter].bytes != sizeof(std::uint64_t)) details += "+" + std::to_string(offset);
  });
  if (!array.caller.empty()) details += (details.empty() ? "" : ", ") + array.caller;
  return details.empty() ? array.name : array.name + " " + details;
}

bool LaunchedWords::is_carried(const Array& array) const {
  bool is_carried = false;
  visit_pointers(array, [&](std::size_t, std::uint32_t) { is_carried = true; });
  return is_carried;
}

/// Adds the arrays that parameters point into or that were accessed.
void LaunchedWords::add_device_arrays(const std::vector<engine::SpecificationPtr>& specifications,
                                      const std::vector<std::vector<std::span<std::byte>>>& arrays,
                                      const Finished& finished, cod::LaunchView& view) const {
  for (const Array& array : in_order()) {
    const std::uint64_t first = map()->element_of(array.address).value_or(0);
    const std::uint64_t words = (array.bytes + word - 1) / word;
    bool is_used = is_carried(array);
    for (std::uint32_t i = 0; i < specifications.size() && !is_used; ++i) {
      for (std::uint32_t k = 0; k < arrays[i].size() && !is_used; ++k) {
        const cod::GlobalArray& counts = specifications[i]->arrays()[k];
        if (!is_of(counts, cod::Extent::device_words)) continue;
        const auto source = finished.sources[i].find(k);
        is_used = source != finished.sources[i].end()
                      ? source->second->has_counts(first, words)
                      : has_counts(arrays[i][k], cod::size_of(counts.type), first, words);
      }
    }
    if (is_used) view.device_arrays.push_back({name_of(array), first, words});
  }
}

/// Pages that arrays share have elements outside every array.
template <typename Visit>
void LaunchedWords::visit_between_arrays(std::uint64_t elements, Visit visit) const {
  std::vector<std::pair<std::uint64_t, std::uint64_t>> counted;  // first element, number of elements
  for (const Array& each : arrays())
    counted.emplace_back(map()->element_of(each.address).value_or(0), (each.bytes + word - 1) / word);
  std::ranges::sort(counted);
  std::uint64_t next = 0;
  for (const auto& [first, words] : counted) {
    if (next < std::min(first, elements)) visit(next, std::min(first, elements) - next);
    next = std::max(next, first + words);
  }
  if (next < elements) visit(next, elements - next);
}

/// Adds notes on the effects of the scheme.
void LaunchedWords::add_scheme_notes(const cod::Specification& specification,
                                     const std::vector<std::span<std::byte>>& counts,
                                     const cod::LaunchView& view, std::vector<std::string>& notes) const {
  const cod::WordScheme& scheme = counting_->scheme;
  if (scheme.sample > 1)
    notes.push_back(std::string(trust::words_are_estimates) + ": 1 of " + std::to_string(scheme.sample) +
                    " accesses was counted, chosen at random (seed " + std::to_string(scheme.seed) + ")");
  if (scheme.is_plain)
    notes.push_back(std::string(trust::words_are_estimates) +
                    ": without atomic operations, concurrent increments may be lost");
  if (scheme.threshold == 0) return;
  const std::string threshold = std::to_string(scheme.threshold);
  notes.push_back(std::string(trust::words_are_limited) + threshold);
  std::string reached;
  std::size_t arrays = 0;
  const auto add = [&](const cod::MemoryArray& each, bool is_shared) {
    for (std::size_t k = 0; k < counts.size(); ++k) {
      const cod::GlobalArray& array = specification.arrays()[k];
      if (!array.counts_words || is_of(array, cod::Extent::shared_words) != is_shared) continue;
      if (!reaches(counts[k], cod::size_of(array.type), each, scheme.threshold)) continue;
      reached += (reached.empty() ? "" : "; ") + each.name;
      ++arrays;
      return;  // another count of the same array
    }
  };
  for (const cod::MemoryArray& each : view.shared_arrays) add(each, true);
  for (const cod::MemoryArray& each : view.device_arrays) add(each, false);
  if (arrays > 1)
    notes.push_back(std::to_string(arrays) + " arrays reach the threshold of " + threshold +
                    ", a higher one distinguishes them: " + reached);
}

bool LaunchedWords::may_wrap(const cod::Specification& specification, std::size_t index, double milliseconds,
                             std::uint32_t clock_khz) const {
  if (!engine::words_may_wrap(*counting_, specification, index)) return false;
  // A GPU's cache performs one addition per address and cycle, which may combine all lanes of a warp.
  constexpr double counts = 4294967296.0, fastest_khz = 4'000'000, lanes = 32;
  return milliseconds * (clock_khz == 0 ? fastest_khz : lanes * clock_khz) >= counts;
}

engine::LaunchedWords LaunchedWords::launched(std::span<const std::uint64_t> shared_addresses) const {
  engine::LaunchedWords launched;
  std::copy(std::begin(grid_), std::end(grid_), launched.grid);
  std::copy(std::begin(block_), std::end(block_), launched.block);
  launched.parameters = parameters_;
  launched.shared_addresses = shared_addresses;
  launched.shared = {{0, word * shared_words_, 0}};
  for (const Array& array : arrays()) {
    if (map() == nullptr) break;  // no words are counted in them
    launched.device.push_back({array.address, array.bytes, map()->element_of(array.address).value_or(0)});
  }
  return launched;
}

Status LaunchedWords::check_replay() const { return engine::check_replay(*counting_, launched({})); }

std::vector<cod::ElementRun> LaunchedWords::find_again(
    std::span<const std::uint64_t> shared_addresses,
    const std::vector<engine::SpecificationPtr>& specifications, std::uint32_t specification,
    std::uint32_t array) const {
  std::vector<std::vector<std::span<std::byte>>> empty;
  for (const engine::SpecificationPtr& each : specifications) empty.emplace_back(each->arrays().size());
  engine::ReplayedCounts counts =
      engine::fill_counted_words(*counting_, launched(shared_addresses), specifications, empty);
  return std::move(counts.runs[specification][array]);
}

LaunchedWords::Replayed LaunchedWords::replayed(
    const engine::LaunchedWords& launched, const std::vector<engine::SpecificationPtr>& specifications,
    std::span<const std::vector<std::span<std::byte>>> arrays) const {
  const Lock lock(mutex_);
  if (replayed_ && std::ranges::equal(replayed_->shared_addresses, launched.shared_addresses)) {
    engine::add_runs(replayed_->added, specifications, arrays);
    return *replayed_;
  }
  engine::ReplayedCounts counts = engine::fill_counted_words(*counting_, launched, specifications, arrays);
  Replayed found{{launched.shared_addresses.begin(), launched.shared_addresses.end()},
                 counts.status,
                 std::move(counts.outside),
                 {},
                 {}};
  found.runs.resize(specifications.size());
  for (std::uint32_t i = 0; i < counts.runs.size(); ++i) {
    for (auto& [array, runs] : counts.runs[i]) {
      // The runs end before the launch's words do, which own them.
      const auto find = [words = weak_from_this(), addresses = found.shared_addresses, specifications, i,
                         k = array] {
        const std::shared_ptr<const LaunchedWords> own = words.lock();
        LYNXPP_CHECK(own != nullptr, "a launch's runs are used after the launch");
        return own->find_again(addresses, specifications, i, k);
      };
      found.runs[i].emplace(array, std::make_shared<cod::WordRuns>(std::move(runs), find));
    }
  }
  if (found.status && (counts.added || counting_->uses.empty())) {
    if (counts.added) found.added = std::move(*counts.added);
    replayed_ = found;
  }
  return found;
}

LaunchedWords::Finished LaunchedWords::finish(const ProbeLayout& layout, std::span<std::byte> buffer,
                                              const std::vector<engine::SpecificationPtr>& specifications,
                                              const Kept& counters, cod::LaunchView& view) const {
  const std::span<const std::uint64_t> addresses = layout.shared_addresses_of(buffer);
  std::vector<std::vector<std::span<std::byte>>> arrays;
  for (std::size_t i = 0; i < specifications.size(); ++i) arrays.push_back(layout.arrays_of(i, buffer));
  Finished finished;
  const Replayed replayed = this->replayed(launched(addresses), specifications, arrays);
  finished.is_complete = replayed.status.ok();
  finished.sources.resize(specifications.size());
  finished.notes.resize(specifications.size());
  engine::finish_counted_words(counting_->scheme, specifications, arrays);
  for (std::size_t i = 0; i < specifications.size(); ++i) {
    for (const auto& [array, runs] : replayed.runs[i]) finished.sources[i].emplace(array, runs);
    std::vector<std::string>& notes = finished.notes[i];
    if (!replayed.status) {
      notes.push_back("word counts are too low: " + replayed.status.error().diagnostics.front().message +
                      "; the kernel's next launches use only probes");
    }
    std::uint64_t outside = replayed.status ? replayed.outside[i] : 0;
    for (std::uint32_t k = 0; k < arrays[i].size(); ++k) {
      const cod::GlobalArray& counts = specifications[i]->arrays()[k];
      if (!counts.counts_words || !is_of(counts, cod::Extent::device_words)) continue;
      if (const std::optional<std::uint64_t> offset = layout.specifications[i].kept[k]) {
        const std::uint64_t pages = device_words() / CounterPage::counters;
        const std::span<const CounterPage> own =
            counters.pages.subspan(*offset / word / CounterPage::counters, pages);
        auto kept = std::make_shared<KeptWords>(*counters.memory, *offset, own, replayed.runs[i].at(k));
        visit_between_arrays(device_words(), [&](std::uint64_t first, std::uint64_t words) {
          outside += kept->counted(first, words);
        });
        finished.sources[i][k] = std::move(kept);
        continue;
      }
      const std::uint64_t bytes = cod::size_of(counts.type);
      visit_between_arrays(arrays[i][k].size() / bytes, [&](std::uint64_t first, std::uint64_t words) {
        const std::byte* const from = arrays[i][k].data() + first * bytes;
        outside += bytes == sizeof(std::uint64_t) ? sum_of<std::uint64_t>(from, words)
                                                  : sum_of<std::uint32_t>(from, words);
      });
    }
    if (outside != 0)
      notes.push_back(std::to_string(outside) + " accesses outside of all known arrays were not counted");
  }
  add_shared_arrays(addresses, view);
  if (lists_arrays_) place_arrays(addresses, view);
  if (map() != nullptr) add_device_arrays(specifications, arrays, finished, view);
  for (std::size_t i = 0; i < specifications.size(); ++i)
    add_scheme_notes(*specifications[i], arrays[i], view, finished.notes[i]);
  return finished;
}

}  // namespace lynxpp::interposer
