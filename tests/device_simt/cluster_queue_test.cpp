// Every block of a launch runs exactly once, however slow a worker is.
#include "device/cpu/simt/execute/order/cluster_queue.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

namespace lynxpp::device::cpu::test {
namespace {

TEST(ClusterQueue, AWorkerTakesNeighboringClusters) {
  ClusterQueue queue(6400, 2);
  for (std::uint64_t i = 0; i < 64; ++i) EXPECT_EQ(queue.take(0, false), i);
  for (std::uint64_t i = 64; i < 128; ++i) EXPECT_EQ(queue.take(1, false), i);
  EXPECT_EQ(queue.take(0, false), 128u);
}

TEST(ClusterQueue, FewClustersAreTakenOneByOne) {
  ClusterQueue queue(31, 2);
  for (std::uint64_t i = 0; i < 31; ++i) EXPECT_EQ(queue.take(i % 2, false), i);
  EXPECT_EQ(queue.take(0, false), std::nullopt);
  EXPECT_EQ(queue.take(1, true), std::nullopt);
}

/// The worker that is waited for has taken clusters but not started them.
TEST(ClusterQueue, OthersTakeClustersThatAWorkerDoesNotStart) {
  ClusterQueue queue(160, 2);  // stretches of five
  EXPECT_EQ(queue.take(0, false), 0u);
  for (std::uint64_t i = 5; i < 160; ++i) EXPECT_EQ(queue.take(1, false), i);
  for (std::uint64_t i = 1; i < 5; ++i) EXPECT_EQ(queue.take(1, true), i);
  EXPECT_EQ(queue.take(0, false), std::nullopt);
  EXPECT_EQ(queue.take(1, false), std::nullopt);
}

TEST(ClusterQueue, SingleTakesFetchNothingAhead) {
  ClusterQueue queue(6400, 2);
  EXPECT_EQ(queue.take(0, true), 0u);
  EXPECT_EQ(queue.take(1, true), 1u);
  EXPECT_EQ(queue.take(1, true), 2u);
  EXPECT_EQ(queue.take(0, false), 3u);
  EXPECT_EQ(queue.take(1, true), 67u);
  EXPECT_EQ(queue.take(0, true), 4u);
}

TEST(ClusterQueue, ThreadsGetEachClusterOnce) {
  constexpr std::uint64_t clusters = 100'003;
  constexpr unsigned workers = 5;
  ClusterQueue queue(clusters, workers);
  std::vector<std::atomic<int>> taken(clusters);
  std::vector<std::thread> threads;
  for (unsigned worker = 0; worker < workers; ++worker) {
    threads.emplace_back([&, worker] {
      for (std::uint64_t i = 0;; ++i) {
        const std::optional<std::uint64_t> cluster = queue.take(worker, i % 7 == 0);
        if (!cluster) return;
        taken[*cluster].fetch_add(1);
        if (worker == 0) std::this_thread::yield();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (std::uint64_t i = 0; i < clusters; ++i) ASSERT_EQ(taken[i].load(), 1) << i;
}

}  // namespace
}  // namespace lynxpp::device::cpu::test
