#include "engine/word_runs.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <numeric>
#include <utility>

#include "engine/elements.h"
#include "ptx/passes/probes/words/word_run_sites.h"

namespace lynxpp::engine {
namespace {

constexpr std::int64_t word_bytes = 4;

/// Words at a fixed distance, each accessed once.
struct Span {
  std::uint64_t first = 0;
  std::uint64_t words = 0;
};

class RunAdder {
 public:
  RunAdder(const cod::WordMap& map, Elements counts) : map_(map), window_(map.window()), counts_(counts) {}

  void add(ptx::RunRecord run) {
    if (run.distance < 0) {
      run.first += (run.accesses - 1) * static_cast<std::uint64_t>(run.distance);
      run.distance = -run.distance;
    }
    const auto words_each = run.bytes / word_bytes;
    if (run.distance == 0) {
      for (std::uint64_t i = 0; i < words_each; ++i) add_word(run.first + i * word_bytes, run.accesses);
    } else if (run.distance == static_cast<std::int64_t>(run.bytes)) {
      spans_[word_bytes].push_back({run.first, run.accesses * words_each});
    } else {
      for (std::uint64_t i = 0; i < words_each; ++i)
        spans_[run.distance].push_back({run.first + i * word_bytes, run.accesses});
    }
  }

  /// Returns the number of words without an element.
  std::uint64_t finish() {
    for (auto& [distance, spans] : spans_) {
      if (distance % word_bytes == 0) add_together(static_cast<std::uint64_t>(distance), spans);
      for (const Span& span : spans) {
        for (std::uint64_t i = 0; i < span.words; ++i)
          add_word(span.first + i * static_cast<std::uint64_t>(distance), 1);
      }
    }
    return outside_;
  }

 private:
  std::uint64_t words_of_window() const { return window_.bytes / word_bytes; }

  /// For windows with many accessed words: adds 1 where a span begins and subtracts 1 where it ends, then
  /// takes prefix sums. Removes these spans from `spans`.
  void add_together(std::uint64_t distance, std::vector<Span>& spans) {
    constexpr std::uint64_t few = 4;  // words of the window per accessed word
    std::uint64_t all = 0;
    for (const Span& span : spans) all += span.words;
    if (all < words_of_window() / few) return;
    const auto outside = std::partition(spans.begin(), spans.end(), [&](const Span& span) {
      const std::uint64_t offset = span.first - window_.begin;
      return offset >= window_.bytes || (span.words - 1) * distance + word_bytes > window_.bytes - offset;
    });
    const std::uint64_t step = distance / word_bytes;
    std::vector<std::int64_t> sums(words_of_window());
    for (auto span = outside; span != spans.end(); ++span) {
      const std::uint64_t begin = (span->first - window_.begin) / word_bytes;
      ++sums[begin];
      if (begin + span->words * step < sums.size()) --sums[begin + span->words * step];
    }
    spans.erase(outside, spans.end());
    for (std::uint64_t i = 0; i < sums.size(); ++i) {
      if (i >= step) sums[i] += sums[i - step];
      if (sums[i] != 0) counts_.add_up_to_most(first_of_window + i, static_cast<std::uint64_t>(sums[i]));
    }
  }

  void add_word(std::uint64_t address, std::uint64_t times) {
    const std::uint64_t offset = address - window_.begin;
    if (offset < window_.bytes) return counts_.add_up_to_most(first_of_window + offset / word_bytes, times);
    const std::optional<std::uint64_t> element = map_.element_of(address);
    if (!element) {
      outside_ += times;
    } else {
      counts_.add_up_to_most(*element, times);
    }
  }

  static constexpr std::uint64_t first_of_window = cod::WordMap::margin_bytes / word_bytes;

  const cod::WordMap& map_;
  const cod::WordMap::Window& window_;
  Elements counts_;
  std::map<std::int64_t, std::vector<Span>> spans_;  ///< by distance
  std::uint64_t outside_ = 0;
};

/// The runs that the device recorded; `written` also counts runs for which there was no room.
struct WrittenRuns {
  std::uint64_t written = 0;
  std::span<const ptx::RunRecord> records;

  WrittenRuns(std::span<const std::byte> runs, std::uint64_t most) {
    if (runs.size() < bytes_of_runs(most)) return;
    std::memcpy(&written, runs.data(), sizeof written);
    const auto* const first =
        reinterpret_cast<const ptx::RunRecord*>(runs.data() + ptx::RunRecord::header_bytes);
    records = {first, std::min(written, most)};
  }
};

template <typename Element>
std::uint64_t sum_of(std::span<const std::byte> counts) {
  const std::span elements(reinterpret_cast<const Element*>(counts.data()), counts.size() / sizeof(Element));
  return std::accumulate(elements.begin(), elements.end(), std::uint64_t{0});
}

std::uint64_t add_records(std::span<const ptx::RunRecord> records, const cod::WordMap& map, Elements counts) {
  RunAdder adder(map, counts);
  for (const ptx::RunRecord& record : records) adder.add(record);
  return adder.finish();
}

/// Returns the run that a thread recorded; nullopt: it did not enter the loop.
std::optional<ptx::RunRecord> run_of(const ptx::WordRun& run, std::span<const std::byte> record) {
  const auto number = [&](std::uint32_t slot) {
    std::uint64_t value = 0;
    std::memcpy(&value, record.data() + slot, sizeof value);
    return value;
  };
  const std::uint64_t end = number(run.record->end);
  if (end == 0) return std::nullopt;
  const auto distance = static_cast<std::int64_t>(end - number(run.record->first));
  const std::uint64_t count = run.instructions.size();
  ptx::RunRecord found;
  found.accesses = static_cast<std::uint64_t>(distance / run.record->step) * count;
  found.distance = *run.distance;
  found.bytes = run.bytes;
  found.first = number(run.record->own_end) + static_cast<std::uint64_t>(run.offsets[0]) -
                found.accesses * static_cast<std::uint64_t>(found.distance);
  return found;
}

}  // namespace

std::uint64_t bytes_of_runs(std::uint64_t runs) {
  return ptx::RunRecord::header_bytes + runs * sizeof(ptx::RunRecord);
}

std::uint64_t add_word_runs(std::span<const std::byte> runs, std::uint64_t most, const cod::WordMap& map,
                            std::span<std::byte> counts, std::uint32_t element_bytes) {
  return add_records(WrittenRuns(runs, most).records, map, {counts, element_bytes});
}

std::uint64_t add_loop_records(std::span<const std::byte> records, const WordCounting& counting,
                               const WordCounting::RunArray& of, const cod::WordMap& map,
                               std::span<std::byte> counts, std::uint32_t element_bytes) {
  std::vector<ptx::RunRecord> runs;
  for (const WordCounting::LoopRun& each : counting.runs.loops) {
    if (each.of != of) continue;
    for (std::size_t at = 0; at < records.size(); at += counting.runs.loop_record_bytes) {
      const std::optional<ptx::RunRecord> run =
          run_of(each.run, records.subspan(at, counting.runs.loop_record_bytes));
      if (run) runs.push_back(*run);
    }
  }
  return add_records(runs, map, {counts, element_bytes});
}

bool word_runs_pay(std::span<const std::byte> runs, std::uint64_t most, std::span<const std::byte> counts,
                   std::uint32_t element_bytes) {
  const WrittenRuns all(runs, most);
  double in_runs = 0;
  for (const ptx::RunRecord& run : all.records)
    in_runs += static_cast<double>(run.accesses * (run.bytes / word_bytes));
  auto one_by_one = static_cast<double>(
      element_bytes == sizeof(std::uint64_t) ? sum_of<std::uint64_t>(counts) : sum_of<std::uint32_t>(counts));
  if (all.written > all.records.size() && !all.records.empty()) {
    // Runs without a slot are part of `counts`; they are assumed to be as long as the others on average.
    const double without_record = in_runs * static_cast<double>(all.written - all.records.size()) /
                                  static_cast<double>(all.records.size());
    in_runs += without_record;
    one_by_one = std::max(0.0, one_by_one - without_record);
  }
  return 2 * in_runs >= one_by_one;
}

}  // namespace lynxpp::engine
