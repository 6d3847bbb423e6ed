// Options that several commands have, with the same meaning and the same words.
#pragma once

#include <CLI/App.hpp>
#include <string>
#include <vector>

namespace lynxpp::cli {

/// -s, which may be repeated but takes one word each time, so that the words after it stay free.
void add_specifications(
    CLI::App& command, std::vector<std::string>& specifications, bool required,
    const char* help = "Ready-made name, .cod file or -; several with commas or repeated");
/// -e, likewise.
void add_one_liners(CLI::App& command, std::vector<std::string>& one_liners);

/// -k
void add_kernels(CLI::App& command, std::string& kernels);
/// -k and -l
void add_filters(CLI::App& command, std::string& kernels, std::string& launches);

/// -d
void add_device(CLI::App& command, std::string& device);

}  // namespace lynxpp::cli
