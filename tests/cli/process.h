// Starts a program and collects its output.
#pragma once

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

namespace lynxpp::cli {

struct Outcome {
  int exit_code = -1;  ///< 128 + signal if a signal ended it
  std::string out;
  std::string err;
};

/// `environment` is added to this process's environment without LD_PRELOAD and LYNXPP_*; an empty value
/// unsets.
Outcome start(const std::vector<std::string>& command,
              const std::vector<std::pair<std::string, std::string>>& environment = {},
              const std::string& folder = {});

/// Runs the lynxpp command of this build.
Outcome lynxpp(std::vector<std::string> arguments);

/// A folder of this test, removed with it.
class TemporaryFolder {
 public:
  TemporaryFolder();
  ~TemporaryFolder();
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  std::string path(const std::string& name = {}) const;
  /// Writes a file and returns its path.
  std::string write(const std::string& name, const std::string& text) const;

 private:
  std::filesystem::path path_;
};

/// Makes an installation in the folder: the command, the engine library, and `preload` as lib/liblynxpp.so.
void install_with(const std::string& preload, const TemporaryFolder& folder);

}  // namespace lynxpp::cli
