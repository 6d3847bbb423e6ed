#include "ptx/passes/counting/refine/path_sum.h"

#include <algorithm>
#include <bit>
#include <limits>
#include <numeric>

namespace lynxpp::ptx {
namespace {

constexpr std::uint32_t word_bits = 32;
constexpr std::uint32_t most_levels = 4;  // each takes three instructions at a region's end
constexpr std::uint64_t most_worth = 1u << 16;

/// Modulo 2^64, of an odd number: Newton's iteration doubles the bits that are right.
std::uint64_t inverse(std::uint64_t odd) {
  std::uint64_t found = odd;
  for (int round = 0; round < 5; ++round) found *= 2 - odd * found;
  return found;
}

bool is_multiple(const CountColumn& column, std::uint64_t factor, const CountColumn& one) {
  return std::ranges::equal(column, one,
                            [&](std::uint64_t left, std::uint64_t right) { return left == factor * right; });
}

class PathSum {
 public:
  PathSum(FunctionPlan& plan, const std::vector<CountColumn>& columns) : plan_(plan), columns_(columns) {}

  void run() {
    if (plan_.paths.marks.empty()) return;
    find_marks();
    if (!find_worth() || !find_counter()) return;
    made_.most = std::accumulate(worth_.begin(), worth_.end(), 0u);
    const std::vector<PathPlan::Region> regions = take_beginnings();
    if (!find_bits()) return;
    plan_.paths.regions = regions;
    take();
  }

 private:
  bool is_path(std::uint32_t counter) const {
    return plan_.counters[counter].storage == Counter::Storage::path;
  }

  /// By how much each sum grows when a warp has come by a mark.
  void find_marks() {
    const std::size_t sums = columns_.empty() ? 0 : columns_.front().size();
    marks_.assign(plan_.paths.marks.size(), CountColumn(sums));
    for (std::uint32_t index = 0; index < plan_.counters.size(); ++index) {
      if (!is_path(index)) continue;
      for (const Counter::PathTerm& term : plan_.counters[index].path_terms) {
        for (std::size_t sum = 0; sum < sums; ++sum)
          marks_[term.mark][sum] += term.is_negative ? 0 - columns_[index][sum] : columns_[index][sum];
      }
    }
  }

  /// Each mark's column as a multiple of one of them all.
  bool find_worth() {
    for (sum_ = 0; sum_ < marks_.front().size(); ++sum_) {
      unit_ = 0;
      for (const CountColumn& mark : marks_) unit_ = std::gcd(unit_, mark[sum_]);
      if (unit_ != 0) break;
    }
    if (unit_ == 0) return false;
    for (const CountColumn& mark : marks_) {
      const std::uint64_t worth = mark[sum_] / unit_;
      if (worth > most_worth) return false;
      worth_.push_back(static_cast<std::uint32_t>(worth));
    }
    // Their greatest common divisor is 1, so one of them is odd.
    const auto odd = std::ranges::find_if(worth_, [](std::uint32_t worth) { return worth % 2 != 0; });
    for (const std::uint64_t factor : marks_[static_cast<std::size_t>(odd - worth_.begin())])
      one_.push_back(inverse(*odd) * factor);
    for (std::size_t mark = 0; mark < marks_.size(); ++mark) {
      if (!is_multiple(marks_[mark], worth_[mark], one_)) return false;
    }
    return true;
  }

  /// The counter that is to stand for all: what the marks are worth, divided by what it is worth itself.
  bool find_counter() {
    for (counter_ = 0; counter_ < plan_.counters.size(); ++counter_) {
      if (!is_path(counter_)) continue;
      const std::uint64_t worth = columns_[counter_][sum_] / unit_;
      if (worth % 2 == 0 || !is_multiple(columns_[counter_], worth, one_)) continue;
      factor_ = inverse(worth);
      return true;
    }
    return false;
  }

  /// Their marks are set each time.
  std::vector<PathPlan::Region> take_beginnings() {
    std::vector<PathPlan::Region> regions = plan_.paths.regions;
    for (PathPlan::Region& region : regions) {
      const CountPlace beginning{CountPlace::Kind::block_end, region.begin, 0, 0};
      const auto mark = std::ranges::find(plan_.paths.marks, beginning) - plan_.paths.marks.begin();
      if (static_cast<std::size_t>(mark) == worth_.size()) continue;
      region.worth = worth_[mark];
      worth_[mark] = 0;
    }
    return regions;
  }

  /// With as few levels as have room for all.
  bool find_bits() {
    for (std::uint32_t levels = 1; levels <= most_levels; ++levels) {
      const std::uint32_t top = levels - 1;
      const auto bits_of = [&](std::uint32_t worth) {
        return (worth >> top) + static_cast<std::uint32_t>(std::popcount(worth & ((1u << top) - 1)));
      };
      std::uint64_t needed = 0;
      for (const std::uint32_t worth : worth_) needed += bits_of(worth);
      if (needed > word_bits) continue;
      place_bits(top);
      return true;
    }
    return false;
  }

  /// Those that are worth most come first.
  void place_bits(std::uint32_t top) {
    made_.bits.assign(worth_.size(), 0);
    made_.worth.assign(top, 0);
    std::uint32_t next = 0;
    for (std::uint32_t level = top + 1; level-- > 0;) {
      for (std::size_t mark = 0; mark < worth_.size(); ++mark) {
        for (std::uint32_t i = level == top ? worth_[mark] >> top : worth_[mark] >> level & 1; i-- > 0;)
          made_.bits[mark] |= 1u << next++;
      }
      if (level != 0) made_.worth[level - 1] = static_cast<std::uint32_t>((std::uint64_t{1} << next) - 1);
    }
  }

  void take() {
    for (std::uint32_t index = 0; index < plan_.counters.size(); ++index) {
      if (!is_path(index)) continue;
      Counter& counter = plan_.counters[index];
      counter.path_terms.clear();
      counter.storage = Counter::Storage::memory;
      counter.is_silent = index != counter_;
    }
    Counter& counter = plan_.counters[counter_];
    counter.factor = factor_;
    counter.is_repeated = true;
    counter.weight = std::numeric_limits<double>::max();  // the first to get a register
    for (const PathPlan::Region& region : plan_.paths.regions)
      counter.places.push_back({CountPlace::Kind::region_end, region.end, 0, 0});
    std::ranges::sort(counter.places);
    made_.counter = counter_;
    // What is worth nothing needs no mark.
    PathPlan& paths = plan_.paths;
    std::vector<CountPlace> marks;
    std::vector<std::uint32_t> bits;
    for (std::size_t mark = 0; mark < paths.marks.size(); ++mark) {
      if (made_.bits[mark] == 0) continue;
      marks.push_back(paths.marks[mark]);
      bits.push_back(made_.bits[mark]);
    }
    paths.marks = std::move(marks);
    made_.bits = std::move(bits);
    paths.sum = std::move(made_);
  }

  FunctionPlan& plan_;
  const std::vector<CountColumn>& columns_;
  std::vector<CountColumn> marks_;
  std::size_t sum_ = 0;               ///< the first one that takes any mark
  std::uint64_t unit_ = 0;            ///< what it takes of a mark that is worth 1
  CountColumn one_;                   ///< what all sums take of such a mark
  std::vector<std::uint32_t> worth_;  ///< per mark
  std::uint32_t counter_ = 0;
  std::uint64_t factor_ = 1;
  PathPlan::Sum made_;
};

}  // namespace

void sum_paths(FunctionPlan& plan, const std::vector<CountColumn>& columns) { PathSum(plan, columns).run(); }

}  // namespace lynxpp::ptx
