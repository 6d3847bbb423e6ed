// Tracks which elements of global memory are in a block's shared memory, and where.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <unordered_map>
#include <vector>

namespace lynxpp::models::cumapz {

/// An element of an array.
struct ArrayElement {
  std::uint32_t array = 0;
  std::int64_t index = 0;
  bool operator==(const ArrayElement&) const = default;
};

class Buffers {
 public:
  /// Forgets all fetches.
  void clear() {
    for (std::vector<Content>& array : content_) std::ranges::fill(array, Content{});
    holders_.clear();
  }
  /// Records a fetch, which replaces the previous contents of `shared`.
  /// Precondition: the index of `shared` is not negative.
  void fetch(const ArrayElement& global, const ArrayElement& shared, std::size_t thread) {
    if (content_.size() <= shared.array) content_.resize(shared.array + 1);
    std::vector<Content>& array = content_[shared.array];
    const auto index = static_cast<std::size_t>(shared.index);
    if (array.size() <= index) array.resize(index + 1);
    if (array[index]) forget(*array[index], shared);
    array[index] = global;
    Holders& holders = holders_[global];
    if (holders.is_held) holders.earlier.push_back(holders.last);
    holders.last = {shared, thread};
    holders.is_held = true;
  }
  /// True if a fetch has written to the element of shared memory.
  bool holds(const ArrayElement& shared) const {
    if (shared.array >= content_.size()) return false;
    const std::vector<Content>& array = content_[shared.array];
    const auto index = static_cast<std::size_t>(shared.index);
    return index < array.size() && array[index];
  }
  /// Returns where a thread finds an element, null if it is not in shared memory. Among several copies,
  /// prefers one that the thread has fetched itself, then the last fetched.
  const ArrayElement* find(const ArrayElement& global, std::size_t thread) const {
    const auto found = holders_.find(global);
    if (found == holders_.end()) return nullptr;
    const Holders& holders = found->second;
    if (holders.last.thread == thread) return &holders.last.shared;
    for (const Holder& each : holders.earlier) {
      if (each.thread == thread) return &each.shared;
    }
    return &holders.last.shared;
  }

 private:
  struct Holder {
    ArrayElement shared;
    std::size_t thread = 0;
  };
  struct Holders {
    Holder last;
    bool is_held = false;
    std::vector<Holder> earlier;
  };
  struct Hash {
    std::size_t operator()(const ArrayElement& element) const {
      return (static_cast<std::uint64_t>(element.index) * 0x9e3779b97f4a7c15u) ^ element.array;
    }
  };

  void forget(const ArrayElement& global, const ArrayElement& shared) {
    const auto found = holders_.find(global);
    Holders& holders = found->second;
    if (holders.last.shared == shared) {
      if (holders.earlier.empty()) {
        holders_.erase(found);
        return;
      }
      holders.last = holders.earlier.back();
      holders.earlier.pop_back();
    } else {
      std::erase_if(holders.earlier, [&](const Holder& each) { return each.shared == shared; });
    }
  }

  using Content = std::optional<ArrayElement>;
  std::vector<std::vector<Content>> content_;  ///< by shared array and index
  std::unordered_map<ArrayElement, Holders, Hash> holders_;
};

}  // namespace lynxpp::models::cumapz
