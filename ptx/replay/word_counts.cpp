#include "ptx/replay/word_counts.h"

#include <algorithm>

#include "support/check.h"

namespace lynxpp::ptx {
namespace {

constexpr std::uint64_t word = 4;
/// Rows that are kept one by one in any range; a range of more words than these times `words_per_row` may have
/// more.
constexpr std::uint64_t few = 1024;
/// The time for a row of its own is about that for this many words of the entire range.
constexpr std::uint64_t words_per_row = 32;

/// Appends words to the runs, which end before `first`.
void append(std::vector<CountedRun>& runs, std::uint64_t first, std::uint64_t words, std::uint64_t count) {
  if (words == 0 || count == 0) return;
  if (!runs.empty() && runs.back().count == count && runs.back().first + runs.back().words == first) {
    runs.back().words += words;
  } else {
    runs.push_back({first, words, count});
  }
}

}  // namespace

WordCounts::WordCounts(std::uint64_t address, std::uint64_t bytes)
    : address_(address),
      bytes_(bytes),
      words_((bytes + word - 1) / word),
      rows_left_(std::max(few, words_ / words_per_row)) {}

bool WordCounts::holds(const ReplayedAccess& access) const {
  const NumberRange range = range_of(access.address, access.box);
  return range.least >= address_ && range.greatest + access.bytes <= WideNumber{address_} + bytes_;
}

void WordCounts::add(const ReplayedAccess& access) {
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
  Steps row{word, 1};
  std::vector<Steps> others = dimensions;
  if (!dimensions.empty() && word % dimensions[0].stride == 0) {
    row = dimensions[0];
    others.erase(others.begin());
  }
  std::uint64_t rows = 1;
  for (const Steps& each : others) rows = std::min(rows * each.extent, rows_left_ + 1);
  rows_left_ -= std::min(rows, rows_left_);
  const auto is_of_words = [](const Steps& each) { return each.stride % word == 0; };
  if (rows_left_ == 0 && std::ranges::all_of(dimensions, is_of_words))
    return add_box(base, dimensions, weight);
  add_rows(base, row, others, weight);
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
  if (rows_left_ == 0) return add_box(word * first, {{word, words}}, weight);
  differences_.push_back({first, weight});
  differences_.push_back({first + words, 0 - weight});
}

/// Precondition: strides are multiples of words.
void WordCounts::add_box(std::uint64_t base, const std::vector<Steps>& dimensions, std::uint64_t weight) {
  Strides strides;
  for (const Steps& each : dimensions) strides.push_back(each.stride / word);
  std::vector<std::uint64_t>& all = by_strides_[strides];
  all.resize(words_);
  for (std::uint32_t corner = 0; corner < 1u << dimensions.size(); ++corner) {
    std::uint64_t at = base / word;
    std::uint64_t amount = weight;
    for (std::size_t i = 0; i < dimensions.size(); ++i) {
      if ((corner >> i & 1) == 0) continue;
      at += strides[i] * dimensions[i].extent;
      amount = 0 - amount;
    }
    // Differences past the end have no effect.
    if (at < words_) all[at] += amount;
  }
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

/// Precondition: the differences are combined.
std::vector<CountedRun> WordCounts::runs() const {
  std::vector<CountedRun> runs;
  std::uint64_t count = 0;
  for (std::size_t i = 0; i < differences_.size(); ++i) {
    count += differences_[i].amount;
    const std::uint64_t end = i + 1 < differences_.size() ? differences_[i + 1].at : words_;
    append(runs, differences_[i].at, end - differences_[i].at, count);
  }
  return runs;
}

std::vector<CountedRun> WordCounts::finish() {
  combine();
  std::vector<CountedRun> found = runs();
  differences_.clear();
  if (by_strides_.empty()) return found;
  std::vector<std::uint64_t> counts(words_);
  for (auto& [strides, numbers] : by_strides_) {
    for (const std::uint64_t stride : strides) {
      for (std::size_t i = stride; i < numbers.size(); ++i) numbers[i] += numbers[i - stride];
    }
    for (std::size_t i = 0; i < counts.size(); ++i) counts[i] += numbers[i];
  }
  by_strides_.clear();
  for (const CountedRun& run : found) {
    for (std::uint64_t i = 0; i < run.words; ++i) counts[run.first + i] += run.count;
  }
  found.clear();
  for (std::size_t i = 0; i < counts.size(); ++i) append(found, i, 1, counts[i]);
  return found;
}

}  // namespace lynxpp::ptx
