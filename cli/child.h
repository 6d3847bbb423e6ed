// Runs programs and waits for them.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "report/reader.h"
#include "support/result.h"

namespace lynxpp::cli {

/// Environment variables.
using Variables = std::map<std::string, std::string>;

/// A folder for the runs' output, removed at the end.
class WorkFolder {
 public:
  WorkFolder();
  ~WorkFolder();
  WorkFolder(const WorkFolder&) = delete;
  WorkFolder& operator=(const WorkFolder&) = delete;

  bool exists() const { return !path_.empty(); }
  std::string file(const std::string& name) const { return (path_ / name).string(); }

 private:
  std::filesystem::path path_;
};

/// Added to a signal's number: the exit code of a program that the signal ended.
inline constexpr int exit_of_signal = 128;

/// Runs the program in this terminal with this process's environment. Returns its exit code, or
/// exit_of_signal plus the number of the signal that ended it.
int run_in_terminal(const std::string& path, const std::vector<std::string>& command);

struct ChildRun {
  double milliseconds = 0;            ///< wall time of the process
  double processor_milliseconds = 0;  ///< user and system time of the process and of children it waited for
  std::string output;                 ///< its standard output
};

/// Runs `command`, whose program is at `path`, with this process's environment minus lynxpp's variables, plus
/// `variables`. If these include LD_PRELOAD and the program runs on the cpu device, it finds that device's
/// libcuda.so.1. Fails if the program cannot be started or fails; `how` ends the sentence that names the
/// setting.
Result<ChildRun> run_child(const std::string& path, const std::vector<std::string>& command,
                           const Variables& variables, const WorkFolder& folder, const std::string& how);

}  // namespace lynxpp::cli
