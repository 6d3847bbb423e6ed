// What `lynxpp run` and `lynxpp bench` tell the preload library through the environment.
#pragma once

#include <string>
#include <vector>

#include "cli/program.h"
#include "support/result.h"

namespace lynxpp::cli {

/// The list for LYNXPP_SPEC: files by absolute path, since the program may change its folder. Failure: one
/// that does not exist.
Result<std::string> specification_list(const std::vector<std::string>& specifications);

/// Compiles the specifications of such a list as the preload library will; says on stderr what is wrong.
bool compiles(const std::string& list);

/// The value of an option, or what the environment holds in its place, and what to call it in messages.
struct Option {
  std::string option;
  std::string text;
};
Option option_or_variable(const std::string& value, const char* option, const char* variable);

struct Filters {
  Option kernels;
  Option launches;
};

/// Whether they can be understood; empty ones can.
Status check_filters(const Filters& filters);

/// Failure: `device` is cuda and this machine has no driver.
Status check_device(const std::string& device);

/// The preload library of this build or installation.
Result<std::string> preload_library();

/// Has the program to be started find the cpu device's libcuda.so.1, where `device` (an option's value) or
/// the lack of a driver says that it is to run there.
void let_find_cpu_driver(const std::string& device);

/// LD_LIBRARY_PATH of such a program; empty where it stays as it is.
std::string library_path_for(const std::string& device);

/// `library` and behind it what LD_PRELOAD holds already.
std::string with_other_preloads(const std::string& library);

/// Finds the program to start, or says on stderr why it cannot be started and returns the exit code for that.
int find_or_complain(const std::string& name, ProgramSearch& program);

}  // namespace lynxpp::cli
