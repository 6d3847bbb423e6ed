// Shell completion of lynxpp's command lines.
#pragma once

#include <CLI/App.hpp>
#include <initializer_list>
#include <string>
#include <vector>

namespace lynxpp::cli {

/// Returns the subcommand of `app` with this name, or nullptr.
const CLI::App* subcommand_named(const CLI::App& app, const std::string& name);

/// Returns a validator that accepts only these values; complete() offers them.
CLI::Validator one_of(std::initializer_list<const char*> values);

/// Returns candidates for the last of `words` (those after "lynxpp"), which may be empty, one per line; a
/// line ":files" if file names are candidates, too, and ":command" if a program and its arguments are. They
/// are derived from the description of the command line.
std::string complete(const CLI::App& app, const std::vector<std::string>& words);

}  // namespace lynxpp::cli
