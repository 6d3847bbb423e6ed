#include "cli/arguments.h"

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <algorithm>
#include <deque>
#include <iostream>
#include <map>
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

/// The command that the first words name, for example "ptx run".
struct NamedCommand {
  const CLI::App* app = nullptr;  ///< that of lynxpp if the words name none
  std::string name;
  std::size_t words = 0;  ///< of the name
};

NamedCommand command_in(const CLI::App& app, const std::vector<std::string>& words) {
  NamedCommand command{&app, "", 0};
  for (const std::string& word : words) {
    const CLI::App* const inner = subcommand_named(*command.app, word);
    if (inner == nullptr) break;
    command = {inner, command.name + (command.name.empty() ? "" : " ") + word, command.words + 1};
  }
  return command;
}

/// Replaces the name that a command had in version 0.1, and says so.
void replace_old_name(std::vector<std::string>& words) {
  static const std::map<std::string, std::string> outer_commands = {{"calibrate", "band"},
                                                                    {"diff", "report"},
                                                                    {"instrument", "ptx"},
                                                                    {"merge", "report"},
                                                                    {"trace", "report"}};
  const auto found = words.empty() ? outer_commands.end() : outer_commands.find(words[0]);
  if (found == outer_commands.end()) return;
  const auto& [inner, outer] = *found;
  print_warning("`lynxpp " + inner + "` is now `lynxpp " + outer + " " + inner +
                "`; the old name will be removed");
  words.insert(words.begin(), outer);
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
CLI::App* add(CLI::App& app, Subcommands& subcommands, CLI::App* (*add_one)(CLI::App&, Each&)) {
  Subcommand& added = subcommands.emplace_back(Subcommand{Each{}});
  CLI::App* const command = add_one(app, std::get<Each>(added.arguments));
  added.app = command;
  return command;
}

/// Adds the commands in the order in which help lists them, inner ones after their outer one. `control`: the
/// arguments of the commands that control a running program.
Subcommands add_subcommands(CLI::App& app, ControlArguments& control) {
  Subcommands all;
  const auto in_group = [](const char* group, const std::vector<CLI::App*>& commands) {
    for (CLI::App* const each : commands) each->group(group);
  };
  in_group("Measure a program", {add(app, all, add_run), add(app, all, add_record), add(app, all, add_bench),
                                 add(app, all, add_limits)});
  CLI::App* const report = add(app, all, add_report);
  add(*report, all, add_diff);
  add(*report, all, add_merge);
  add(*report, all, add_trace);
  in_group("Look at records", {report});  // later, as inner commands would inherit the group
  in_group("Check a program without a GPU", {add(app, all, add_check_run), add(app, all, add_triton)});
  in_group("Control a running program", add_control(app, control));
  CLI::App* const advise = add(app, all, add_advise);
  CLI::App* const quality = add(app, all, add_quality);
  CLI::App* const band = add(app, all, add_band);
  add(*band, all, add_calibrate);
  in_group("Predict by the papers' models (docs/trust.md says how far to trust them)",
           {advise, quality, band, add(app, all, add_characterize)});
  CLI::App* const list = add(app, all, add_list);
  CLI::App* const check = add(app, all, add_check);
  CLI::App* const ptx = add(app, all, add_ptx);
  add(*ptx, all, add_instrument);
  in_group("Write specifications, look at PTX", {list, check, ptx, add(app, all, add_lsp)});
  return all;
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
void take_program(const NamedCommand& command, Subcommands& subcommands, std::vector<std::string>& words) {
  for (Subcommand& each : subcommands) {
    if (each.app != command.app) continue;
    if (auto* const program = std::visit(ProgramOf{}, each.arguments))
      *program = take_command(*each.app, words);
    if (auto* const program = std::visit(ProgramAfterDashes{}, each.arguments)) {
      const auto divider = std::ranges::find(words, "--");
      if (divider != words.end()) program->assign(divider + 1, words.end());
      words.erase(divider, words.end());
    }
  }
}

/// If an unknown word is where a command must be, prints an error and returns its exit code.
std::optional<Finished> refuse_unknown(const NamedCommand& command, const std::vector<std::string>& words) {
  if (command.app->get_require_subcommand_min() == 0 || command.words == words.size()) return std::nullopt;
  const std::string& word = words[command.words];
  if (word.starts_with('-')) return std::nullopt;
  std::vector<std::string> names;
  for (const CLI::App* each : command.app->get_subcommands({})) names.push_back(each->get_name());
  const std::string close = closest_match(word, names);
  return usage_error("no command '" + command.name + (command.name.empty() ? "" : " ") + word + "'" +
                         (close.empty() ? "" : "; did you mean '" + close + "'?"),
                     command.name);
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
  std::string operator()(const ReportArguments& report) const {
    return report.files.empty() ? "no record file to show" : "";
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

/// Returns the arguments of the parsed command.
Arguments& parsed_arguments(const NamedCommand& command, Subcommands& subcommands, Arguments& control) {
  // The commands of ptx share its arguments, except `ptx instrument`, which has its own.
  const auto found =
      std::ranges::find_if(subcommands.rbegin(), subcommands.rend(), [&](const Subcommand& each) {
        return each.app == command.app || each.app == command.app->get_parent();
      });
  return found == subcommands.rend() ? control : found->arguments;
}

}  // namespace

Arguments parse_arguments(int count, char** values) {
  CLI::App app{"Instruments the CUDA kernels of unmodified programs at run time.", "lynxpp"};
  set_up(app);
  Arguments control = ControlArguments{};
  Subcommands subcommands = add_subcommands(app, std::get<ControlArguments>(control));

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
  replace_old_name(words);
  const NamedCommand command = command_in(app, words);
  if (const std::optional<Finished> refused = refuse_unknown(command, words)) return *refused;
  take_program(command, subcommands, words);
  try {
    app.parse(std::vector<std::string>(words.rbegin(), words.rend()));  // the parser reads words from the end
  } catch (const CLI::Success& request) {                               // help or version was requested
    return Finished{app.exit(request, std::cout, std::cerr)};
  } catch (const CLI::ParseError& error) {
    if (!words.empty() && command.app == &app) return usage_error("no option '" + words[0] + "'");
    return usage_error(error.what(), command.name);
  }
  Arguments& parsed = parsed_arguments(command, subcommands, control);
  const std::string mistake = std::visit(MistakeIn{}, parsed);
  if (!mistake.empty()) return usage_error(mistake, command.name);
  return std::move(parsed);
}

}  // namespace lynxpp::cli
