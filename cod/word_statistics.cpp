#include "cod/word_statistics.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <numeric>
#include <utility>

namespace lynxpp::cod {
namespace {

/// Words per sector of device memory.
constexpr std::uint64_t sector_words = 8;
/// More runs than these are released: 48 MiB.
constexpr std::size_t most_kept_runs = std::size_t{1} << 21;

/// Calls visit(first, words, count) for runs of equal counts, which cover [first, first + words) in order.
/// Large arrays mostly consist of long runs: words that are never accessed, or all accessed equally often.
template <typename Number, typename Visit>
void visit_runs(const std::byte* data, std::uint64_t first, std::uint64_t words, Visit visit) {
  constexpr std::uint64_t chunk = 64;
  const auto at = [&](std::uint64_t index) {
    Number number = 0;
    std::memcpy(&number, data + index * sizeof number, sizeof number);
    return number;
  };
  const std::uint64_t last = first + words;
  for (std::uint64_t begin = first, end = first; begin < last; begin = end) {
    const Number count = at(begin);
    const auto is_chunk = [&] {
      Number different = 0;
      for (std::uint64_t i = 0; i < chunk; ++i) different |= at(end + i) ^ count;
      return different == 0;
    };
    ++end;
    if (end < last && at(end) == count) {
      while (end + chunk <= last && is_chunk()) end += chunk;
      while (end < last && at(end) == count) ++end;
    }
    visit(begin, end - begin, std::uint64_t{count});
  }
}

bool ends_before(const ElementRun& run, std::uint64_t at) { return run.first + run.elements <= at; }

/// Does the same for known runs.
template <typename Visit>
void visit_runs(std::span<const ElementRun> runs, std::uint64_t first, std::uint64_t words, Visit visit) {
  const std::uint64_t last = first + words;
  auto run = std::lower_bound(runs.begin(), runs.end(), first, ends_before);
  for (std::uint64_t at = first; at < last;) {
    const bool is_counted = run != runs.end() && run->first <= at;
    const std::uint64_t end = is_counted ? run->first + run->elements : run != runs.end() ? run->first : last;
    visit(at, std::min(end, last) - at, is_counted ? run->value : 0);
    at = end;
    if (is_counted) ++run;
  }
}

/// `visit_known(first, words, visit)` visits the words of the array that have counts.
template <typename VisitKnown>
WordStatistics summarise(const MemoryArray& array, std::uint64_t counted, VisitKnown visit_known) {
  WordSummary summary(array);
  const std::uint64_t end = std::min(array.first + array.words, counted);
  const std::uint64_t known = end > array.first ? end - array.first : 0;
  visit_known(array.first, known, [&](std::uint64_t first, std::uint64_t words, std::uint64_t count) {
    summary.add(first - array.first, words, count);
  });
  if (known < array.words) summary.add(known, array.words - known, 0);
  return summary.finish();
}

}  // namespace

WordSummary::WordSummary(const MemoryArray& array) : array_(array) {
  all_.words = array.words;
  all_.least = array.words == 0 ? 0 : ~std::uint64_t{0};
  all_.first = array.words;
  all_.stride = 0;
}

void WordSummary::add(std::uint64_t first, std::uint64_t words, std::uint64_t count) {
  all_.least = std::min(all_.least, count);
  all_.greatest = std::max(all_.greatest, count);
  if (count == 0) {
    all_.never += words;
    return end_run();
  }
  add_accessed(first, words);
  all_.accesses += count * words;
  all_.once += count == 1 ? words : 0;
  add_heat(first, words, count);
  const auto bin = static_cast<std::uint64_t>(std::bit_width(count));
  (bin > WordStatistics::bins ? all_.beyond : all_.words_by_count[bin - 1]) += words;
}

void WordSummary::add_accessed(std::uint64_t first, std::uint64_t words) {
  run_ += words;
  all_.first = std::min(all_.first, first);
  // Once the divisor is 1 it stays 1.
  if (all_.stride != 1) all_.stride = words > 1 ? 1 : std::gcd(all_.stride, first - all_.first);
  const std::uint64_t begin = (array_.first + first) / sector_words;
  const std::uint64_t end = (array_.first + first + words - 1) / sector_words;
  all_.sectors += end - begin + (begin == sector_ ? 0 : 1);
  sector_ = end;
}

void WordSummary::add(std::uint64_t first, const CounterPage& page) {
  constexpr std::uint64_t size = CounterPage::counters;
  if (page.zeros == size) return add(first, size, 0);
  all_.least = std::min<std::uint64_t>(all_.least, page.least);
  all_.greatest = std::max<std::uint64_t>(all_.greatest, page.greatest);
  all_.never += page.zeros;
  all_.once += page.ones;
  all_.accesses += page.sum;
  add_heat(first, 1, page.sum);
  for (std::size_t bin = 0; bin < page.by_bits.size(); ++bin) all_.words_by_count[bin] += page.by_bits[bin];
  all_.sectors += page.sectors;
  sector_ = ~std::uint64_t{0};
  all_.first = std::min(all_.first, first + page.first);
  all_.stride = std::gcd(std::gcd(all_.stride, first + page.first - all_.first), page.stride);
  run_ += page.leading;
  if (page.zeros == 0) return;
  end_run();
  all_.aligned_sectors += page.inner_sectors;
  run_ = page.trailing;
}

void WordSummary::add_heat(std::uint64_t first, std::uint64_t words, std::uint64_t count) {
  for (std::uint64_t word = first; word < first + words;) {
    for (; word >= cell_end_; ++cell_)
      cell_end_ = ((cell_ + 1) * array_.words + WordStatistics::cells - 1) / WordStatistics::cells;
    const std::uint64_t end = std::min(cell_end_, first + words);
    all_.heat[cell_ - 1] += count * (end - word);
    word = end;
  }
}

void WordSummary::end_run() {
  all_.aligned_sectors += (std::exchange(run_, 0) + sector_words - 1) / sector_words;
}

WordStatistics WordSummary::finish() {
  end_run();
  all_.stride = std::max<std::uint64_t>(all_.stride, 1);
  if (all_.first == all_.words) all_.first = 0;
  return all_;
}

WordStatistics word_statistics(const WordElements& counts, const MemoryArray& array) {
  return summarise(array, counts.count, [&](std::uint64_t first, std::uint64_t words, auto visit) {
    if (counts.bytes_each == sizeof(std::uint64_t)) {
      visit_runs<std::uint64_t>(counts.data, first, words, visit);
    } else {
      visit_runs<std::uint32_t>(counts.data, first, words, visit);
    }
  });
}

WordStatistics word_statistics(std::span<const ElementRun> runs, const MemoryArray& array) {
  return summarise(
      array, array.first + array.words,
      [&](std::uint64_t first, std::uint64_t words, auto visit) { visit_runs(runs, first, words, visit); });
}

WordRuns::WordRuns(Runs runs, std::function<Runs()> find)
    : runs_(std::make_shared<const Runs>(std::move(runs))), find_(std::move(find)) {}

std::shared_ptr<const WordRuns::Runs> WordRuns::runs() const {
  const std::lock_guard lock(mutex_);
  if (runs_ == nullptr) runs_ = std::make_shared<const Runs>(find_());
  return runs_;
}

bool WordRuns::has_counts(std::uint64_t first, std::uint64_t words) const {
  return statistics({{}, first, words}).accesses != 0;
}

WordStatistics WordRuns::statistics(const MemoryArray& array) const {
  {
    const std::lock_guard lock(mutex_);
    const auto known = statistics_.find({array.first, array.words});
    if (known != statistics_.end()) return known->second;
  }
  const WordStatistics found = word_statistics(*runs(), array);
  const std::lock_guard lock(mutex_);
  return statistics_.try_emplace({array.first, array.words}, found).first->second;
}

void WordRuns::fill(std::span<std::byte> elements, std::uint64_t bytes_each) const {
  const std::shared_ptr<const Runs> all = runs();
  for (const ElementRun& each : *all) {
    const std::uint64_t end = std::min(each.first + each.elements, elements.size() / bytes_each);
    for (std::uint64_t i = each.first; i < end; ++i)
      std::memcpy(elements.data() + i * bytes_each, &each.value, bytes_each);
  }
}

void WordRuns::release() const {
  const std::lock_guard lock(mutex_);
  if (runs_ != nullptr && runs_->size() > most_kept_runs && find_) runs_.reset();
}

}  // namespace lynxpp::cod
