#include "ptx/replay/word_counts.h"

#include <algorithm>

#include "support/check.h"

namespace lynxpp::ptx {
namespace {

constexpr std::uint64_t word = 4;
/// Boxes with fewer elements are added element by element.
constexpr std::uint64_t few = 64;

}  // namespace

WordCounts::WordCounts(std::uint64_t address, std::uint64_t bytes)
    : address_(address), bytes_(bytes), whole_((bytes + word - 1) / word) {}

bool WordCounts::holds(const ReplayedAccess& access) const {
  const NumberRange range = range_of(access.address, access.box);
  return range.least >= address_ && range.greatest + access.bytes <= WideNumber{address_} + bytes_;
}

void WordCounts::add(const ReplayedAccess& access) {
  LYNXPP_CHECK(holds(access), "the access leaves the counted range");
  const std::uint64_t unit = access.bytes < word ? 1 : word;
  std::vector<Steps> dimensions;
  std::uint64_t weight = 1;
  const auto base = static_cast<std::uint64_t>(range_of(access.address, access.box).least) - address_;
  for (std::size_t i = 0; i < thread_dimensions; ++i) {
    const std::int64_t slope = access.address.coefficients[i];
    const std::uint64_t extent = access.box.extent(i);
    if (slope == 0) weight *= extent;
    if (slope != 0 && extent > 1)
      dimensions.push_back({static_cast<std::uint64_t>(slope < 0 ? -slope : slope) / unit, extent});
  }
  if (unit == word && access.bytes > word) dimensions.push_back({1, access.bytes / word});
  add_box(base / unit, merge(std::move(dimensions)), weight, unit);
}

/// Merges a dimension that continues where another ends into that dimension.
std::vector<WordCounts::Steps> WordCounts::merge(std::vector<Steps> dimensions) {
  std::ranges::sort(dimensions, {}, &Steps::stride);
  std::vector<Steps> merged;
  for (const Steps& each : dimensions) {
    if (!merged.empty() && each.stride == merged.back().stride * merged.back().extent) {
      merged.back().extent *= each.extent;
    } else {
      merged.push_back(each);
    }
  }
  return merged;
}

void WordCounts::add_box(std::uint64_t base, const std::vector<Steps>& dimensions, std::uint64_t weight,
                         std::uint64_t unit) {
  std::uint64_t elements = 1;
  for (const Steps& each : dimensions) elements = std::min(elements * each.extent, std::uint64_t{1} << 32);
  if (elements <= few) return add_each(base, dimensions, weight, unit);
  Strides strides;
  for (const Steps& each : dimensions) strides.push_back(each.stride);
  std::vector<std::uint64_t>& differences = (unit == 1 ? by_bytes_ : by_words_)[strides];
  differences.resize(unit == 1 ? word * whole_.size() : whole_.size());
  for (std::uint32_t corner = 0; corner < 1u << dimensions.size(); ++corner) {
    std::uint64_t at = base;
    std::uint64_t amount = weight;
    for (std::size_t i = 0; i < dimensions.size(); ++i) {
      if ((corner >> i & 1) == 0) continue;
      at += dimensions[i].stride * dimensions[i].extent;
      amount = 0 - amount;
    }
    // Differences past the end have no effect.
    if (at < differences.size()) differences[at] += amount;
  }
}

void WordCounts::add_each(std::uint64_t base, const std::vector<Steps>& dimensions, std::uint64_t weight,
                          std::uint64_t unit) {
  std::vector<std::uint64_t> offsets{base};
  for (const Steps& each : dimensions) {
    const std::size_t known = offsets.size();
    for (std::uint64_t step = 1; step < each.extent; ++step) {
      for (std::size_t i = 0; i < known; ++i) offsets.push_back(offsets[i] + step * each.stride);
    }
  }
  for (const std::uint64_t each : offsets) whole_[each * unit / word] += weight;
}

std::vector<std::uint64_t> WordCounts::finish() {
  const auto sum_up = [](const Strides& strides, std::vector<std::uint64_t>& numbers) {
    for (const std::uint64_t stride : strides) {
      for (std::size_t i = stride; i < numbers.size(); ++i) numbers[i] += numbers[i - stride];
    }
  };
  for (auto& [strides, numbers] : by_words_) {
    sum_up(strides, numbers);
    for (std::size_t i = 0; i < whole_.size(); ++i) whole_[i] += numbers[i];
  }
  for (auto& [strides, numbers] : by_bytes_) {
    sum_up(strides, numbers);
    for (std::size_t i = 0; i < numbers.size(); ++i) whole_[i / word] += numbers[i];
  }
  by_words_.clear();
  by_bytes_.clear();
  return std::move(whole_);
}

}  // namespace lynxpp::ptx
