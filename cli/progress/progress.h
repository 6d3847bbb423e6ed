// Says on a terminal how far a long command has come.
#pragma once

#include <chrono>
#include <string>

namespace lynxpp::cli {

/// One line of standard error, which is written over and is gone at the end. Writes nothing where standard
/// error is no terminal.
class Progress {
 public:
  Progress();
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  /// Several times a second at most.
  void show(const std::string& text);
  /// Before something else is written.
  void clear();

 private:
  bool is_terminal_;
  bool is_shown_ = false;
  std::chrono::steady_clock::time_point next_;
};

}  // namespace lynxpp::cli
