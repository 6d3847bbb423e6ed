// Compares --help with golden files (LYNXPP_UPDATE_GOLDEN=1 rewrites them for review), and the manual with
// --help.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <regex>
#include <set>

#include "instrumentors/catalogue.h"
#include "support/setting.h"
#include "support/text.h"
#include "tests/cli/process.h"

namespace lynxpp::cli {
namespace {

const std::vector<std::string> subcommands{
    "run", "record", "bench",  "limits",  "report", "check-run",    "triton", "attach", "detach", "status",
    "why", "top",    "advise", "quality", "band",   "characterize", "list",   "check",  "ptx",    "lsp"};
const std::vector<std::string> inner_subcommands{"report diff",    "report merge",   "report trace",
                                                 "band calibrate", "ptx instrument", "ptx run"};

/// `subcommand`: empty, "run" or "ptx run".
std::string help_of(const std::string& subcommand) {
  std::vector<std::string> words = subcommand.empty() ? std::vector<std::string>() : split(subcommand, ' ');
  words.emplace_back("--help");
  const Outcome outcome = lynxpp(words);
  EXPECT_EQ(outcome.exit_code, 0);
  EXPECT_EQ(outcome.err, "");
  return outcome.out;
}

std::vector<std::string> all_subcommands() {
  std::vector<std::string> all = subcommands;
  all.insert(all.end(), inner_subcommands.begin(), inner_subcommands.end());
  return all;
}

void expect_golden(const std::string& name, const std::string& text) {
  const std::string path = LYNXPP_SOURCE_DIR "/tests/cli/golden/" + name + ".txt";
  if (std::getenv("LYNXPP_UPDATE_GOLDEN") != nullptr) {
    ASSERT_TRUE(write_file(path, text));
  }
  std::string expected;
  ASSERT_TRUE(read_file(path, expected)) << path;
  EXPECT_EQ(text, expected);
}

TEST(Help, MatchesGolden) {
  expect_golden("help", help_of(""));
  for (const std::string& subcommand : all_subcommands())
    expect_golden("help-" + std::regex_replace(subcommand, std::regex(" "), "-"), help_of(subcommand));
}

TEST(Help, FitsTheTerminal) {
  for (const std::string& subcommand : all_subcommands()) {
    for (const std::string& line : split(help_of(subcommand), '\n')) EXPECT_LE(line.size(), 100u) << line;
  }
}

TEST(Help, NamesEverySubcommand) {
  for (const std::string& subcommand : subcommands) {
    EXPECT_THAT(help_of(""), testing::HasSubstr("\n  " + subcommand + " "));
  }
}

std::set<std::string> options_in(const std::string& help) {
  static const std::regex pattern(R"((^|[\s,])(--?[a-z][a-z-]*))");
  std::set<std::string> options;
  for (std::sregex_iterator match(help.begin(), help.end(), pattern), end; match != end; ++match)
    options.insert((*match)[2]);
  return options;
}

/// Returns the manual as plain text: "\-" becomes a dash, font changes are removed.
std::string manual() {
  std::string text;
  EXPECT_TRUE(read_file(LYNXPP_SOURCE_DIR "/man/lynxpp.1", text));
  text = std::regex_replace(text, std::regex(R"(\\f[A-Z])"), "");
  return std::regex_replace(text, std::regex(R"(\\-)"), "-");
}

TEST(Manual, DescribesEveryCommandAndOption) {
  const std::string text = manual();
  const std::set<std::string> described = options_in(text);
  for (const std::string& subcommand : all_subcommands()) {
    const bool is_shown_with_ptx = subcommand == "ptx run";
    EXPECT_THAT(text, testing::HasSubstr(is_shown_with_ptx ? "\n.BI \"lynxpp ptx run"
                                                           : "\n.SS lynxpp " + subcommand + "\n"));
    const std::set<std::string> options = options_in(help_of(subcommand));
    EXPECT_THAT(options, testing::Contains("--help"));
    for (const std::string& option : options)
      EXPECT_TRUE(described.contains(option)) << subcommand << " " << option;
  }
}

TEST(Manual, DescribesEveryEnvironmentVariable) {
  const std::string text = manual();
  for (const char* name : {"LYNXPP_SPEC", "LYNXPP_KERNELS", "LYNXPP_LAUNCHES", "LYNXPP_OUTPUT",
                           "LYNXPP_DEVICE", "LYNXPP_LOG", "LYNXPP_DUMP", "LYNXPP_TRACE", "LYNXPP_DEBUG",
                           "LYNXPP_CONTROL", "LYNXPP_START", "LYNXPP_MEMORY_BUDGET", "LYNXPP_FIRST_LAUNCH"}) {
    EXPECT_THAT(text, testing::HasSubstr(std::string("\n.B ") + name + "\n"));
  }
  for (const std::string_view key : debug_keys)
    EXPECT_THAT(text, testing::ContainsRegex("\n[.]BR? (.*\", \" )?" + std::string(key) + "(\n| )"));
}

TEST(Manual, HasNoErrorsForItsFormatter) {
  if (::system("command -v groff >/dev/null 2>&1") != 0) GTEST_SKIP() << "no groff here";
  const Outcome outcome = start({"/bin/sh", "-c", "groff -man -ww -z " LYNXPP_SOURCE_DIR "/man/lynxpp.1"});
  EXPECT_EQ(outcome.exit_code, 0);
  EXPECT_EQ(outcome.err, "");
}

TEST(Version, IsOneLine) {
  const Outcome outcome = lynxpp({"--version"});
  EXPECT_EQ(outcome.exit_code, 0);
  EXPECT_THAT(outcome.out, testing::MatchesRegex("lynxpp [0-9]+\\.[0-9]+\\.[0-9]+\n"));
}

TEST(Usage, ErrorsSayWhatToDo) {
  const auto expect = [](std::vector<std::string> arguments, const std::string& message) {
    const Outcome outcome = lynxpp(std::move(arguments));
    EXPECT_EQ(outcome.exit_code, 2);
    EXPECT_EQ(outcome.out, "");
    EXPECT_EQ(outcome.err, message);
  };
  expect({}, "lynxpp: error: A subcommand is required\n  hint: `lynxpp --help` lists commands and options\n");
  expect({"lst"},
         "lynxpp: error: no command 'lst'; did you mean 'list'?\n  hint: `lynxpp --help` lists commands and "
         "options\n");
  expect({"list", "kernel_runtime", "more"},
         "lynxpp: error: The following argument was not expected: more\n  hint: `lynxpp list --help` lists "
         "commands and options\n");
  expect({"run", "-s", "instruction_count"},
         "lynxpp: error: no program to run\n  hint: `lynxpp run --help` lists commands and options\n");
  expect({"run", "--sepc", "x", "/bin/true"},
         "lynxpp: error: The following argument was not expected: --sepc\n  hint: `lynxpp run --help` lists "
         "commands and options\n");
  expect({"run", "-d", "gpu", "/bin/true"},
         "lynxpp: error: --device: gpu not in {auto,cuda,cpu}\n  hint: `lynxpp run --help` lists commands "
         "and options\n");
  expect(
      {"check"},
      "lynxpp: error: no specification to check\n  hint: `lynxpp check --help` lists commands and options\n");
}

TEST(Usage, OldNamesWorkAndNameTheNewOne) {
  for (const std::string& command : inner_subcommands) {
    if (command == "ptx run") continue;
    const std::string old_name = command.substr(command.find(' ') + 1);
    const Outcome outcome = lynxpp({old_name, "--help"});
    EXPECT_EQ(outcome.exit_code, 0);
    EXPECT_EQ(outcome.out, help_of(command));
    EXPECT_EQ(outcome.err, "lynxpp: warning: `lynxpp " + old_name + "` is now `lynxpp " + command +
                               "`; the old name will be removed\n");
    EXPECT_EQ(lynxpp({"help", old_name}).out, outcome.out);
  }
}

TEST(Usage, RecordFilesAreNotPages) {
  for (const char* command : {"run", "record", "limits", "triton"}) {
    const Outcome outcome = lynxpp({command, "-o", "page.html", "/bin/true"});
    EXPECT_EQ(outcome.exit_code, 2);
    EXPECT_THAT(outcome.err,
                testing::HasSubstr("`lynxpp report FILE --format html -o page.html` makes a page"));
  }
}

TEST(List, ShowsEveryReadyMadeSpecificationWithItsSummary) {
  const Outcome outcome = lynxpp({"list"});
  EXPECT_EQ(outcome.exit_code, 0);
  const std::vector<std::string> lines = split(outcome.out, '\n');
  ASSERT_EQ(lines.size(), instrumentors::ready_made().size() + 1);
  for (std::size_t i = 0; i + 1 < lines.size(); ++i) {
    const instrumentors::ReadyMade& entry = instrumentors::ready_made()[i];
    EXPECT_THAT(lines[i], testing::StartsWith(std::string(entry.name) + "  "));
    EXPECT_THAT(lines[i], testing::EndsWith("  " + std::string(entry.summary)));
  }
}

}  // namespace
}  // namespace lynxpp::cli
