// The thread that collects results while the program runs.
#pragma once

#include <functional>
#include <memory>

namespace lynxpp::interposer {

/// Starts on the first call of wake(). Blocks all signals, so that the program's threads handle the program's
/// signals. The destructor waits until the thread no longer uses `collect`.
class ResultsWorker {
 public:
  /// `collect` collects available results and returns true if none are outstanding. It is called repeatedly,
  /// every few milliseconds, until it does.
  explicit ResultsWorker(std::function<bool()> collect);
  ~ResultsWorker();
  ResultsWorker(const ResultsWorker&) = delete;
  ResultsWorker& operator=(const ResultsWorker&) = delete;

  /// Announces outstanding results. Thread safe, and nearly free while the thread is running.
  void wake();

 private:
  struct Shared;
  std::shared_ptr<Shared> shared_;
};

}  // namespace lynxpp::interposer
