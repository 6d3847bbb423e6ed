#include "device/cpu/simt/execute/order/cluster_queue.h"

#include <algorithm>

namespace lynxpp::device::cpu {
namespace {

/// Least number of stretches per worker if the launch has enough clusters, so that workers finish at about
/// the same time.
constexpr std::uint64_t stretches_for_each_worker = 16;
constexpr std::uint64_t longest_stretch = 64;
static_assert(longest_stretch < 256);

}  // namespace

ClusterQueue::ClusterQueue(std::uint64_t clusters, unsigned workers)
    : clusters_(clusters),
      stretch_(workers == 1 ? 1
                            : std::clamp<std::uint64_t>(clusters / (workers * stretches_for_each_worker), 1,
                                                        longest_stretch)),
      stretches_(stretch_ == 1 ? 0 : workers) {}

std::optional<std::uint64_t> ClusterQueue::take_from(Stretch& stretch) {
  std::uint64_t clusters = stretch.clusters.load(std::memory_order_relaxed);
  while (clusters % 256 != 0) {
    const std::uint64_t others = clusters + 256 - 1;
    if (stretch.clusters.compare_exchange_weak(clusters, others, std::memory_order_relaxed))
      return clusters / 256;
  }
  return std::nullopt;
}

std::optional<std::uint64_t> ClusterQueue::take(unsigned worker, bool singly) {
  if (!stretches_.empty()) {
    if (const auto own = take_from(stretches_[worker])) return own;
  }
  const std::uint64_t wanted = singly || stretches_.empty() ? 1 : stretch_;
  if (next_.load(std::memory_order_relaxed) < clusters_) {
    const std::uint64_t first = next_.fetch_add(wanted, std::memory_order_relaxed);
    if (first < clusters_) {
      const std::uint64_t count = std::min(wanted, clusters_ - first);
      if (count > 1)
        stretches_[worker].clusters.store((first + 1) * 256 + count - 1, std::memory_order_relaxed);
      return first;
    }
  }
  for (Stretch& stretch : stretches_) {
    if (const auto anothers = take_from(stretch)) return anothers;
  }
  return std::nullopt;
}

}  // namespace lynxpp::device::cpu
