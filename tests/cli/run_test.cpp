#include <dlfcn.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>

#include "instrumentors/catalogue.h"
#include "support/text.h"
#include "tests/cli/process.h"

namespace lynxpp::cli {
namespace {

using testing::ContainsRegex;
using testing::HasSubstr;
using testing::Not;

/// bin/lynxpp and lib/liblynxpp.so in a folder of the test: an installation in an arbitrary location.
class Run : public testing::Test {
 protected:
  void SetUp() override {
    install_with(LYNXPP_TEST_PRELOAD, folder_);
    specification_ = folder_.write("mine.cod", "// A test.\nON_KERNEL_ENTRY: { }\n");
  }

  Outcome run(std::vector<std::string> arguments,
              const std::vector<std::pair<std::string, std::string>>& environment = {}) const {
    arguments.insert(arguments.begin(), {folder_.path("bin/lynxpp"), "run"});
    return start(arguments, environment, folder_.path());
  }
  /// Returns the variables of a program started with these options, one per line.
  std::string environment_of(std::vector<std::string> options,
                             const std::vector<std::pair<std::string, std::string>>& environment = {}) const {
    options.insert(options.end(), {"--", "env"});
    const Outcome outcome = run(options, environment);
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    return "\n" + outcome.out;
  }
  std::string library() const { return folder_.path("lib/liblynxpp.so"); }

  TemporaryFolder folder_;
  std::string specification_;
};

TEST_F(Run, PreloadsTheLibraryOfItsInstallation) {
  EXPECT_THAT(environment_of({"-s", specification_}), HasSubstr("\nLD_PRELOAD=" + library() + "\n"));
}

TEST_F(Run, KeepsOtherPreloadsAfterItsOwn) {
  EXPECT_THAT(environment_of({"-s", specification_}, {{"LD_PRELOAD", LYNXPP_TEST_PRELOAD}}),
              HasSubstr("\nLD_PRELOAD=" + library() + ":" LYNXPP_TEST_PRELOAD "\n"));
}

TEST_F(Run, PassesOneLinersWithTheirDeclarations) {
  const std::string variables = environment_of({"-e", "ON_KERNEL_ENTRY: n++;"});
  const auto begin = variables.find("\nLYNXPP_SPEC=") + std::string("\nLYNXPP_SPEC=").size();
  const auto found =
      instrumentors::find_specification(variables.substr(begin, variables.find('\n', begin) - begin));
  ASSERT_TRUE(found);
  EXPECT_EQ(found->name, "one-liner");
  EXPECT_EQ(found->source, "ON_KERNEL_ENTRY: n++;\nglobal unsigned long n;\n");
}

TEST_F(Run, RejectsADamagedText) {
  const Outcome outcome = run({"--", "env"}, {{"LYNXPP_SPEC", "text:mine:ON%5"}});
  EXPECT_EQ(outcome.exit_code, 2);
  EXPECT_EQ(outcome.err, "lynxpp: error: the text of specification 'mine' is damaged\n");
}

TEST_F(Run, OptionsBecomeVariables) {
  const std::string variables = environment_of({"-s",
                                                "mine.cod",
                                                "-k",
                                                "mat.*",
                                                "-l",
                                                "0-9,100,200-",
                                                "-o",
                                                "out.jsonl",
                                                "-d",
                                                "cpu",
                                                "--dump",
                                                "ptx/of/run",
                                                "--trace",
                                                "seen",
                                                "--timing",
                                                "--per-launch",
                                                "--first-launch",
                                                "native",
                                                "--start",
                                                "range=warm"});
  EXPECT_THAT(variables, HasSubstr("\nLYNXPP_SPEC=" + specification_ + "\n"));
  EXPECT_THAT(variables, HasSubstr("\nLYNXPP_KERNELS=mat.*\n"));
  EXPECT_THAT(variables, HasSubstr("\nLYNXPP_LAUNCHES=0-9,100,200-\n"));
  EXPECT_THAT(variables, HasSubstr("\nLYNXPP_OUTPUT=" + folder_.path("out.jsonl") + "\n"));
  EXPECT_THAT(variables, HasSubstr("\nLYNXPP_DEVICE=cpu\n"));
  EXPECT_THAT(variables, HasSubstr("\nLYNXPP_TRACE=" + folder_.path("seen") + "\n"));
  EXPECT_THAT(variables, HasSubstr("\nLYNXPP_DUMP=" + folder_.path("ptx/of/run") + "\n"));
  EXPECT_THAT(variables, HasSubstr("\nLYNXPP_TIMING=1\n"));
  EXPECT_THAT(variables, HasSubstr("\nLYNXPP_LAUNCH_RECORDS=all\n"));
  EXPECT_THAT(variables, HasSubstr("\nLYNXPP_FIRST_LAUNCH=native\n"));
  EXPECT_THAT(variables, HasSubstr("\nLYNXPP_START=range=warm\n"));
  EXPECT_THAT(variables, ContainsRegex("\nCUDA_INJECTION64_PATH=.*/liblynxpp.*[.]so\n"));
  EXPECT_TRUE(std::filesystem::is_directory(folder_.path("ptx/of/run")));
}

TEST_F(Run, KeepsVariablesOfAbsentOptions) {
  const std::string variables =
      environment_of({}, {{"LYNXPP_SPEC", "instruction_count"}, {"LYNXPP_DEVICE", "cpu"}});
  EXPECT_THAT(variables, HasSubstr("\nLYNXPP_SPEC=instruction_count\n"));
  EXPECT_THAT(variables, HasSubstr("\nLYNXPP_DEVICE=cpu\n"));
  for (const char* name : {"KERNELS", "LAUNCHES", "OUTPUT", "DUMP", "TIMING", "START"}) {
    EXPECT_THAT(variables, Not(HasSubstr(std::string("\nLYNXPP_") + name)));
  }
}

TEST_F(Run, SeveralSpecificationsMayBeGivenEitherWay) {
  const std::string other = folder_.write("other.cod", "ON_KERNEL_ENTRY: { }\n");
  const std::string both = "\nLYNXPP_SPEC=" + specification_ + "," + other + "\n";
  EXPECT_THAT(environment_of({"-s", specification_, "--spec=other.cod"}), HasSubstr(both));
  EXPECT_THAT(environment_of({"-s" + specification_ + ",other.cod"}), HasSubstr(both));
}

TEST_F(Run, TruncatesTheOutputFile) {
  folder_.write("out.jsonl", "old\n");
  environment_of({"-s", specification_, "-o", "out.jsonl"});
  EXPECT_EQ(std::filesystem::file_size(folder_.path("out.jsonl")), 0u);
}

TEST_F(Run, OutputPipeNeedsNoReaderYet) {
  ASSERT_EQ(::mkfifo(folder_.path("pipe").c_str(), 0600), 0);
  EXPECT_THAT(environment_of({"-s", specification_, "-o", "pipe"}),
              HasSubstr("\nLYNXPP_OUTPUT=" + folder_.path("pipe") + "\n"));
}

TEST_F(Run, DoesNotParseTheProgramsArguments) {
  EXPECT_EQ(run({"-s", specification_, "--timing", "echo", "-s", "x", "--", "--help", "list"}).out,
            "-s x -- --help list\n");
  EXPECT_EQ(run({"-s", specification_, "--", "echo", "--", "-k"}).out, "-- -k\n");
  EXPECT_EQ(run({"--spec=" + specification_, "-dcpu", "echo", "list"}).out, "list\n");
}

TEST_F(Run, ReturnsTheProgramsExitCode) {
  EXPECT_EQ(run({"-s", specification_, "sh", "-c", "exit 7"}).exit_code, 7);
  EXPECT_EQ(run({"-s", specification_, "sh", "-c", "kill -9 $$"}).exit_code, 137);
}

TEST_F(Run, ScriptsWithoutInterpreterLineRun) {
  const std::string script = folder_.write("script", "echo from the script\n");
  ASSERT_EQ(::chmod(script.c_str(), 0700), 0);
  EXPECT_EQ(run({"-s", specification_, "./script"}).out, "from the script\n");
}

void expect_failure(const Outcome& outcome, int exit_code, const std::string& message) {
  EXPECT_EQ(outcome.exit_code, exit_code);
  EXPECT_EQ(outcome.out, "");
  EXPECT_EQ(outcome.err, message);
}

TEST_F(Run, ErrorsStopItBeforeTheProgramStarts) {
  expect_failure(run({"-s", "./no.cod", "echo"}), 2,
                 "lynxpp: error: cannot read specification './no.cod': no such file\n"
                 "  hint: `lynxpp list` shows the ready-made specifications\n");
  EXPECT_THAT(run({"-s", "banana", "echo"}).err,
              testing::StartsWith("lynxpp: error: no specification 'banana'\n  hint: "));
  EXPECT_EQ(run({"-s", "banana", "echo"}).exit_code, 2);
  expect_failure(run({"-s", specification_, "-k", "(", "echo"}), 2,
                 "lynxpp: error: --kernels: '(' is not a valid regular expression: missing )\n");
  expect_failure(run({"-s", specification_, "-l", "3-x", "echo"}), 2,
                 "lynxpp: error: --launches: '3-x' is neither a launch number nor a range\n"
                 "  hint: write numbers and ranges such as 0-9,100,200-\n");
  expect_failure(run({"-s", specification_, "-l", "9-2", "echo"}), 2,
                 "lynxpp: error: --launches: '9-2' is neither a launch number nor a range\n"
                 "  hint: write numbers and ranges such as 0-9,100,200-\n");
  expect_failure(
      run({"-s", specification_, "-o", "no/such/folder/x", "echo"}), 2,
      "lynxpp: error: cannot write " + folder_.path("no/such/folder/x") + ": No such file or directory\n");
  expect_failure(
      run({"-s", specification_, "--dump", "mine.cod/x", "echo"}), 2,
      "lynxpp: error: cannot create the folder " + folder_.path("mine.cod/x") + ": Not a directory\n");
}

TEST_F(Run, SpecificationWithErrorsStopsItBeforeTheProgramStarts) {
  folder_.write("bad.cod", "ON_KERNEL_ENTRY: {\n  nonsense = 1;\n}\n");
  for (const auto& [options, environment] :
       {std::pair<std::vector<std::string>, std::vector<std::pair<std::string, std::string>>>{
            {"-s", "bad.cod"}, {}},
        {{"-s", specification_ + ",bad.cod"}, {}},
        {{}, {{"LYNXPP_SPEC", folder_.path("bad.cod")}}}}) {
    std::vector<std::string> arguments = options;
    arguments.insert(arguments.end(), {"-o", "out.jsonl", "--", "echo", "ran"});
    const Outcome outcome = run(arguments, environment);
    EXPECT_EQ(outcome.exit_code, 2);
    EXPECT_EQ(outcome.out, "");
    EXPECT_THAT(outcome.err, HasSubstr("bad.cod:2:3: error: "));
    EXPECT_THAT(outcome.err, HasSubstr("  nonsense = 1;\n"));
    EXPECT_FALSE(std::filesystem::exists(folder_.path("out.jsonl"))) << "nothing is begun";
  }
}

TEST_F(Run, ChecksEnvironmentVariables) {
  EXPECT_EQ(run({"-s", specification_, "echo"}, {{"LYNXPP_LAUNCHES", "9-2"}}).exit_code, 2);
  EXPECT_THAT(run({"-s", specification_, "echo"}, {{"LYNXPP_KERNELS", "("}}).err,
              testing::StartsWith("lynxpp: error: LYNXPP_KERNELS: '(' is not a valid regular expression"));
  EXPECT_EQ(run({"-s", specification_, "echo"}, {{"LYNXPP_DEBUG", "timing=1,cpu_teir=forms"}}).err,
            "lynxpp: error: LYNXPP_DEBUG: no setting 'cpu_teir'\n  hint: did you mean 'cpu_tier'?\n");
  EXPECT_EQ(run({"-s", "banana,,", "echo"}).exit_code, 2);
}

TEST_F(Run, TheCudaDeviceNeedsADriver) {
  if (::dlopen("libcuda.so.1", RTLD_LAZY) != nullptr) GTEST_SKIP() << "there is one";
  expect_failure(run({"-s", specification_, "-d", "cuda", "echo"}), 2,
                 "lynxpp: error: there is no NVIDIA driver (libcuda.so.1) on this machine\n  hint: use -d "
                 "cpu to run the kernels on the built-in device\n");
}

TEST_F(Run, OnlyTheProgramItselfReportsMissingLaunches) {
  const std::string variables = environment_of({"-s", specification_});
  EXPECT_THAT(variables, testing::ContainsRegex("\nLYNXPP_RUN=[0-9]+:[0-9]+\n"));
  EXPECT_THAT(environment_of({}), Not(HasSubstr("LYNXPP_RUN")));
}

TEST_F(Run, NamesAProgramThatCannotBeStarted) {
  expect_failure(run({"-s", specification_, "no-such-program"}), 127,
                 "lynxpp: error: no program 'no-such-program' in the folders of PATH\n");
  expect_failure(run({"-s", specification_, "./no-such-program"}), 127,
                 "lynxpp: error: no program './no-such-program'\n");
  expect_failure(run({"-s", specification_, "./mine.cod"}), 126,
                 "lynxpp: error: './mine.cod' is not executable\n");
  expect_failure(run({"-s", specification_, "./lib"}), 126, "lynxpp: error: './lib' is not executable\n");
}

TEST_F(Run, SaysHowToGetPythonForTheCommandsThatNeedIt) {
  expect_failure(start({LYNXPP_COMMAND, "triton", "softmax.py"}, {{"PATH", "/no-such-folder"}}), 127,
                 "lynxpp: error: no program 'python3' in the folders of PATH\n"
                 "  hint: install Python 3.9 or newer (Debian: apt-get install python3)\n");
}

TEST_F(Run, ReportsAMissingEngine) {
  std::filesystem::remove(folder_.path("lib/liblynxpp-engine.so"));
  const Outcome outcome = run({"-s", specification_, "echo"});
  EXPECT_EQ(outcome.exit_code, 2);
  EXPECT_THAT(outcome.err, HasSubstr("lynxpp: error: " + folder_.path("lib/liblynxpp-engine.so")));
  EXPECT_THAT(
      outcome.err,
      HasSubstr("\n  hint: bin/lynxpp and lib/liblynxpp-engine.so must be in one installation folder\n"));
}

TEST_F(Run, ReportsAnIncompleteInstallation) {
  std::filesystem::remove(library());
  expect_failure(run({"-s", specification_, "echo"}), 2,
                 "lynxpp: error: cannot find " + library() +
                     "\n  hint: bin/lynxpp and lib/liblynxpp.so must be in one installation folder\n");
}

TEST_F(Run, WarnsWithoutASpecification) {
  const Outcome outcome = run({"echo", "ran"});
  EXPECT_EQ(outcome.out, "ran\n");
  EXPECT_EQ(outcome.err,
            "lynxpp: warning: no specification is attached; nothing will be measured\n  hint: choose one "
            "with -s; `lynxpp list` shows the ready-made ones\n");
}

TEST_F(Run, DoesNotWarnIfTheProgramAttachesItself) {
  // The name may cross the boundary of two blocks that are read.
  for (const std::size_t bytes_before : {0u, (1u << 20) - 30u}) {
    const std::string program = folder_.write(
        "own", "#!/bin/sh\n#" + std::string(bytes_before, '-') + "lynxpp_open_api\necho \"$LD_PRELOAD\"\n");
    std::filesystem::permissions(program, std::filesystem::perms::owner_all);
    const Outcome outcome = run({"--", program});
    EXPECT_EQ(outcome.err, "");
    EXPECT_EQ(outcome.out, library() + "\n");
  }
}

TEST_F(Run, WarnsIfPreloadingDoesNotReachTheProgram) {
  const std::string program = folder_.write("other", "#!/bin/sh\nexit 0\n");
  const auto rights = std::filesystem::perms::owner_all | std::filesystem::perms::set_uid;
  const std::string reason = "' runs with another user's privileges, so the system ignores LD_PRELOAD; ";
  std::filesystem::permissions(program, rights);
  EXPECT_EQ(run({"-s", specification_, "--", program}).err,
            "lynxpp: warning: '" + program + reason + "nothing will be measured\n");
  folder_.write("other", "#!/bin/sh\n# lynxpp_open_api\n");
  std::filesystem::permissions(program, rights);
  EXPECT_EQ(run({"--", program}).err,
            "lynxpp: warning: '" + program + reason +
                "nothing will be measured, and the functions of lynxpp.h report that lynxpp is missing\n");
}

TEST_F(Run, RejectsAPathWithAComma) {
  std::filesystem::create_directory(folder_.path("a,b"));
  folder_.write("a,b/x.cod", "");
  const Outcome outcome =
      start({folder_.path("bin/lynxpp"), "run", "-s", "./x.cod", "echo"}, {}, folder_.path("a,b"));
  expect_failure(outcome, 2,
                 "lynxpp: error: the path '" + folder_.path("a,b/x.cod") +
                     "' contains a comma, which separates specifications\n");
}

}  // namespace
}  // namespace lynxpp::cli
