// Programs that a command starts and waits for.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "report/reader.h"
#include "support/result.h"

namespace lynxpp::cli {

/// Of an environment.
using Variables = std::map<std::string, std::string>;

/// A folder for what the runs write, removed at the end.
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

/// Exit code of a program that a signal ended, minus the signal's number.
inline constexpr int exit_of_signal = 128;

/// Runs the program in this terminal with this process's environment. Returns its exit code, or
/// exit_of_signal plus the number of the signal that ended it.
int run_in_terminal(const std::string& path, const std::vector<std::string>& command);

struct ChildRun {
  double milliseconds = 0;            ///< start to end of the process
  double processor_milliseconds = 0;  ///< user and system time of it and of children that it waited for
  std::string output;                 ///< what it wrote to standard output
};

/// Runs `command`, whose program lies at `path`, with this process's environment less what speaks to lynxpp,
/// and with `variables`; with LD_PRELOAD among them it finds the cpu device's libcuda.so.1 where it is to run
/// there. Failure: it cannot be started, or fails; `how`, the end of a sentence, says in which
/// setting.
Result<ChildRun> run_child(const std::string& path, const std::vector<std::string>& command,
                           const Variables& variables, const WorkFolder& folder, const std::string& how);

}  // namespace lynxpp::cli
