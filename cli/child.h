// Runs of the user's program whose records lynxpp reads itself.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "support/result.h"

namespace lynxpp::cli {

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

using Variables = std::map<std::string, std::string>;

/// Runs `program` with `command` as its arguments (the first is its name) and `variables` in its environment,
/// which has nothing else that speaks to lynxpp; what it prints goes to "stdout" and "stderr" in the folder.
/// The milliseconds that it took. Failure: it cannot be started or fails; `how` says how it was run.
Result<double> run_child(const std::string& program, const std::vector<std::string>& command,
                         const Variables& variables, const WorkFolder& folder, const std::string& how);

}  // namespace lynxpp::cli
