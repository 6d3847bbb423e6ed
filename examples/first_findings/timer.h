// Times the kernels of these programs between events, in rounds. Prints "kernel_ms MEDIAN LOWER UPPER"
// (quartiles) on stderr if there are several rounds.
#pragma once
#include <algorithm>
#include <cstdio>
#include <vector>

class Timer {
 public:
  Timer() {
    cudaEventCreate(&begin_);
    cudaEventCreate(&end_);
  }
  void start() { cudaEventRecord(begin_); }
  void stop() {
    cudaEventRecord(end_);
    cudaEventSynchronize(end_);
    float milliseconds = 0;
    cudaEventElapsedTime(&milliseconds, begin_, end_);
    round_ += milliseconds;
  }
  void end_round() {
    rounds_.push_back(round_);
    round_ = 0;
  }
  ~Timer() {
    if (rounds_.size() < 2) return;
    std::sort(rounds_.begin(), rounds_.end());
    const std::size_t last = rounds_.size() - 1;
    std::fprintf(stderr, "kernel_ms %.6f %.6f %.6f\n", rounds_[last / 2], rounds_[last / 4],
                 rounds_[last * 3 / 4]);
  }

 private:
  cudaEvent_t begin_, end_;
  double round_ = 0;
  std::vector<double> rounds_;
};
