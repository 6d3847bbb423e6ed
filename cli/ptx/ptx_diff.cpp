#include "cli/ptx/ptx_diff.h"

#include <algorithm>
#include <string>
#include <unordered_map>

#include "support/text.h"

namespace lynxpp::cli {
namespace {

/// A line, compared without leading and trailing blanks: instrumentation may change the indentation.
struct Line {
  std::string_view text;
  std::string_view words;
};
bool operator==(const Line& left, const Line& right) { return left.words == right.words; }

using Lines = std::vector<Line>;

Lines lines_of(std::string_view text) {
  Lines lines;
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    std::string_view line = text.substr(0, end);
    if (line.ends_with('\r')) line.remove_suffix(1);
    lines.push_back({line, trim(line)});
    if (end == std::string_view::npos) break;
    text.remove_prefix(end + 1);
  }
  return lines;
}

struct Range {
  std::size_t first_begin, first_end, second_begin, second_end;
};
struct Match {
  std::size_t first, second;
};

class Differ {
 public:
  Differ(Lines first, Lines second) : first_(std::move(first)), second_(std::move(second)) {}

  std::vector<DiffRow> run() {
    // A work list instead of recursion: texts may be long.
    std::vector<Range> work{{0, first_.size(), 0, second_.size()}};
    while (!work.empty()) {
      const Range range = without_common_ends(work.back());
      work.pop_back();
      const std::vector<Match> anchors = unique_matches(range);
      if (anchors.empty()) {
        match_in_order(range);
        continue;
      }
      std::size_t first = range.first_begin;
      std::size_t second = range.second_begin;
      for (const Match& anchor : anchors) {
        matches_.push_back(anchor);
        work.push_back({first, anchor.first, second, anchor.second});
        first = anchor.first + 1;
        second = anchor.second + 1;
      }
      work.push_back({first, range.first_end, second, range.second_end});
    }
    return rows();
  }

 private:
  /// Removes equal lines from both ends of a range.
  Range without_common_ends(Range range) {
    while (range.first_begin < range.first_end && range.second_begin < range.second_end &&
           first_[range.first_begin] == second_[range.second_begin])
      matches_.push_back({range.first_begin++, range.second_begin++});
    while (range.first_begin < range.first_end && range.second_begin < range.second_end &&
           first_[range.first_end - 1] == second_[range.second_end - 1])
      matches_.push_back({--range.first_end, --range.second_end});
    return range;
  }

  /// Returns lines that occur once on each side: the longest sequence that is in order on both.
  std::vector<Match> unique_matches(const Range& range) const {
    struct Count {
      std::size_t first = 0, second = 0, position = 0;
    };
    std::unordered_map<std::string_view, Count> counts;
    for (std::size_t at = range.first_begin; at < range.first_end; ++at) ++counts[first_[at].words].first;
    for (std::size_t at = range.second_begin; at < range.second_end; ++at) {
      Count& count = counts[second_[at].words];
      ++count.second;
      count.position = at;
    }
    std::vector<Match> candidates;
    for (std::size_t at = range.first_begin; at < range.first_end; ++at) {
      const Count& count = counts[first_[at].words];
      if (count.first == 1 && count.second == 1) candidates.push_back({at, count.position});
    }
    return longest_increasing(candidates);
  }

  static std::vector<Match> longest_increasing(const std::vector<Match>& candidates) {
    constexpr std::size_t none = static_cast<std::size_t>(-1);
    std::vector<std::size_t> tails, before(candidates.size(), none);
    for (std::size_t index = 0; index < candidates.size(); ++index) {
      const auto position = std::ranges::lower_bound(
          tails, candidates[index].second, {}, [&](std::size_t tail) { return candidates[tail].second; });
      if (position != tails.begin()) before[index] = *(position - 1);
      if (position == tails.end()) {
        tails.push_back(index);
      } else {
        *position = index;
      }
    }
    std::vector<Match> result;
    for (std::size_t at = tails.empty() ? none : tails.back(); at != none; at = before[at])
      result.push_back(candidates[at]);
    std::ranges::reverse(result);
    return result;
  }

  /// Without unique lines, matches each line of the first text with the next equal line of the second.
  void match_in_order(const Range& range) {
    std::size_t second = range.second_begin;
    for (std::size_t at = range.first_begin; at < range.first_end; ++at) {
      std::size_t found = second;
      while (found < range.second_end && !(second_[found] == first_[at])) ++found;
      if (found == range.second_end) continue;
      matches_.push_back({at, found});
      second = found + 1;
    }
  }

  std::vector<DiffRow> rows() {
    std::ranges::sort(matches_, {}, &Match::first);
    matches_.push_back({first_.size(), second_.size()});
    std::vector<DiffRow> result;
    std::size_t first = 0;
    std::size_t second = 0;
    for (const Match& match : matches_) {
      while (first < match.first) result.push_back({true, false, first_[first++].text});
      while (second < match.second) result.push_back({false, true, second_[second++].text});
      if (first < first_.size()) result.push_back({true, true, first_[first].text});
      ++first;
      ++second;
    }
    return result;
  }

  Lines first_, second_;
  std::vector<Match> matches_;
};

}  // namespace

std::vector<DiffRow> diff_lines(std::string_view first, std::string_view second) {
  return Differ(lines_of(first), lines_of(second)).run();
}

}  // namespace lynxpp::cli
