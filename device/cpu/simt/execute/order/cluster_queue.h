// Distributes the clusters of a launch (blocks, if it has no clusters) among workers.
//
// Neighboring blocks access neighboring memory. If workers took blocks in turn, one would write cache lines
// next to those that another processor has just fetched: on two cores `vecadd` took three times as long
// (docs/design/cpu-device.md). So a worker takes a stretch of consecutive clusters at a time. Once the queue
// is empty, other workers take the clusters that it has not started, so that no cluster is stuck after one
// that waits for it.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <vector>

namespace lynxpp::device::cpu {

/// Thread safe. Each cluster is taken exactly once.
class ClusterQueue {
 public:
  /// Precondition: a launch has fewer than 2^56 clusters, which would take years to run.
  ClusterQueue(std::uint64_t clusters, unsigned workers);

  /// Returns the next cluster for `worker`, which is less than `workers`; nullopt if no cluster is left.
  /// `singly`: takes no stretch, for launches whose blocks wait for each other and are best started in order.
  std::optional<std::uint64_t> take(unsigned worker, bool singly);

 private:
  /// Clusters that a worker has taken but not started. Only its owner fills it, when it is empty.
  struct alignas(64) Stretch {
    std::atomic<std::uint64_t> clusters{0};  ///< the first one × 256, plus their number
  };
  static std::optional<std::uint64_t> take_from(Stretch& stretch);

  const std::uint64_t clusters_;
  const std::uint64_t stretch_;  ///< clusters per stretch
  std::vector<Stretch> stretches_;
  alignas(64) std::atomic<std::uint64_t> next_{0};  ///< first cluster that no worker has taken
};

}  // namespace lynxpp::device::cpu
