// Reuse distances: how many other lines were accessed between two accesses to a line. A fully associative
// cache of n lines that drops the least recently used one hits exactly where the distance is below n; a
// set-associative one where the distance within the set is below its ways.
#pragma once

#include <cstdint>
#include <optional>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "models/machine.h"

namespace lynxpp::models::cache {

/// Exact. Each access takes time logarithmic in the number of different lines, and memory for these only.
class ReuseDistances {
 public:
  ReuseDistances() : marks_(1) {}

  /// How many different other lines were accessed since `line` was; nullopt when it never was.
  std::optional<std::uint64_t> access(std::uint64_t line);

  std::uint64_t lines() const { return last_.size(); }

 private:
  std::uint64_t marks_until(std::size_t position) const;
  void mark(std::size_t position, std::int64_t change);
  void renumber();

  /// A tree of sums (Fenwick): every line has a mark at the position of its last access, from 1.
  std::vector<std::int64_t> marks_;
  std::size_t next_ = 1;
  std::unordered_map<std::uint64_t, std::size_t> last_;
};

struct ReuseCounts {
  std::uint64_t first = 0;               ///< accesses to a line that was not accessed before
  std::uint64_t first_sectors = 0;       ///< … to a sector that was not; `first` where there are no sectors
  std::uint64_t stores = 0;              ///< accesses that are among none of the others
  std::vector<std::uint64_t> distances;  ///< accesses by distance

  std::uint64_t accesses() const;
  /// Stores, and accesses with a distance below `ways`: the hits of a set that has as many.
  std::uint64_t hits(std::uint64_t ways) const;
  ReuseCounts& operator+=(const ReuseCounts& other);
};

/// Reuse distances within the sets of a cache, exact for each set that is looked at: about one of `every`,
/// the same ones in every run. Lines are fetched as a whole here.
class SampledReuse {
 public:
  SampledReuse(const CacheTiming& figures, std::uint32_t every);

  /// A store needs nothing of what is there, so it hits in any case; its line is there afterwards.
  void access(std::uint64_t address, bool is_store = false);

  const ReuseCounts& counts() const { return counts_; }
  std::uint64_t sets() const { return sets_; }
  std::uint64_t sampled_sets() const { return sampled_.size(); }
  /// Forgets what was counted, and what the sets hold.
  void clear();

 private:
  std::uint32_t line_, sector_;
  std::uint64_t sets_;
  std::unordered_map<std::uint64_t, ReuseDistances> sampled_;  ///< by set
  std::unordered_set<std::uint64_t> sectors_;                  ///< of the sampled sets, accessed so far
  ReuseCounts counts_;
};

}  // namespace lynxpp::models::cache
