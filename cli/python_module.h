// Runs a module of lynxpp's Python package as the implementation of a command.
#pragma once

#include <string>
#include <vector>

namespace lynxpp::cli {

/// Runs `PYTHON -m MODULE WORDS` in this terminal, with the package and the libraries of this build or
/// installation. Returns its exit code, or that of an error that it prints: the package or the Python is
/// missing.
int run_python_module(const std::string& python, const std::string& module, std::vector<std::string> words);

}  // namespace lynxpp::cli
