// Launches that are in progress.
#pragma once

#include <atomic>
#include <chrono>
#include <thread>

namespace lynxpp::interposer {

/// Counts the threads that are in the middle of a launch. Thread safe.
class Launches {
 public:
  /// During its lifetime, the thread is in the middle of a launch.
  class Here {
   public:
    explicit Here(Launches& launches) : launches_(launches) {
      ++launches_.in_progress_;
      ++depth();
    }
    ~Here() {
      --depth();
      --launches_.in_progress_;
    }
    Here(const Here&) = delete;
    Here& operator=(const Here&) = delete;

   private:
    Launches& launches_;
  };

  static bool is_in_this_thread() { return depth() != 0; }

  /// Waits until no launch is in progress. Returns false after `patience`.
  bool are_made_within(std::chrono::milliseconds patience) const {
    const auto latest = std::chrono::steady_clock::now() + patience;
    while (in_progress_ != 0 && std::chrono::steady_clock::now() < latest)
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    return in_progress_ == 0;
  }

 private:
  static int& depth() {
    static thread_local int launches_of_thread = 0;
    return launches_of_thread;
  }

  std::atomic<int> in_progress_ = 0;
};

}  // namespace lynxpp::interposer
