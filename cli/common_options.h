// Options that several commands share.
#pragma once

#include <string>
#include <vector>

namespace CLI {
class App;
class Validator;
}  // namespace CLI

namespace lynxpp::cli {

/// Adds -s, which may be repeated but takes one value each time, so that later words are positional.
void add_specifications(
    CLI::App& command, std::vector<std::string>& specifications, bool required,
    const char* help = "Ready-made name, .cod file or - (stdin); comma-separated or repeated");
/// Adds -e, likewise.
void add_one_liners(CLI::App& command, std::vector<std::string>& one_liners);

/// Adds -k.
void add_kernels(CLI::App& command, std::string& kernels);
/// Adds -k and -l.
void add_filters(CLI::App& command, std::string& kernels, std::string& launches);

/// Returns a validator that rejects names of HTML files: the command writes records there, not a page.
CLI::Validator record_file();

/// Adds -d.
void add_device(CLI::App& command, std::string& device);

/// Adds --words.
void add_word_scheme(CLI::App& command, std::string& words);
/// Adds --sm.
void add_compute_capability(CLI::App& command, int& sm, const char* help);

}  // namespace lynxpp::cli
