// Counts of memory words, and the statistics of the counts of each of the program's arrays.
//
//   const WordRuns runs(std::move(found), [=] { return find_again(); });
//   const WordStatistics each = runs.statistics({"a", first, words});   // computed once
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "cod/host_report.h"
#include "support/counter_page.h"

namespace lynxpp::cod {

/// Statistics of the counts of an array's words.
struct WordStatistics {
  /// Cells of equal size of the array, with the accesses to each.
  static constexpr std::uint64_t cells = 64;
  /// Bins of counts, each twice as wide as the previous: 1, 2 to 3, …
  static constexpr std::uint64_t bins = 32;

  std::uint64_t words = 0;
  std::uint64_t accesses = 0;
  std::uint64_t least = 0, greatest = 0;  ///< counts of a word
  std::uint64_t never = 0, once = 0;      ///< words that are accessed so often
  std::array<std::uint64_t, cells> heat{};
  std::array<std::uint64_t, bins> words_by_count{};
  std::uint64_t beyond = 0;  ///< words with counts above the last bin
  /// The layout of the accessed words: sectors of 32 bytes with an accessed word; sectors that the same runs
  /// of words would touch if each started at a sector boundary; the greatest common divisor, in words, of the
  /// distances between accessed words; the first accessed word.
  std::uint64_t sectors = 0, aligned_sectors = 0, stride = 1, first = 0;

  bool operator==(const WordStatistics&) const = default;
};

/// Computes the statistics of an array whose words are visited in order.
class WordSummary {
 public:
  explicit WordSummary(const MemoryArray& array);

  /// Adds words with equal counts; `first` is relative to the array.
  void add(std::uint64_t first, std::uint64_t words, std::uint64_t count);
  /// Adds a page of counts. Precondition: cell_of() of its first and last word are equal, and the page's
  /// first element is a multiple of a sector.
  void add(std::uint64_t first, const CounterPage& page);
  /// The cell of WordStatistics::heat that the word belongs to.
  std::uint64_t cell_of(std::uint64_t word) const { return word * WordStatistics::cells / array_.words; }
  WordStatistics finish();

 private:
  void add_heat(std::uint64_t first, std::uint64_t words, std::uint64_t count);
  void add_accessed(std::uint64_t first, std::uint64_t words);
  void end_run();

  const MemoryArray array_;
  WordStatistics all_;
  std::uint64_t cell_ = 0, cell_end_ = 0;     // the words before cell_end_ belong to the cells before cell_
  std::uint64_t run_ = 0;                     // accessed words at the end
  std::uint64_t sector_ = ~std::uint64_t{0};  // the last one with an accessed word
};

/// Counts of words in memory: `bytes_each` is 4 or 8.
struct WordElements {
  const std::byte* data = nullptr;
  std::uint64_t count = 0;
  std::uint64_t bytes_each = 4;
};

/// The array may end after the elements do; the missing ones are 0.
WordStatistics word_statistics(const WordElements& counts, const MemoryArray& array);
/// `runs` are ascending and disjoint.
WordStatistics word_statistics(std::span<const ElementRun> runs, const MemoryArray& array);

/// Counts of words that are not in a launch's arrays.
class WordSource {
 public:
  virtual ~WordSource() = default;
  /// True if a count in [first, first + words) is not 0.
  virtual bool has_counts(std::uint64_t first, std::uint64_t words) const = 0;
  virtual WordStatistics statistics(const MemoryArray& array) const = 0;
  /// Stores the counts to zeroed elements of 4 or 8 bytes.
  virtual void fill(std::span<std::byte> elements, std::uint64_t bytes_each) const = 0;
  /// Frees memory; what is asked for later is computed or copied again.
  virtual void release() const {}
  /// Why counts that were asked for are unknown, and returned as 0; empty if none are.
  virtual std::string problem() const { return {}; }
};

/// Counts of words that follow from a launch without counters; equal launches share them. Thread safe.
class WordRuns final : public WordSource {
 public:
  using Runs = std::vector<ElementRun>;

  /// `runs` are ascending and disjoint. `find` returns the same runs, and is called if they are needed after
  /// release().
  explicit WordRuns(Runs runs, std::function<Runs()> find = {});

  std::shared_ptr<const Runs> runs() const;
  bool has_counts(std::uint64_t first, std::uint64_t words) const override;
  /// Computed once for each array.
  WordStatistics statistics(const MemoryArray& array) const override;
  void fill(std::span<std::byte> elements, std::uint64_t bytes_each) const override;
  /// Frees the memory of very many runs; the statistics remain.
  void release() const override;

 private:
  mutable std::mutex mutex_;
  mutable std::shared_ptr<const Runs> runs_;  ///< null: released
  std::function<Runs()> find_;
  mutable std::map<std::pair<std::uint64_t, std::uint64_t>, WordStatistics>
      statistics_;  ///< by first word, words
};

}  // namespace lynxpp::cod
