// Tracks which elements of global memory are in a block's shared memory, and where.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
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
  /// Records a fetch, which replaces the previous contents of `shared`.
  void fetch(const ArrayElement& global, const ArrayElement& shared, std::size_t thread) {
    if (const auto before = content_.find(shared); before != content_.end()) forget(before->second, shared);
    content_[shared] = global;
    Holders& holders = holders_[global];
    if (holders.is_held) holders.earlier.push_back(holders.last);
    holders.last = {shared, thread};
    holders.is_held = true;
  }
  /// True if a fetch has written to the element of shared memory.
  bool holds(const ArrayElement& shared) const { return content_.contains(shared); }
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

  std::unordered_map<ArrayElement, ArrayElement, Hash> content_;
  std::unordered_map<ArrayElement, Holders, Hash> holders_;
};

}  // namespace lynxpp::models::cumapz
