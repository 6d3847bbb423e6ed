// Reuse distances: the number of other lines accessed between two accesses to a line. A fully associative LRU
// cache of n lines hits exactly if the distance is below n; a set-associative one if the distance within the
// set is below its number of ways.
#pragma once

#include <cstdint>
#include <optional>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "models/machine.h"

namespace lynxpp::models::cache {

/// Exact. Each access takes time logarithmic in the number of distinct lines, and memory only for these.
class ReuseDistances {
 public:
  ReuseDistances() : marks_(1) {}

  /// Returns the number of distinct other lines accessed since the last access to `line`; nullopt for its
  /// first access.
  std::optional<std::uint64_t> access(std::uint64_t line);

  std::uint64_t lines() const { return last_.size(); }

 private:
  std::uint64_t marks_until(std::size_t position) const;
  void mark(std::size_t position, std::int64_t change);
  void renumber();

  /// A tree of sums (Fenwick): every line has a mark at the position of its last access, counting from 1.
  std::vector<std::int64_t> marks_;
  std::size_t next_ = 1;
  std::unordered_map<std::uint64_t, std::size_t> last_;
};

struct ReuseCounts {
  std::uint64_t first = 0;               ///< first accesses to a line
  std::uint64_t first_sectors = 0;       ///< first accesses to a sector; equals `first` without sectors
  std::uint64_t stores = 0;              ///< accesses counted in none of the others
  std::vector<std::uint64_t> distances;  ///< accesses by distance

  std::uint64_t accesses() const;
  /// Stores, and accesses with a distance below `ways`: the hits of a set with that number of ways.
  std::uint64_t hits(std::uint64_t ways) const;
  ReuseCounts& operator+=(const ReuseCounts& other);
};

/// Reuse distances within the sets of a cache, exact for each sampled set: about one in `every`, the same
/// ones in every run. Entire lines are fetched.
class SampledReuse {
 public:
  SampledReuse(const CacheTiming& figures, std::uint32_t every);

  /// A store needs no data, so it always hits; its line is present afterwards.
  void access(std::uint64_t address, bool is_store = false);

  const ReuseCounts& counts() const { return counts_; }
  std::uint64_t sets() const { return sets_; }
  std::uint64_t sampled_sets() const { return sampled_.size(); }
  /// Resets the counts and empties the sets.
  void clear();

 private:
  std::uint32_t line_, sector_;
  std::uint64_t sets_;
  std::unordered_map<std::uint64_t, ReuseDistances> sampled_;  ///< by set
  std::unordered_set<std::uint64_t> sectors_;                  ///< accessed sectors of the sampled sets
  ReuseCounts counts_;
};

}  // namespace lynxpp::models::cache
