#include "ptx/replay/word_counts.h"

#include <algorithm>
#include <numeric>
#include <span>

#include "support/check.h"

namespace lynxpp::ptx {
namespace {

constexpr std::uint64_t word = 4;
/// Boxes are divided into at least this many rows, and at most.
constexpr std::uint64_t few = 1024;
constexpr std::uint64_t many = std::uint64_t{1} << 24;
/// A row takes about the time of this many words in differences of all words.
constexpr std::uint64_t words_per_row = 32;
/// Numbers in all differences of all words: 4 GiB.
constexpr std::uint64_t most_numbers = std::uint64_t{1} << 29;

}  // namespace

WordCounts::WordCounts(std::uint64_t address, std::uint64_t bytes)
    : address_(address), bytes_(bytes), words_((bytes + word - 1) / word), first_(words_) {}

bool WordCounts::holds(const ReplayedAccess& access) const {
  const NumberRange range = range_of(access.address, access.box);
  return range.least >= address_ && range.greatest + access.bytes <= WideNumber{address_} + bytes_;
}

void WordCounts::add(const ReplayedAccess& access) {
  LYNXPP_CHECK(holds(access), "the access leaves the counted range");
  Dimensions dimensions;
  std::uint64_t weight = 1;
  auto base = static_cast<std::uint64_t>(range_of(access.address, access.box).least) - address_;
  for (std::size_t i = 0; i < thread_dimensions; ++i) {
    const std::int64_t slope = access.address.coefficients[i];
    const std::uint64_t extent = access.box.extent(i);
    if (slope == 0) weight *= extent;
    if (slope != 0 && extent > 1)
      dimensions.push_back({static_cast<std::uint64_t>(slope < 0 ? -slope : slope), extent});
  }
  if (access.bytes > word) dimensions.push_back({word, (access.bytes + word - 1) / word});
  dimensions = merge(std::move(dimensions));
  Steps row{word, 1};
  if (!dimensions.empty() && word % dimensions[0].stride == 0) {
    row = dimensions[0];
    dimensions.erase(dimensions.begin());
  }
  add_to_shapes(base, row, dimensions, weight);
}

/// Divides the box until the strides of its shape are multiples of words.
void WordCounts::add_to_shapes(std::uint64_t base, const Steps& row, const Dimensions& shape,
                               std::uint64_t weight) {
  const auto is_of_words = [](const Steps& each) { return each.stride % word == 0; };
  const auto divided = std::ranges::find_if_not(shape, is_of_words);
  if (divided == shape.end()) return add_row(by_shape_[shape], base, row, weight);
  const std::uint64_t parts = word / std::gcd(divided->stride, word);
  for (std::uint64_t part = 0; part < std::min(parts, divided->extent); ++part) {
    Dimensions rest = shape;
    Steps& steps = rest[static_cast<std::size_t>(divided - shape.begin())];
    steps = {divided->stride * parts, (divided->extent - part + parts - 1) / parts};
    if (steps.extent == 1) rest.erase(rest.begin() + (divided - shape.begin()));
    add_to_shapes(base + part * divided->stride, row, rest, weight);
  }
}

/// Merges a dimension that continues where another ends into that dimension.
WordCounts::Dimensions WordCounts::merge(Dimensions dimensions) {
  std::ranges::sort(dimensions, {}, &Steps::stride);
  Dimensions merged;
  for (const Steps& each : dimensions) {
    if (!merged.empty() && each.stride == merged.back().stride * merged.back().extent) {
      merged.back().extent *= each.extent;
    } else {
      merged.push_back(each);
    }
  }
  return merged;
}

// ---- rows

/// Precondition: the stride is 1, 2 or 4 bytes.
void WordCounts::add_row(Differences& to, std::uint64_t base, const Steps& row, std::uint64_t weight) {
  const std::uint64_t per_word = word / row.stride;
  const std::uint64_t skipped = base % word / row.stride;  // in the first word
  const std::uint64_t end = skipped + row.extent;
  const std::uint64_t first = base / word;
  if (end <= per_word) return to.add(first, 1, weight * row.extent);
  const std::uint64_t begin_of_whole = skipped == 0 ? 0 : 1;
  const std::uint64_t end_of_whole = end / per_word;
  if (skipped != 0) to.add(first, 1, weight * (per_word - skipped));
  if (end_of_whole != begin_of_whole)
    to.add(first + begin_of_whole, end_of_whole - begin_of_whole, weight * per_word);
  if (end % per_word != 0) to.add(first + end_of_whole, 1, weight * (end % per_word));
}

void WordCounts::Differences::add(std::uint64_t first, std::uint64_t words, std::uint64_t weight) {
  all_.push_back({first, weight});
  all_.push_back({first + words, 0 - weight});
  if (all_.size() < combined_at_) return;
  combine();
  combined_at_ = std::max(combined_at_, 2 * all_.size());
}

void WordCounts::Differences::combine() {
  std::ranges::sort(all_, {}, &Difference::at);
  std::size_t kept = 0;
  for (std::size_t i = 0; i < all_.size();) {
    Difference sum{all_[i].at, 0};
    for (; i < all_.size() && all_[i].at == sum.at; ++i) sum.amount += all_[i].amount;
    if (sum.amount != 0) all_[kept++] = sum;
  }
  all_.resize(kept);
}

template <typename Visit>
void WordCounts::Differences::visit_runs(Visit visit) const {
  std::uint64_t count = 0;
  for (std::size_t i = 0; i + 1 < all_.size(); ++i) {
    count += all_[i].amount;
    if (count != 0) visit(all_[i].at, all_[i + 1].at - all_[i].at, count);
  }
}

// ---- boxes

/// Divides a box of words into rows if they are few, otherwise adds it to the differences of all words.
/// Returns false if that takes too much memory.
bool WordCounts::add_box(std::uint64_t first, const Dimensions& dimensions, std::uint64_t weight) {
  extend_hull(first, dimensions);
  const bool has_row = dimensions[0].stride == word;
  const std::span<const Steps> shape = std::span(dimensions).subspan(has_row ? 1 : 0);
  std::uint64_t rows = 1;
  for (const Steps& each : shape) rows = std::min(rows * each.extent, many + 1);
  number_of_rows_ = std::min(number_of_rows_ + rows, many + 1);
  if (size_ != 0 || number_of_rows_ > std::clamp((end_ - first_) / words_per_row, few, many)) {
    if (!make_room()) return false;
    add_corners(first, dimensions, weight);
    return true;
  }
  std::vector<std::uint64_t> steps(shape.size());
  while (true) {
    std::uint64_t at = first;
    for (std::size_t i = 0; i < shape.size(); ++i) at += steps[i] * shape[i].stride / word;
    rows_.add(at, has_row ? dimensions[0].extent : 1, weight);
    std::size_t i = 0;
    while (i < shape.size() && ++steps[i] == shape[i].extent) steps[i++] = 0;
    if (i == shape.size()) return true;
  }
}

void WordCounts::extend_hull(std::uint64_t first, const Dimensions& dimensions) {
  std::uint64_t end = first + 1;
  for (const Steps& each : dimensions) end += each.stride * each.extent / word;
  first_ = std::min(first_, first);
  end_ = std::max(end_, std::min(end, words_));
}

/// Makes `by_strides_` cover the hull. Returns false if that takes too much memory.
bool WordCounts::make_room() {
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

/// Adds the corners of a box to the differences of all words.
void WordCounts::add_corners(std::uint64_t first, const Dimensions& dimensions, std::uint64_t weight) {
  Strides strides;
  for (const Steps& each : dimensions) strides.push_back(each.stride / word);
  std::vector<std::uint64_t>& all = by_strides_[strides];
  all.resize(size_);
  for (std::uint32_t corner = 0; corner < 1u << dimensions.size(); ++corner) {
    std::uint64_t at = first - begin_;
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

/// Returns the counts of the `size_` words from `begin_` on.
std::vector<std::uint64_t> WordCounts::sums() {
  std::vector<std::uint64_t> counts(size_);
  for (auto& [strides, numbers] : by_strides_) {
    for (const std::uint64_t stride : strides) {
      for (std::size_t i = stride; i < numbers.size(); ++i) numbers[i] += numbers[i - stride];
    }
    for (std::size_t i = 0; i < counts.size(); ++i) counts[i] += numbers[i];
    numbers = {};
  }
  return counts;
}

bool WordCounts::finish(const std::function<void(std::uint64_t, std::uint64_t, std::uint64_t)>& visit) {
  bool is_complete = true;
  while (!by_shape_.empty()) {
    auto shape_and_rows = by_shape_.extract(by_shape_.begin());
    const Dimensions& shape = shape_and_rows.key();
    Differences& rows = shape_and_rows.mapped();
    rows.combine();
    rows.visit_runs([&](std::uint64_t first, std::uint64_t words, std::uint64_t count) {
      Dimensions dimensions{{word, words}};
      dimensions.insert(dimensions.end(), shape.begin(), shape.end());
      dimensions = merge(std::move(dimensions));
      if (dimensions.size() > shape.size()) {
        is_complete = is_complete && add_box(first, dimensions, count);
      } else {  // the row has become longer, and may be adjacent to one of a simpler shape
        const std::uint64_t longer = dimensions[0].extent;
        dimensions.erase(dimensions.begin());
        by_shape_[dimensions].add(first, longer, count);
      }
    });
  }
  if (!is_complete) return false;
  rows_.combine();
  if (size_ == 0) {
    rows_.visit_runs(visit);
    return true;
  }
  rows_.visit_runs([&](std::uint64_t first, std::uint64_t words, std::uint64_t count) {
    add_corners(first, {{word, words}}, count);
  });
  const std::vector<std::uint64_t> counts = sums();
  for (std::uint64_t first = 0, end = 0; first < counts.size(); first = end) {
    while (end < counts.size() && counts[end] == counts[first]) ++end;
    if (counts[first] != 0) visit(begin_ + first, end - first, counts[first]);
  }
  return true;
}

}  // namespace lynxpp::ptx
