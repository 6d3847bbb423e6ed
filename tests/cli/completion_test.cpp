// Tests completion: lynxpp's candidates, and the results in bash, zsh and fish.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <regex>
#include <set>

#include "instrumentors/catalogue.h"
#include "support/text.h"
#include "tests/cli/process.h"

namespace lynxpp::cli {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::IsSupersetOf;
using testing::Not;

std::vector<std::string> offered(std::vector<std::string> words) {
  words.insert(words.begin(), {"complete", "--"});
  const Outcome outcome = lynxpp(std::move(words));
  EXPECT_EQ(outcome.exit_code, 0);
  EXPECT_EQ(outcome.err, "");
  std::vector<std::string> lines = split(outcome.out, '\n');
  if (!lines.empty() && lines.back().empty()) lines.pop_back();
  return lines;
}

/// Maps "  -o,--output FILE  …" to "--output".
std::set<std::string> long_options_of(const std::string& command) {
  std::set<std::string> options;
  std::vector<std::string> words = split(command, ' ');
  words.emplace_back("--help");
  const std::string help = lynxpp(std::move(words)).out;
  const std::regex pattern(R"(\n  (?:-\w,)?(--[a-z0-9-]+))");
  for (std::sregex_iterator match(help.begin(), help.end(), pattern), end; match != end; ++match)
    options.insert((*match)[1]);
  return options;
}

TEST(Complete, OffersCommands) {
  EXPECT_THAT(offered({""}), IsSupersetOf({"run", "record", "report", "ptx", "help"}));
  EXPECT_THAT(offered({"re"}), ElementsAre("record", "report"));
  EXPECT_THAT(offered({"ptx", ""}), ElementsAre("stat", "cfg", "annotate", "perturb", "run", "instrument"));
  EXPECT_THAT(offered({"report", ""}), ElementsAre("diff", "merge", "trace", ":files"));
  EXPECT_THAT(offered({"band", "c"}), ElementsAre("calibrate", ":command"));
  EXPECT_THAT(offered({"help", "rec"}), ElementsAre("record"));
  EXPECT_THAT(offered({}), Contains("run"));
}

TEST(Complete, OffersTheOptionsOfTheHelp) {
  for (const char* command :
       {"run", "record", "bench", "limits", "report", "report merge", "report trace", "report diff", "check",
        "ptx instrument", "advise", "quality", "band", "band calibrate", "characterize"}) {
    std::set<std::string> names;
    std::vector<std::string> words = split(command, ' ');
    words.emplace_back("--");
    for (const std::string& each : offered(words)) names.insert(each);
    EXPECT_EQ(names, long_options_of(command)) << command;
  }
  EXPECT_THAT(offered({"report", "--format", "csv", "--f"}), testing::IsEmpty()) << "given already";
  EXPECT_THAT(offered({"run", "-s", "quality", "--sp"}), ElementsAre("--spec")) << "may be repeated";
}

TEST(Complete, OffersValues) {
  EXPECT_THAT(offered({"report", "-f", "p"}), ElementsAre("plain-html", "perfetto"));
  EXPECT_THAT(offered({"run", "--device", ""}), ElementsAre("auto", "cuda", "cpu"));
  EXPECT_THAT(offered({"run", "-s", "kernel"}), ElementsAre("kernel_runtime", ":files"));
  EXPECT_THAT(offered({"run", "-s", "quality,kernel"}), ElementsAre("quality,kernel_runtime", ":files"));
  EXPECT_THAT(offered({"list", "inst"}), Not(Contains(":files")));
  for (const instrumentors::ReadyMade& each : instrumentors::ready_made())
    EXPECT_THAT(offered({"list", ""}), Contains(std::string(each.name)));
  EXPECT_THAT(offered({"run", "-o", ""}), ElementsAre(":files"));
}

TEST(Complete, OffersTheProgramAndThenItsFiles) {
  EXPECT_THAT(offered({"run", ""}), ElementsAre(":command"));
  EXPECT_THAT(offered({"run", "-s", "quality", "--", ""}), ElementsAre(":command"));
  EXPECT_THAT(offered({"run", "./app", "--"}), ElementsAre(":files")) << "the program's own options";
}

TEST(Complete, OffersTheKernelsOfAFile) {
  const TemporaryFolder folder;
  const std::string file = folder.write("a.ptx",
                                        ".version 8.0\n.target sm_90\n.address_size 64\n"
                                        ".visible .entry _Z6matmulPf(.param .u64 p)\n{\nret;\n}\n"
                                        ".visible .entry plain()\n{\nret;\n}\n");
  EXPECT_THAT(offered({"ptx", "stat", file, "-k", ""}), ElementsAre("matmul", "plain"));
  EXPECT_THAT(offered({"ptx", "run", file, "-k", ""}), ElementsAre("matmul", "plain"));
  EXPECT_THAT(offered({"ptx", "run", ""}), ElementsAre(":files"));
  EXPECT_THAT(offered({"ptx", "instrument", file, "--kernel", "mat"}), ElementsAre("matmul"));
}

/// Runs a line in a shell with lynxpp in PATH.
Outcome in_shell(const std::string& shell, const std::string& text) {
  const std::string command = LYNXPP_COMMAND;
  const std::string path = command.substr(0, command.rfind('/')) + ":/usr/bin:/bin";
  return start({shell, "-c", text}, {{"PATH", path}});
}

bool has(const std::string& shell) {
  return ::system(("command -v " + shell + " >/dev/null 2>&1").c_str()) == 0;
}

TEST(Complete, WorksInBash) {
  if (!has("bash")) GTEST_SKIP() << "no bash here";
  const Outcome outcome =
      in_shell("/bin/bash", "source " LYNXPP_SOURCE_DIR
                            "/cli/completion/lynxpp.bash\n"
                            "COMP_WORDS=(lynxpp report --format pl); COMP_CWORD=3\n"
                            "_lynxpp; printf '%s\\n' \"${COMPREPLY[@]}\"; complete -p lynxpp");
  EXPECT_EQ(outcome.out, "plain-html\ncomplete -F _lynxpp lynxpp\n") << outcome.err;
}

TEST(Complete, WorksInFish) {
  if (!has("fish")) GTEST_SKIP() << "no fish here";
  const Outcome outcome = in_shell("/usr/bin/fish", "source " LYNXPP_SOURCE_DIR
                                                    "/cli/completion/lynxpp.fish\n"
                                                    "complete -C 'lynxpp report --format pl'");
  EXPECT_EQ(outcome.out, "plain-html\n") << outcome.err;
}

TEST(Complete, WorksInZsh) {
  if (!has("zsh")) GTEST_SKIP() << "no zsh here";
  const Outcome outcome = in_shell("/usr/bin/zsh",
                                   "compadd() { shift; print -l -- \"$@\" }; _files() { print FILES }; "
                                   "_command_names() { print COMMANDS }\n"
                                   "words=(lynxpp report --format pl); CURRENT=4\n"
                                   "source " LYNXPP_SOURCE_DIR "/cli/completion/_lynxpp");
  EXPECT_EQ(outcome.out, "plain-html\n") << outcome.err;
}

}  // namespace
}  // namespace lynxpp::cli
