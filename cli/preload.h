// Prepares the environment through which `lynxpp run` and `lynxpp bench` configure the preload library.
#pragma once

#include <string>
#include <vector>

#include "cli/program.h"
#include "support/result.h"

namespace lynxpp::cli {

/// Returns the list for LYNXPP_SPEC, with absolute paths, since the program may change its folder. Fails if a
/// file does not exist.
Result<std::string> specification_list(const std::vector<std::string>& specifications);

/// Compiles the user's specifications of such a list as the preload library would; prints errors on stderr.
bool compiles(const std::string& list);

/// The value of an option or of its environment variable, and its name for messages.
struct Option {
  std::string option;
  std::string text;
};
Option option_or_variable(const std::string& value, const char* option, const char* variable);

struct Filters {
  Option kernels;
  Option launches;
};

/// Fails if a filter is invalid; empty ones are valid.
Status check_filters(const Filters& filters);

/// Fails if `device` is cuda and this machine has no driver.
Status check_device(const std::string& device);

/// Returns the preload library of this build or installation, as LD_PRELOAD names it. If its path contains a
/// blank, this is its file name, and its folder is added to LD_LIBRARY_PATH of this process and its programs.
Result<std::string> preload_library();

/// Lets the program find the cpu device's libcuda.so.1, and its libcudart.so if the machine has none, if
/// `device` (an option's value) or the lack of a driver selects that device.
void add_cpu_driver_path(const std::string& device);

/// Returns LD_LIBRARY_PATH for such a program; empty if it need not change.
std::string library_path_for(const std::string& device);

/// Returns `library` followed by the current value of LD_PRELOAD.
std::string with_other_preloads(const std::string& library);

/// Finds the program to start. If it cannot be started, prints why, with the hint if it is missing, and
/// returns the exit code.
int find_or_report(const std::string& name, ProgramSearch& program, const std::string& hint = {});

}  // namespace lynxpp::cli
