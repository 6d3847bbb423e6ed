#include "interposer/results/kept_words.h"

#include <algorithm>
#include <cstring>
#include <numeric>

namespace lynxpp::interposer {
namespace {

constexpr std::uint64_t page_words = CounterPage::counters;
constexpr std::uint64_t most = 0xffffffff;

bool ends_before(const cod::ElementRun& run, std::uint64_t at) { return run.first + run.elements <= at; }

/// True if a run overlaps the page at `first`.
bool has_runs(std::span<const cod::ElementRun> runs, std::uint64_t first) {
  const auto run = std::lower_bound(runs.begin(), runs.end(), first, ends_before);
  return run != runs.end() && run->first < first + page_words;
}

/// Runs in order, a part at a time.
class RunReader {
 public:
  RunReader(std::span<const cod::ElementRun> runs, std::uint64_t first) : runs_(runs) {
    next_ = std::lower_bound(runs.begin(), runs.end(), first, ends_before);
  }

  bool has_any_before(std::uint64_t end) const { return next_ != runs_.end() && next_->first < end; }

  /// Calls visit(first, words, count) for the runs, clipped to [begin, end). `end` never decreases.
  template <typename Visit>
  void visit_until(std::uint64_t begin, std::uint64_t end, Visit visit) {
    for (; has_any_before(end); ++next_) {
      const std::uint64_t from = std::max(next_->first, begin), to = next_->first + next_->elements;
      visit(from, std::min(to, end) - from, next_->value);
      if (to > end) return;  // it goes on
    }
  }

 private:
  std::span<const cod::ElementRun> runs_;
  std::span<const cod::ElementRun>::iterator next_;
};

}  // namespace

template <typename IsWhole, typename Whole, typename Parts>
void KeptWords::visit(std::uint64_t first, std::uint64_t words, IsWhole is_whole, Whole whole,
                      Parts parts) const {
  constexpr std::uint64_t most_copied = 256 * page_words;  // 16 MiB
  const std::uint64_t last = std::min(first + words, pages_.size() * page_words);
  for (std::uint64_t at = first; at < last;) {
    const std::uint64_t page_end = std::min((at / page_words + 1) * page_words, last);
    const bool covers_page = at % page_words == 0 && page_end - at == page_words;
    if (covers_page && is_whole(at, pages_[at / page_words])) {
      whole(at, pages_[at / page_words]);
      at = page_end;
      continue;
    }
    std::uint64_t end = page_end;
    while (end < last && end - at < most_copied) {
      const std::uint64_t next = std::min(end + page_words, last);
      if (next - end == page_words && is_whole(end, pages_[end / page_words])) break;
      end = next;
    }
    parts(at, read(at, end - at));
    at = end;
  }
}

std::vector<std::uint32_t> KeptWords::read(std::uint64_t first, std::uint64_t words) const {
  std::vector<std::uint32_t> counters(words);
  const auto page = [&](std::uint64_t at) -> const CounterPage& { return pages_[at / page_words]; };
  bool is_used = false;
  for (std::uint64_t at = first / page_words * page_words; at < first + words; at += page_words)
    is_used |= page(at).zeros != page_words;
  if (!is_used) return counters;
  const Status copied =
      memory_.read(offset_ + first * sizeof(std::uint32_t), std::as_writable_bytes(std::span(counters)));
  if (copied) return counters;
  const Lock lock(mutex_);
  problem_ = copied.error().diagnostics.front().message;
  return std::vector<std::uint32_t>(words);
}

std::string KeptWords::problem() const {
  const Lock lock(mutex_);
  return problem_;
}

std::uint64_t KeptWords::counted(std::uint64_t first, std::uint64_t words) const {
  std::uint64_t sum = 0;
  visit(
      first, words, [](std::uint64_t, const CounterPage&) { return true; },
      [&](std::uint64_t, const CounterPage& page) { sum += page.sum; },
      [&](std::uint64_t, const std::vector<std::uint32_t>& counters) {
        sum = std::accumulate(counters.begin(), counters.end(), sum);
      });
  return sum;
}

bool KeptWords::has_counts(std::uint64_t first, std::uint64_t words) const {
  return replayed_->has_counts(first, words) || counted(first, words) != 0;
}

cod::WordStatistics KeptWords::statistics(const cod::MemoryArray& array) const {
  const std::uint64_t last = std::min(array.first + array.words, pages_.size() * page_words);
  const auto is_unused = [](const CounterPage& page) { return page.zeros == page_words; };
  const auto overlapping = pages_.subspan(
      std::min<std::uint64_t>(array.first / page_words, pages_.size()),
      last <= array.first ? 0 : (last + page_words - 1) / page_words - array.first / page_words);
  if (std::ranges::all_of(overlapping, is_unused)) return replayed_->statistics(array);
  static const auto none = std::make_shared<const cod::WordRuns::Runs>();
  // Runs may have to be computed again.
  const bool has_runs_too = replayed_->has_counts(array.first, array.words);
  const std::shared_ptr<const cod::WordRuns::Runs> runs = has_runs_too ? replayed_->runs() : none;
  RunReader reader(*runs, array.first);
  cod::WordSummary summary(array);
  const auto add_runs = [&](std::uint64_t begin, std::uint64_t end) {
    std::uint64_t at = begin;
    reader.visit_until(begin, end, [&](std::uint64_t first, std::uint64_t words, std::uint64_t count) {
      if (first != at) summary.add(at - array.first, first - at, 0);
      summary.add(first - array.first, words, count);
      at = first + words;
    });
    if (at != end) summary.add(at - array.first, end - at, 0);
  };
  const auto is_whole = [&](std::uint64_t first, const CounterPage& page) {
    if (is_unused(page)) return true;
    const std::uint64_t word = first - array.first;
    return !has_runs(*runs, first) && summary.cell_of(word) == summary.cell_of(word + page_words - 1);
  };
  visit(
      array.first, last > array.first ? last - array.first : 0, is_whole,
      [&](std::uint64_t first, const CounterPage& page) {
        if (is_unused(page)) return add_runs(first, first + page_words);
        summary.add(first - array.first, page);
      },
      [&](std::uint64_t first, std::vector<std::uint32_t> counters) {
        reader.visit_until(first, first + counters.size(),
                           [&](std::uint64_t begin, std::uint64_t words, std::uint64_t count) {
                             for (std::uint64_t i = begin - first; i < begin - first + words; ++i)
                               counters[i] = static_cast<std::uint32_t>(std::min(counters[i] + count, most));
                           });
        for (std::uint64_t i = 0, end = 0; i < counters.size(); i = end) {
          while (end < counters.size() && counters[end] == counters[i]) ++end;
          summary.add(first + i - array.first, end - i, counters[i]);
        }
      });
  const std::uint64_t visited = std::max(last, array.first);
  if (visited < array.first + array.words)
    summary.add(visited - array.first, array.first + array.words - visited, 0);
  return summary.finish();
}

void KeptWords::fill(std::span<std::byte> elements, std::uint64_t bytes_each) const {
  replayed_->fill(elements, bytes_each);
  const auto add = [&](std::uint64_t first, const std::vector<std::uint32_t>& counters) {
    for (std::uint64_t i = 0; i < counters.size() && (first + i + 1) * bytes_each <= elements.size(); ++i) {
      std::uint32_t replayed = 0;
      std::memcpy(&replayed, elements.data() + (first + i) * bytes_each, sizeof replayed);
      const auto sum =
          static_cast<std::uint32_t>(std::min<std::uint64_t>(std::uint64_t{replayed} + counters[i], most));
      std::memcpy(elements.data() + (first + i) * bytes_each, &sum, sizeof sum);
    }
  };
  visit(
      0, pages_.size() * page_words,
      [](std::uint64_t, const CounterPage& page) { return page.zeros == page_words; },
      [](std::uint64_t, const CounterPage&) {}, add);
}

}  // namespace lynxpp::interposer
