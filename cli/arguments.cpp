#include "cli/arguments.h"

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <algorithm>
#include <deque>
#include <iostream>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "cli/completion/complete.h"
#include "cli/diagnostics.h"
#include "cli/texts/help_formatter.h"

namespace lynxpp::cli {
namespace {

/// True if `word` is an option of `command` whose value is the next word.
bool takes_next_word(const CLI::App& command, const std::string& word) {
  const bool is_long = word.starts_with("--");
  if (is_long ? word.find('=') != std::string::npos : word.size() > 2) return false;
  for (const CLI::Option* option : command.get_options()) {
    if (option->check_name(word)) return option->get_items_expected_min() > 0;
  }
  return false;
}

/// Removes the program's command line from the end of `words` ("run", options, [--], program, arguments) and
/// returns it. The parser must not see it.
std::vector<std::string> take_command(const CLI::App& run, std::vector<std::string>& words) {
  std::size_t begin = 1;
  while (begin < words.size() && words[begin] != "--" && words[begin].size() > 1 &&
         words[begin].front() == '-') {
    begin += takes_next_word(run, words[begin]) ? 2 : 1;
  }
  if (begin >= words.size()) return {};
  const std::size_t first = words[begin] == "--" ? begin + 1 : begin;
  std::vector<std::string> command(words.begin() + static_cast<std::ptrdiff_t>(first), words.end());
  words.resize(begin);
  return command;
}

Finished usage_error(const std::string& message, const std::string& command = {}) {
  print_error(message,
              "`lynxpp " + (command.empty() ? "" : command + " ") + "--help` lists commands and options");
  return {exit_usage_error};
}

/// Returns a message if the first word is not a subcommand; it is more specific than the parser's own.
std::string unknown_subcommand(const CLI::App& app, const std::vector<std::string>& words,
                               const std::string& prefix = {}) {
  if (words.empty() || words[0].starts_with('-')) return {};
  std::vector<std::string> names;
  for (const CLI::App* subcommand : app.get_subcommands({})) names.push_back(subcommand->get_name());
  for (const std::string& name : names) {
    if (name == words[0]) return {};
  }
  const std::string close = closest_match(words[0], names);
  return "no command '" + prefix + words[0] + "'" + (close.empty() ? "" : "; did you mean '" + close + "'?");
}

/// Returns the words that name a command, "run" or "ptx run"; empty without one.
std::string command_in(const std::vector<std::string>& words) {
  if (words.empty() || words[0].starts_with('-')) return {};
  const bool has_inner = words[0] == "ptx" && words.size() > 1 && !words[1].starts_with('-');
  return words[0] + (has_inner ? " " + words[1] : "");
}

void set_up(CLI::App& app) {
  app.formatter(std::make_shared<HelpFormatter>());
  app.set_version_flag("--version", "lynxpp " LYNXPP_VERSION, "Print the version and exit");
  app.set_help_flag("-h,--help", "Print this help and exit");
  app.require_subcommand(1);
  app.footer("`lynxpp help COMMAND` and `man lynxpp` describe each command.");
}

/// A subcommand and its parsed arguments.
struct Subcommand {
  Arguments arguments;
  const CLI::App* app = nullptr;
};
using Subcommands = std::deque<Subcommand>;  // a deque: the parser keeps pointers to elements

template <typename Each>
void add(CLI::App& app, Subcommands& subcommands, CLI::App* (*add_one)(CLI::App&, Each&)) {
  Subcommand& added = subcommands.emplace_back(Subcommand{Each{}});
  added.app = add_one(app, std::get<Each>(added.arguments));
}

/// Adds the subcommands in the order in which help lists them.
Subcommands add_subcommands(CLI::App& app) {
  Subcommands subcommands;
  add(app, subcommands, add_run);
  add(app, subcommands, add_record);
  add(app, subcommands, add_bench);
  add(app, subcommands, add_limits);
  add(app, subcommands, add_characterize);
  add(app, subcommands, add_report);
  add(app, subcommands, add_merge);
  add(app, subcommands, add_trace);
  add(app, subcommands, add_diff);
  add(app, subcommands, add_check);
  add(app, subcommands, add_check_run);
  add(app, subcommands, add_triton);
  add(app, subcommands, add_instrument);
  add(app, subcommands, add_ptx);
  add(app, subcommands, add_advise);
  add(app, subcommands, add_quality);
  add(app, subcommands, add_calibrate);
  add(app, subcommands, add_band);
  add(app, subcommands, add_list);
  add(app, subcommands, add_lsp);
  return subcommands;
}

/// Returns where to store the program's command line; nullptr if the subcommand takes none.
struct ProgramOf {
  std::vector<std::string>* operator()(RunArguments& run) const { return &run.command; }
  std::vector<std::string>* operator()(RecordArguments& record) const { return &record.run.command; }
  std::vector<std::string>* operator()(CheckRunArguments& check_run) const { return &check_run.command; }
  std::vector<std::string>* operator()(TritonArguments& triton) const { return &triton.command; }
  std::vector<std::string>* operator()(BenchArguments& bench) const { return &bench.command; }
  std::vector<std::string>* operator()(LimitsArguments& limits) const { return &limits.command; }
  std::vector<std::string>* operator()(QualityArguments& quality) const { return &quality.command; }
  std::vector<std::string>* operator()(BandArguments& band) const { return &band.command; }
  template <typename Other>
  std::vector<std::string>* operator()(Other&) const {
    return nullptr;
  }
};

/// Same, for subcommands that take a program only after "--": earlier words are files or programs.
struct ProgramAfterDashes {
  std::vector<std::string>* operator()(AdviseArguments& advise) const { return &advise.command; }
  std::vector<std::string>* operator()(CharacterizeArguments& each) const { return &each.command; }
  template <typename Other>
  std::vector<std::string>* operator()(Other&) const {
    return nullptr;
  }
};

/// Moves a program's command line from the end of `words` to the arguments of the subcommand.
void take_program(Subcommands& subcommands, std::vector<std::string>& words) {
  for (Subcommand& each : subcommands) {
    if (words.empty() || words[0] != each.app->get_name()) continue;
    if (auto* const program = std::visit(ProgramOf{}, each.arguments))
      *program = take_command(*each.app, words);
    if (auto* const program = std::visit(ProgramAfterDashes{}, each.arguments)) {
      const auto divider = std::ranges::find(words, "--");
      if (divider != words.end()) program->assign(divider + 1, words.end());
      words.erase(divider, words.end());
    }
  }
}

/// If the words name no subcommand, prints an error and returns its exit code.
std::optional<Finished> refuse_unknown(const CLI::App& app, const std::vector<std::string>& words) {
  if (const std::string complaint = unknown_subcommand(app, words); !complaint.empty())
    return usage_error(complaint);
  if (words.size() > 1 && words[0] == "ptx") {
    const CLI::App& ptx = *app.get_subcommand(words[0]);
    const std::string complaint = unknown_subcommand(ptx, {words.begin() + 1, words.end()}, "ptx ");
    if (!complaint.empty()) return usage_error(complaint, words[0]);
  }
  return std::nullopt;
}

/// Returns an error about missing or conflicting arguments that the parser does not detect; empty: no error.
struct MistakeIn {
  std::string operator()(const RunArguments& run) const {
    return run.command.empty() ? "no program to run" : "";
  }
  std::string operator()(const RecordArguments& record) const {
    if (record.measure && record.run.output.find('%') != std::string::npos)
      return "--measure needs one record file: leave out the pattern";
    return (*this)(record.run);
  }
  std::string operator()(const BenchArguments& bench) const {
    if (bench.elapsed && !bench.compare.empty()) return "--compare compares kernels: leave out --elapsed";
    return bench.command.empty() ? "no program to run" : "";
  }
  std::string operator()(const CheckRunArguments& check_run) const {
    return check_run.command.empty() ? "no program to run" : "";
  }
  std::string operator()(const TritonArguments& triton) const {
    return triton.command.empty() ? "no program to run" : "";
  }
  std::string operator()(const LimitsArguments& limits) const {
    if (limits.from.empty()) return limits.command.empty() ? "no program to run" : "";
    return limits.command.empty() ? "" : "--from replaces the program; give one of them";
  }
  std::string operator()(const QualityArguments& quality) const {
    return quality.command.empty() ? "no program to measure" : "";
  }
  std::string operator()(const CheckArguments& check) const {
    return check.files.empty() && check.one_liners.empty() ? "no specification to check" : "";
  }
  std::string operator()(const AdviseArguments& advise) const {
    const bool lists = advise.machine == "list";
    const bool is_run = !advise.command.empty(), is_kept = !advise.observed.from.empty();
    if (advise.files.empty() && !is_run && !is_kept && !lists) return "no description or program given";
    if (!advise.files.empty() && (is_run || is_kept)) return "give descriptions or a program, not both";
    return is_kept && is_run ? "--from replaces the program; give one of them" : "";
  }
  std::string operator()(const ControlArguments& control) const {
    const bool has_texts = !control.specifications.empty() || !control.one_liners.empty();
    const bool attaches = control.command == ControlArguments::Command::attach;
    return attaches && !has_texts ? "no specification to attach" : "";
  }
  template <typename Other>
  std::string operator()(const Other&) const {
    return {};
  }
};

/// Returns the arguments of the parsed subcommand.
Arguments& parsed_arguments(const CLI::App& app, Subcommands& subcommands, Arguments& control) {
  for (Subcommand& each : subcommands) {
    if (app.got_subcommand(each.app)) return each.arguments;
  }
  return control;
}

}  // namespace

Arguments parse_arguments(int count, char** values) {
  CLI::App app{"Instruments the CUDA kernels of unmodified programs at run time.", "lynxpp"};
  set_up(app);
  Subcommands subcommands = add_subcommands(app);
  Arguments control = ControlArguments{};
  add_control(app, std::get<ControlArguments>(control));

  std::vector<std::string> words(values + 1, values + count);
  if (words.size() > 1 && words[0] == "complete" && words[1] == "--") {  // shell completion
    std::cout << complete(app, {words.begin() + 2, words.end()});
    return Finished{};
  }
  // `help` and `help COMMAND` are `--help` and `COMMAND --help`.
  if (!words.empty() && words[0] == "help") {
    words.erase(words.begin());
    words.emplace_back("--help");
  }
  if (const std::optional<Finished> refused = refuse_unknown(app, words)) return *refused;
  take_program(subcommands, words);
  const std::string command = command_in(words);
  try {
    app.parse(std::vector<std::string>(words.rbegin(), words.rend()));  // the parser reads words from the end
  } catch (const CLI::Success& request) {                               // help or version was requested
    return Finished{app.exit(request, std::cout, std::cerr)};
  } catch (const CLI::ParseError& error) {
    if (!words.empty() && command.empty()) return usage_error("no option '" + words[0] + "'", command);
    return usage_error(error.what(), command);
  }
  Arguments& parsed = parsed_arguments(app, subcommands, control);
  const std::string mistake = std::visit(MistakeIn{}, parsed);
  if (!mistake.empty()) return usage_error(mistake, command);
  return std::move(parsed);
}

}  // namespace lynxpp::cli
