// Programs and files `lynxpp run` needs to find.
#pragma once

#include <string>

namespace lynxpp::cli {

struct ProgramSearch {
  enum class Outcome { found, missing, not_executable };
  Outcome outcome = Outcome::missing;
  std::string path;  ///< found: what to execute; not_executable: what was there
};

/// As the shell searches: a name without '/' in the folders of PATH.
ProgramSearch find_program(const std::string& name);

/// Why a preloaded library does not reach the program (statically linked, set-user-ID), as the end of a
/// sentence; empty when nothing stands against it.
std::string preload_obstacle(const std::string& path);

/// Whether the program names the functions of lynxpp.h: it attaches what it wants by itself.
bool uses_program_api(const std::string& path);

/// The folder of this executable; empty when the system does not tell.
std::string executable_folder();

/// `path` seen from the current folder, without "." and "..".
std::string absolute_path(const std::string& path);

}  // namespace lynxpp::cli
