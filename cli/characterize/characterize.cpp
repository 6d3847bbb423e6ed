// `lynxpp characterize`: classifies the kernels of programs, after the Lynx paper's section IV-B.
#include <unistd.h>
#include <wordexp.h>

#include <cstdio>
#include <filesystem>
#include <set>
#include <string>
#include <system_error>
#include <vector>

#include "cli/characterize/arguments.h"
#include "cli/characterize/kernels.h"
#include "cli/characterize/output.h"
#include "cli/child.h"
#include "cli/commands.h"
#include "cli/diagnostics.h"
#include "cli/exit_code.h"
#include "cli/preload.h"
#include "cli/program.h"
#include "cli/progress/progress.h"
#include "report/reader.h"
#include "report/tables/table_sink.h"
#include "support/text.h"

namespace lynxpp::cli {
namespace {

using Command = std::vector<std::string>;

/// Splits the text as a shell does, without command substitution. Fails on a syntax error.
Result<Command> words_of(const std::string& text) {
  wordexp_t expanded{};
  const int problem = ::wordexp(text.c_str(), &expanded, WRDE_NOCMD | WRDE_UNDEF);
  Command words;
  if (problem == 0) words.assign(expanded.we_wordv, expanded.we_wordv + expanded.we_wordc);
  if (problem == 0 || problem == WRDE_NOSPACE) ::wordfree(&expanded);
  if (problem == WRDE_BADVAL) return failure("'" + text + "' names a variable that is not set");
  if (problem == WRDE_SYNTAX) return failure("'" + text + "' has no closing quotation mark");
  if (problem != 0)
    return failure("'" + text + "' is not a program with arguments",
                   "put |, &, ;, <, >, brackets and $( in single quotes, or in a script");
  if (words.empty()) return failure("a command is empty");
  return words;
}

Result<std::vector<Command>> commands_of(const CharacterizeArguments& arguments) {
  std::vector<std::string> texts = arguments.programs;
  if (!arguments.list.empty()) {
    std::string list;
    if (!read_file(arguments.list, list)) return failure(cannot_read(arguments.list));
    for (const std::string& line : split(list, '\n')) {
      const std::string_view text = trim(line);
      if (!text.empty() && text.front() != '#') texts.emplace_back(text);
    }
  }
  std::vector<Command> commands;
  for (const std::string& text : texts) {
    Result<Command> words = words_of(text);
    if (!words) return words.error();
    commands.push_back(std::move(*words));
  }
  if (!arguments.command.empty()) commands.push_back(arguments.command);
  if (commands.empty()) return failure(arguments.list + " names no program");
  return commands;
}

/// Warns of kernels that are not in the table, with the reason.
void warn_of_missing_kernels(const std::string& program, const std::vector<report::Record>& records) {
  std::set<std::string> named;
  for (const report::Record& record : records) {
    const auto* coverage = std::get_if<report::CoverageRecord>(&record);
    if (coverage == nullptr || coverage->instrumented || coverage->reason.empty()) continue;
    const bool is_unwanted = coverage->reason.find("selected by") != std::string::npos;
    if (is_unwanted) continue;
    if (named.insert(coverage->kernel).second)
      print_warning(program + ": " + demangle(coverage->kernel) + " is left out: " + coverage->reason);
  }
}

/// Fails if the program cannot be started or fails, or if its output cannot be read.
Result<std::vector<KernelCharacter>> run_one(const Command& command, const CharacterizeArguments& arguments,
                                             const std::string& library, Progress& progress) {
  const ProgramSearch program = find_program(command.front());
  if (program.outcome != ProgramSearch::Outcome::found)
    return failure("cannot find the program '" + command.front() + "'");
  const std::string obstacle = preload_obstacle(program.path);
  if (!obstacle.empty()) return failure("'" + program.path + "' " + obstacle);
  const WorkFolder folder;
  if (!folder.exists()) return failure("cannot create a temporary folder");
  const std::string records = folder.file("records.jsonl");
  Variables variables{{"LD_PRELOAD", with_other_preloads(library)},
                      {"LYNXPP_SPEC", characterize_specifications},
                      {"LYNXPP_LAUNCH_RECORDS", "all"},
                      {"LYNXPP_OUTPUT", records},
                      {"LYNXPP_TABLE", "0"},
                      {"LYNXPP_DEVICE", arguments.device}};
  if (!arguments.kernels.empty()) variables["LYNXPP_KERNELS"] = arguments.kernels;
  if (!arguments.launches.empty()) variables["LYNXPP_LAUNCHES"] = arguments.launches;
  const Result<ChildRun> run = run_child(program.path, command, variables, folder, "while it was measured");
  progress.clear();
  if (!run) return run.error();
  std::error_code ignored;
  if (!std::filesystem::exists(records, ignored)) return std::vector<KernelCharacter>{};
  const Result<report::Reading> reading = report::read_json_lines_file(records);
  if (!reading) return reading.error();
  const std::string name = std::filesystem::path(command.front()).filename().string();
  warn_of_missing_kernels(name, reading->records);
  return characters_of(name, reading->records);
}

/// Runs all programs and prints which ones fail. `is_whole` is true if none did.
std::vector<KernelCharacter> run_all(const std::vector<Command>& commands,
                                     const CharacterizeArguments& arguments, const std::string& library,
                                     bool& is_whole) {
  std::vector<KernelCharacter> kernels;
  Progress progress;
  for (std::size_t i = 0; i < commands.size(); ++i) {
    const std::string& name = commands[i].front();
    progress.show("program " + std::to_string(i + 1) + " of " + std::to_string(commands.size()) + ": " +
                  name);
    Result<std::vector<KernelCharacter>> found = run_one(commands[i], arguments, library, progress);
    progress.clear();
    if (!found) {
      is_whole = false;
      Diagnostics problems = found.error().diagnostics;
      if (!problems.empty()) problems.front().message = name + ": " + problems.front().message;
      print(problems);
      continue;
    }
    if (found->empty()) print_warning(name + " launched no kernel that was measured");
    kernels.insert(kernels.end(), found->begin(), found->end());
  }
  return kernels;
}

bool write_or_complain(const std::string& path, const std::string& text) {
  if (path.empty() || write_file(path, text)) return true;
  print_error("cannot write " + path);
  return false;
}

}  // namespace

int characterize(const CharacterizeArguments& arguments) {
  const Filters filters{{"--kernels", arguments.kernels}, {"--launches", arguments.launches}};
  const Result<std::vector<Command>> commands = commands_of(arguments);
  const Result<std::string> library = preload_library();
  const Status understood = check_filters(filters), present = check_device(arguments.device);
  for (const Diagnostics* problems :
       {commands ? nullptr : &commands.error().diagnostics, library ? nullptr : &library.error().diagnostics,
        understood ? nullptr : &understood.error().diagnostics,
        present ? nullptr : &present.error().diagnostics}) {
    if (problems == nullptr) continue;
    print(*problems);
    return exit_usage_error;
  }
  bool is_whole = true;
  const std::vector<KernelCharacter> kernels = run_all(*commands, arguments, *library, is_whole);
  if (kernels.empty()) {
    print_error("no kernel was measured");
    return is_whole ? exit_nothing_measured : exit_input_error;
  }
  const std::string text = characterize_text(kernels, report::terminal_width(STDOUT_FILENO));
  std::fwrite(text.data(), 1, text.size(), stdout);
  const bool is_written = write_or_complain(arguments.csv, characterize_csv(kernels)) &&
                          write_or_complain(arguments.svg, characterize_svg(kernels));
  return is_written && is_whole ? exit_success : exit_input_error;
}

}  // namespace lynxpp::cli
