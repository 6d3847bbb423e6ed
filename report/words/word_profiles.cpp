#include "report/words/word_profiles.h"

#include <algorithm>
#include <charconv>
#include <numeric>
#include <utility>

#include "report/kernel_name.h"
#include "report/number.h"
#include "support/text.h"

namespace lynxpp::report {
namespace {

using models::ArrayProfile;
using models::LaunchProfile;
using Space = ArrayProfile::Space;

std::optional<Space> space_of(const LaunchRecord& record) {
  if (record.spec.starts_with("shared_memory_profile")) return Space::shared;
  if (record.spec.starts_with("device_memory_profile")) return Space::device;
  return std::nullopt;
}

/// Maps "#1 step(int, float*)+0x60" to "#1 step+0x60", without the function's parameter types.
std::string short_array_name(const std::string& label) {
  const std::size_t open = label.find('('), close = label.rfind(')');
  if (open == std::string::npos || close == std::string::npos || close < open) return label;
  return label.substr(0, open) + label.substr(close + 1);
}

/// Rows that emitWords() emitted under one name.
class WordTable {
 public:
  explicit WordTable(const LaunchRecord& record) : record_(record) {
    for (const ResultValue& each : record.results) {
      if (!each.table.empty() && !each.labels.empty() && each.name == each.table + ".words") words_ = &each;
    }
  }

  std::size_t size() const { return words_ == nullptr ? 0 : words_->labels.size(); }

  std::string name(std::size_t row) const { return short_array_name(words_->labels[row]); }

  ArrayProfile array(std::size_t row, Space space) const {
    ArrayProfile array;
    array.name = name(row);
    array.space = space;
    array.words = count(".words", row);
    array.accesses = count(".accesses", row);
    array.least = count(".least", row);
    array.greatest = count(".greatest", row);
    array.never = std::min(count(".never", row), array.words);
    array.once = count(".once", row);
    array.heat = counts("_heat", row);
    array.distribution = counts("_distribution", row);
    const std::vector<std::uint64_t> layout = counts("_layout", row);
    if (layout.size() == 4 && array.accesses != 0)
      array.layout = models::WordLayout{layout[0], layout[1], layout[2], layout[3]};
    if (find(".ranges") != nullptr)
      array.live = models::LiveRanges{count(".ranges", row), count(".range_accesses", row),
                                      count(".reused_ranges", row)};
    return array;
  }

 private:
  const ResultValue* find(const std::string& end) const {
    const std::string name = words_->table + end;
    const auto found = std::ranges::find(record_.results, name, &ResultValue::name);
    return found == record_.results.end() ? nullptr : &*found;
  }
  static std::uint64_t count_at(const ResultValue& result, std::size_t index) {
    if (index >= size_of(result.values)) return 0;
    const Number number = number_at(result.values, index);
    const double real = number.as_double();
    if (number.is_real) return real > 0 ? static_cast<std::uint64_t>(real) : 0;
    return number.integer < 0 ? 0 : static_cast<std::uint64_t>(number.integer);
  }
  std::uint64_t count(const std::string& end, std::size_t row) const {
    const ResultValue* const result = find(end);
    return result == nullptr ? 0 : count_at(*result, row);
  }
  std::vector<std::uint64_t> counts(const std::string& end, std::size_t row) const {
    const ResultValue* const result = find(end);
    std::vector<std::uint64_t> counts;
    if (result == nullptr || result->extents.size() != 2) return counts;
    for (std::size_t i = 0; i < result->extents[1]; ++i)
      counts.push_back(count_at(*result, row * result->extents[1] + i));
    return counts;
  }

  const LaunchRecord& record_;
  const ResultValue* words_ = nullptr;
};

std::uint32_t narrow(std::uint64_t number) {
  return static_cast<std::uint32_t>(std::min<std::uint64_t>(number, 0x7fffffff));
}

LaunchProfile::Resources resources_of(const LaunchResources& resources, std::uint32_t threads) {
  constexpr std::uint32_t warp = 32;
  const LaunchResources::Multiprocessor& limits = resources.multiprocessor;
  LaunchProfile::Resources profiled;
  profiled.machine.residency = {narrow(limits.threads), narrow(limits.blocks), narrow(limits.threads) / warp,
                                1024};
  // Register allocation of devices since compute capability 5.0.
  profiled.machine.registers = {narrow(limits.registers), 4, 256, false, 1};
  profiled.machine.shared.bytes = narrow(limits.shared_bytes);
  profiled.machine.shared.unit = std::max(narrow(limits.shared_unit), 1u);
  profiled.machine.shared.of_each_block = narrow(limits.reserved_shared_bytes);
  profiled.needs = {threads, limits.registers == 0 ? 0 : narrow(resources.registers),
                    narrow(resources.static_shared_bytes + resources.dynamic_shared_bytes)};
  profiled.most_shared_bytes = limits.block_shared_bytes;
  return profiled;
}

/// Returns the limit of counts, from the launch's notes, if the scheme has one.
std::optional<std::uint64_t> limit_of(const std::vector<std::string>& notes) {
  constexpr std::string_view start = "word counts stop at ";
  for (const std::string& note : notes) {
    std::uint64_t limit = 0;
    const char* const end = note.data() + note.size();
    const bool is_limit =
        note.starts_with(start) && std::from_chars(note.data() + start.size(), end, limit).ec == std::errc();
    if (is_limit) return limit;
  }
  return std::nullopt;
}

std::uint64_t accesses_of(const LaunchProfile& profile) {
  return std::accumulate(profile.arrays.begin(), profile.arrays.end(), std::uint64_t{0},
                         [](std::uint64_t sum, const ArrayProfile& array) { return sum + array.accesses; });
}

}  // namespace

void WordProfiles::add(const LaunchRecord& record) {
  const std::optional<Space> space = space_of(record);
  if (!space) return;
  auto kernel = std::ranges::find_if(kernels_, [&](const Kernel& each) {
    return each.kernel == record.kernel && each.device == record.device;
  });
  if (kernel == kernels_.end()) kernel = kernels_.insert(kernel, Kernel{record.kernel, record.device, {}});
  if (!kernel->launches.contains(record.launch) && kernel->launches.size() >= kept_launches) return;
  LaunchProfile& profile = kernel->launches[record.launch];
  profile.blocks = std::uint64_t{record.grid[0]} * record.grid[1] * record.grid[2];
  profile.threads = record.block[0] * record.block[1] * record.block[2];
  bool& is_known = *space == Space::shared ? profile.knows_shared : profile.knows_device;
  if (std::exchange(is_known, true)) return;  // of another run
  if (record.resources) profile.resources = resources_of(*record.resources, profile.threads);
  profile.count_limit = limit_of(record.notes).value_or(profile.count_limit);
  const WordTable table(record);
  for (std::size_t row = 0; row < table.size(); ++row) profile.arrays.push_back(table.array(row, *space));
}

std::vector<LaunchAdvice> WordProfiles::advice() const {
  std::vector<LaunchAdvice> all;
  for (const Kernel& kernel : kernels_) {
    const auto most = std::ranges::max_element(kernel.launches, {}, [](const auto& entry) {
      const LaunchProfile& profile = entry.second;
      return std::pair(profile.knows_shared && profile.knows_device, accesses_of(profile));
    });
    if (most == kernel.launches.end()) continue;
    LaunchAdvice& advice = all.emplace_back();
    advice.kernel = kernel.kernel;
    advice.device = kernel.device;
    advice.launch = most->first;
    advice.launches = kernel.launches.size();
    advice.profile = most->second;
    if (advice.profile.knows_shared && advice.profile.knows_device)
      advice.staging = models::staging_advice(advice.profile);
    advice.findings = models::findings_of(advice.profile);
  }
  return all;
}

}  // namespace lynxpp::report
