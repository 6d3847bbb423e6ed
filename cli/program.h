// Finds programs and files for `lynxpp run`.
#pragma once

#include <string>

namespace lynxpp::cli {

struct ProgramSearch {
  enum class Outcome { found, missing, not_executable };
  Outcome outcome = Outcome::missing;
  std::string path;  ///< found: what to execute; not_executable: the file
};

/// Searches as a shell does: a name without '/' in the folders of PATH.
ProgramSearch find_program(const std::string& name);

/// Returns why a preloaded library does not reach the program (statically linked, set-user-ID), as the end of
/// a sentence; empty if it does.
std::string preload_obstacle(const std::string& path);

/// True if the program uses the functions of lynxpp.h: it attaches specifications itself.
bool uses_program_api(const std::string& path);

/// Returns the folder of this executable; empty if the system does not report it.
std::string executable_folder();

/// Returns the absolute path without "." and "..".
std::string absolute_path(const std::string& path);

}  // namespace lynxpp::cli
