// Which clusters of a launch (blocks, where it has none) each worker runs.
//
// Neighbouring blocks access neighbouring memory. Workers that took one block each in turn would write lines
// next to those that another processor has just fetched: on two cores `vecadd` took three times as long
// (docs/design/cpu-device.md). So a worker takes a stretch of clusters at a time. What it has not begun is
// there for others to take once the launch has no more, so that no cluster that others wait for stays behind
// one that waits for them.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <vector>

namespace lynxpp::device::cpu {

/// Thread safe. Each cluster is given out once, and all are while anybody takes.
class ClusterQueue {
 public:
  /// A launch has fewer than 2^56 clusters: at one in a nanosecond more would take years.
  ClusterQueue(std::uint64_t clusters, unsigned workers);

  /// The next cluster for that worker, of those below `workers`; nullopt: none is left. `singly`: no stretch,
  /// for launches whose blocks wait for one another, and had best be begun in their order.
  std::optional<std::uint64_t> take(unsigned worker, bool singly);

 private:
  /// What a worker has taken and not begun. Its owner alone fills it, when it is empty.
  struct alignas(64) Stretch {
    std::atomic<std::uint64_t> clusters{0};  ///< the first one × 256, plus how many
  };
  static std::optional<std::uint64_t> take_from(Stretch& stretch);

  const std::uint64_t clusters_;
  const std::uint64_t stretch_;  ///< clusters of each
  std::vector<Stretch> stretches_;
  alignas(64) std::atomic<std::uint64_t> next_{0};  ///< of those that nobody has taken
};

}  // namespace lynxpp::device::cpu
