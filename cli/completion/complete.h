// What shells offer behind the words of a command line that is being typed.
#pragma once

#include <CLI/App.hpp>
#include <initializer_list>
#include <string>
#include <vector>

namespace lynxpp::cli {

/// Accepts these values only; complete() knows them.
CLI::Validator one_of(std::initializer_list<const char*> values);

/// Candidates for the last one of `words` (what stands behind "lynxpp"), which may be empty, one a line; a
/// line ":files" where names of files are wanted, too, ":command" where a program and its arguments. Follows
/// from the description of the command line.
std::string complete(const CLI::App& app, const std::vector<std::string>& words);

}  // namespace lynxpp::cli
