// A thread block's share of the texture cache.
#pragma once

#include <cstddef>
#include <cstdint>
#include <list>
#include <map>
#include <utility>

namespace lynxpp::models::cumapz {

/// Lines of arrays with LRU replacement.
class LineCache {
 public:
  /// `lines` is the capacity; with 0 every use misses.
  explicit LineCache(std::size_t lines) : lines_(lines) {}
  /// Returns true if the line was present; it is present afterwards.
  bool use(std::uint32_t array, std::int64_t line) {
    const Line key{array, line};
    if (const auto found = entries_.find(key); found != entries_.end()) {
      recent_.splice(recent_.begin(), recent_, found->second);
      return true;
    }
    if (lines_ == 0) return false;
    if (entries_.size() == lines_) {
      entries_.erase(recent_.back());
      recent_.pop_back();
    }
    recent_.push_front(key);
    entries_[key] = recent_.begin();
    return false;
  }
  void clear() {
    recent_.clear();
    entries_.clear();
  }

 private:
  using Line = std::pair<std::uint32_t, std::int64_t>;
  std::size_t lines_;
  std::list<Line> recent_;
  std::map<Line, std::list<Line>::iterator> entries_;
};

}  // namespace lynxpp::models::cumapz
