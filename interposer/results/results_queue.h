// Results of finished launches for the program itself (interposer/lynxpp.h).
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>

#include "interposer/lynxpp.h"
#include "interposer/owned_mutex.h"
#include "report/record.h"

namespace lynxpp::interposer {

/// Thread safe. Empty until keep() is called.
class ResultsQueue {
 public:
  /// Capacity in results; one result is one specification's for one launch.
  static constexpr std::size_t most = 1 << 16;

  /// Returns a sink that adds launches to the queue. The queue must outlive it.
  std::unique_ptr<report::Sink> sink();

  void keep() { is_kept_.store(true); }
  bool is_kept() const { return is_kept_.load(); }
  void add(const report::LaunchRecord& record);
  /// Passes the results present at the call to `take`, with no lock held. Returns their number.
  std::size_t take(lynxpp_take take, void* context);
  std::uint64_t missed();

 private:
  std::atomic<bool> is_kept_ = false;
  OwnedMutex<std::mutex> mutex_{LockRank::leaf};
  std::deque<report::LaunchRecord> results_;
  std::uint64_t missed_ = 0;
};

}  // namespace lynxpp::interposer
