#include "ptx/replay/word_counts.h"

#include <algorithm>
#include <numeric>

#include "support/check.h"

namespace lynxpp::ptx {
namespace {

constexpr std::uint64_t word = 4;
/// The least number of rows that are kept one by one, and the greatest.
constexpr std::uint64_t few = 1024;
constexpr std::uint64_t many = std::uint64_t{1} << 24;
/// A row takes about the time of this many words in differences of all words.
constexpr std::uint64_t words_per_row = 32;
/// Numbers in all differences of all words: 4 GiB.
constexpr std::uint64_t most_numbers = std::uint64_t{1} << 29;

}  // namespace

WordCounts::WordCounts(std::uint64_t address, std::uint64_t bytes)
    : address_(address),
      bytes_(bytes),
      words_((bytes + word - 1) / word),
      combined_at_(few),
      first_(words_) {}

bool WordCounts::holds(const ReplayedAccess& access) const {
  const NumberRange range = range_of(access.address, access.box);
  return range.least >= address_ && range.greatest + access.bytes <= WideNumber{address_} + bytes_;
}

bool WordCounts::add(const ReplayedAccess& access) {
  LYNXPP_CHECK(holds(access), "the access leaves the counted range");
  std::vector<Steps> dimensions;
  std::uint64_t weight = 1;
  const auto base = static_cast<std::uint64_t>(range_of(access.address, access.box).least) - address_;
  for (std::size_t i = 0; i < thread_dimensions; ++i) {
    const std::int64_t slope = access.address.coefficients[i];
    const std::uint64_t extent = access.box.extent(i);
    if (slope == 0) weight *= extent;
    if (slope != 0 && extent > 1)
      dimensions.push_back({static_cast<std::uint64_t>(slope < 0 ? -slope : slope), extent});
  }
  if (access.bytes > word) dimensions.push_back({word, access.bytes / word});
  dimensions = merge(std::move(dimensions));
  extend_hull(base, dimensions);
  Steps row{word, 1};
  std::vector<Steps> others = dimensions;
  if (!dimensions.empty() && word % dimensions[0].stride == 0) {
    row = dimensions[0];
    others.erase(others.begin());
  }
  std::uint64_t rows = 1;
  for (const Steps& each : others) rows = std::min(rows * each.extent, many + 1);
  rows_ = std::min(rows_ + rows, many + 1);
  if (!is_time_for_boxes()) {
    add_rows(base, row, others, weight);
    return true;
  }
  if (!make_room_for_boxes()) return false;
  add_boxes(base, std::move(dimensions), weight);
  return true;
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

void WordCounts::extend_hull(std::uint64_t base, const std::vector<Steps>& dimensions) {
  std::uint64_t end = base + word;
  // Dividing a dimension (add_boxes) adds up to three of its steps.
  for (const Steps& each : dimensions) end += each.stride * (each.extent + word - 1);
  first_ = std::min(first_, base / word);
  end_ = std::max(end_, std::min(end / word + 1, words_));
}

// ---- rows

/// Adds a row at each address of the other dimensions.
void WordCounts::add_rows(std::uint64_t base, const Steps& row, const std::vector<Steps>& others,
                          std::uint64_t weight) {
  std::vector<std::uint64_t> steps(others.size());
  while (true) {
    std::uint64_t at = base;
    for (std::size_t i = 0; i < others.size(); ++i) at += steps[i] * others[i].stride;
    add_row(at, row, weight);
    std::size_t i = 0;
    while (i < others.size() && ++steps[i] == others[i].extent) steps[i++] = 0;
    if (i == others.size()) return;
  }
}

/// Precondition: the stride is 1, 2 or 4 bytes.
void WordCounts::add_row(std::uint64_t base, const Steps& row, std::uint64_t weight) {
  const std::uint64_t per_word = word / row.stride;
  const std::uint64_t skipped = base % word / row.stride;  // in the first word
  const std::uint64_t end = skipped + row.extent;
  const std::uint64_t first = base / word;
  if (end <= per_word) return add_run(first, 1, weight * row.extent);
  const std::uint64_t begin_of_whole = skipped == 0 ? 0 : 1;
  const std::uint64_t end_of_whole = end / per_word;
  if (skipped != 0) add_run(first, 1, weight * (per_word - skipped));
  if (end_of_whole != begin_of_whole)
    add_run(first + begin_of_whole, end_of_whole - begin_of_whole, weight * per_word);
  if (end % per_word != 0) add_run(first + end_of_whole, 1, weight * (end % per_word));
}

void WordCounts::add_run(std::uint64_t first, std::uint64_t words, std::uint64_t weight) {
  differences_.push_back({first, weight});
  differences_.push_back({first + words, 0 - weight});
  if (differences_.size() < combined_at_) return;
  combine();
  combined_at_ = std::max(few, 2 * differences_.size());
}

/// Sorts the differences and combines those of one word.
void WordCounts::combine() {
  std::ranges::sort(differences_, {}, &Difference::at);
  std::size_t kept = 0;
  for (std::size_t i = 0; i < differences_.size();) {
    Difference sum{differences_[i].at, 0};
    for (; i < differences_.size() && differences_[i].at == sum.at; ++i) sum.amount += differences_[i].amount;
    if (sum.amount != 0) differences_[kept++] = sum;
  }
  differences_.resize(kept);
}

// ---- boxes

bool WordCounts::is_time_for_boxes() const {
  return size_ != 0 || rows_ > std::clamp((end_ - first_) / words_per_row, few, many);
}

/// Makes `by_strides_` cover the hull. Returns false if that takes too much memory.
bool WordCounts::make_room_for_boxes() {
  const bool is_first = size_ == 0;
  const std::uint64_t old_end = begin_ + size_, more = size_ / 2;
  const std::uint64_t begin = is_first          ? first_
                              : first_ < begin_ ? std::min(first_, begin_ - std::min(begin_, more))
                                                : begin_;
  const std::uint64_t end = is_first         ? end_
                            : end_ > old_end ? std::max(end_, std::min(old_end + more, words_))
                                             : old_end;
  if ((by_strides_.size() + 2) * (end - begin) > most_numbers) return false;
  if (begin == begin_ && end == old_end) return true;
  for (auto& [strides, numbers] : by_strides_) {
    std::vector<std::uint64_t> moved(end - begin);
    std::ranges::copy(numbers, moved.begin() + static_cast<std::ptrdiff_t>(begin_ - begin));
    numbers = std::move(moved);
  }
  begin_ = begin;
  size_ = end - begin;
  return true;
}

/// Divides boxes until all strides are multiples of words.
void WordCounts::add_boxes(std::uint64_t base, std::vector<Steps> dimensions, std::uint64_t weight) {
  const auto divided =
      std::ranges::find_if(dimensions, [](const Steps& each) { return each.stride % word != 0; });
  if (divided == dimensions.end()) return add_box(base, dimensions, weight);
  const Steps whole = *divided;
  const std::uint64_t parts = word / std::gcd(whole.stride, word);
  for (std::uint64_t part = 0; part < std::min(parts, whole.extent); ++part) {
    *divided = {whole.stride * parts, (whole.extent - part + parts - 1) / parts};
    add_boxes(base + part * whole.stride, dimensions, weight);
  }
}

/// Precondition: strides are multiples of words.
void WordCounts::add_box(std::uint64_t base, const std::vector<Steps>& dimensions, std::uint64_t weight) {
  Strides strides;
  for (const Steps& each : dimensions) strides.push_back(each.stride / word);
  std::vector<std::uint64_t>& all = by_strides_[strides];
  all.resize(size_);
  for (std::uint32_t corner = 0; corner < 1u << dimensions.size(); ++corner) {
    std::uint64_t at = base / word - begin_;
    std::uint64_t amount = weight;
    for (std::size_t i = 0; i < dimensions.size(); ++i) {
      if ((corner >> i & 1) == 0) continue;
      at += strides[i] * dimensions[i].extent;
      amount = 0 - amount;
    }
    // Only at the range's end does a box end outside the hull; differences there have no effect.
    if (at < size_) all[at] += amount;
  }
}

/// Returns the counts of the `size_` words from `begin_` on, and clears `by_strides_`.
std::vector<std::uint64_t> WordCounts::sums_of_boxes() {
  std::vector<std::uint64_t> counts(size_);
  for (auto& [strides, numbers] : by_strides_) {
    for (const std::uint64_t stride : strides) {
      for (std::size_t i = stride; i < numbers.size(); ++i) numbers[i] += numbers[i - stride];
    }
    for (std::size_t i = 0; i < counts.size(); ++i) counts[i] += numbers[i];
    numbers = {};
  }
  by_strides_.clear();
  return counts;
}

void WordCounts::finish(const std::function<void(std::uint64_t, std::uint64_t, std::uint64_t)>& visit) {
  combine();
  if (size_ != 0) {
    std::vector<std::uint64_t>& all = by_strides_[{1}];
    all.resize(size_);
    for (const Difference& each : differences_) {
      if (each.at - begin_ < size_) all[each.at - begin_] += each.amount;
    }
    differences_.clear();
    const std::vector<std::uint64_t> counts = sums_of_boxes();
    for (std::uint64_t first = 0, end = 0; first < counts.size(); first = end) {
      while (end < counts.size() && counts[end] == counts[first]) ++end;
      if (counts[first] != 0) visit(begin_ + first, end - first, counts[first]);
    }
    return;
  }
  std::uint64_t count = 0;
  for (std::size_t i = 0; i < differences_.size(); ++i) {
    count += differences_[i].amount;
    const std::uint64_t end = i + 1 < differences_.size() ? differences_[i + 1].at : words_;
    if (count != 0) visit(differences_[i].at, end - differences_[i].at, count);
  }
  differences_.clear();
}

}  // namespace lynxpp::ptx
