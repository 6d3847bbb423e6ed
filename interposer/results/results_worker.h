// The thread that takes results while the program goes on.
#pragma once

#include <functional>
#include <memory>

namespace lynxpp::interposer {

/// Begins with the first call of wake(); all signals are blocked in it, so that the program's are handled by
/// the program's threads. Destroying it waits until the thread no longer uses `collect`.
class ResultsWorker {
 public:
  /// `collect` takes what is there, and returns whether nothing is left to look for. It is called again and
  /// again, a millisecond or a few apart, until it does.
  explicit ResultsWorker(std::function<bool()> collect);
  ~ResultsWorker();
  ResultsWorker(const ResultsWorker&) = delete;
  ResultsWorker& operator=(const ResultsWorker&) = delete;

  /// There is something to collect. Thread safe, and next to free while the thread is at work.
  void wake();

 private:
  struct Shared;
  std::shared_ptr<Shared> shared_;
};

}  // namespace lynxpp::interposer
