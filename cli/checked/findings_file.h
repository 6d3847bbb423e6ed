// The files that `lynxpp check-run --format` writes.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace lynxpp::cli {

/// The output of a checked program's processes, and how the program ended.
struct CheckedProgram {
  std::vector<nlohmann::ordered_json>
      objects;         ///< docs/schema/check.schema.json; each process ends with a summary
  std::string file;    ///< of the program
  std::string folder;  ///< absolute: the working directory
  int exit_code = 0;
  bool has_checked = false;  ///< false if no process has launched a kernel
};

/// Returns the text that the processes have printed.
std::string findings_text(const CheckedProgram& program);

/// Returns a SARIF 2.1.0 log. Paths are relative to the working directory (%SRCROOT%) if they are under it.
/// Findings without a source line are located in the file of their process, since code scanning ignores
/// results without a file. Errors and hazards have the level "error", warnings "warning". Fingerprints are
/// made of the text of the source lines, so that they stay the same if lines move.
std::string sarif_log(const CheckedProgram& program);

}  // namespace lynxpp::cli
