#include "cli/common_options.h"

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>

#include "cli/completion/complete.h"

namespace lynxpp::cli {
namespace {

CLI::Option* add_repeated(CLI::App& command, const char* name, std::vector<std::string>& words,
                          const char* help) {
  return command.add_option(name, words, help)
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
      ->allow_extra_args(false);
}

}  // namespace

void add_specifications(CLI::App& command, std::vector<std::string>& specifications, bool required,
                        const char* help) {
  add_repeated(command, "-s,--spec", specifications, help)->type_name("SPEC")->required(required);
}

void add_one_liners(CLI::App& command, std::vector<std::string>& one_liners) {
  add_repeated(command, "-e,--execute", one_liners, "Specification text; its variables are declared by use")
      ->type_name("TEXT");
}

void add_kernels(CLI::App& command, std::string& kernels) {
  command
      .add_option("-k,--kernels", kernels, "Only kernels whose mangled or demangled name contains a match")
      ->type_name("REGEX");
}

void add_filters(CLI::App& command, std::string& kernels, std::string& launches) {
  add_kernels(command, kernels);
  command
      .add_option("-l,--launches", launches, "Only these launches of each kernel, from 0, e.g. 0-9,100,200-")
      ->type_name("LIST");
}

CLI::Validator record_file() {
  return CLI::Validator(
      [](std::string& name) -> std::string {
        if (!name.ends_with(".html") && !name.ends_with(".htm")) return {};
        return "a record file has JSON Lines; `lynxpp report FILE --format html -o " + name +
               "` makes a page from it";
      },
      "");
}

void add_device(CLI::App& command, std::string& device) {
  command.add_option("-d,--device", device, "auto, cuda, or cpu (built in, for machines without a GPU)")
      ->type_name("DEVICE")
      ->check(one_of({"auto", "cuda", "cpu"}));
}

void add_word_scheme(CLI::App& command, std::string& words) {
  command
      .add_option("--words", words, "Counting scheme for memory words (default: exact), e.g. static,plain")
      ->type_name("SCHEME");
}

void add_compute_capability(CLI::App& command, int& sm, const char* help) {
  command.add_option("--sm", sm, help)->type_name("NUMBER")->check(CLI::Range(50, 200).description(""));
}

}  // namespace lynxpp::cli
