// Shows the progress of a long command on a terminal.
#pragma once

#include <chrono>
#include <string>

namespace lynxpp::cli {

/// A line on standard error that is overwritten, and erased at the end. If standard error is not a terminal,
/// nothing is written.
class Progress {
 public:
  Progress();
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  /// Replaces the line, but only a few times per second.
  void show(const std::string& text);
  /// Erases the line. Call this before other output.
  void clear();

 private:
  bool is_terminal_;
  bool is_shown_ = false;
  std::chrono::steady_clock::time_point next_;
};

}  // namespace lynxpp::cli
