// `lynxpp record`: runs a program with the usual specifications and summarizes its records.
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <system_error>
#include <utility>

#include "cli/checked/arguments.h"
#include "cli/child.h"
#include "cli/commands.h"
#include "cli/diagnostics.h"
#include "cli/exit_code.h"
#include "cli/limits/arguments.h"
#include "cli/limits/trials.h"
#include "cli/program.h"
#include "cli/reports/arguments.h"
#include "cli/reports/summarise.h"
#include "cli/run_arguments.h"
#include "report/digest/digest.h"
#include "report/findings/findings.h"
#include "report/reader.h"
#include "report/tables/table_sink.h"
#include "support/output_file.h"
#include "support/text.h"

namespace lynxpp::cli {
namespace {

constexpr const char* usual_specifications =
    "instruction_count,memory_efficiency,branch_divergence,basic_block_count,shared_bank_conflicts,"
    "atomic_contention,kernel_runtime";

/// Enough for about a hundred kernels that are launched once.
constexpr const char* usual_compile_seconds = "5";

/// The PID of the child that runs the program; 0 if none is running.
volatile sig_atomic_t running = 0;

void pass_on(int signal) {
  if (running > 0) ::kill(running, signal);
}

/// While it exists, ignores Ctrl-C, which the terminal also sends to the program (the program may continue
/// after it), and forwards SIGTERM and SIGHUP to the program.
class Signals {
 public:
  Signals() {
    for (const int each : {SIGINT, SIGQUIT}) ::signal(each, SIG_IGN);
    for (const int each : {SIGTERM, SIGHUP}) ::signal(each, pass_on);
  }
  ~Signals() {
    for (const int each : {SIGINT, SIGQUIT, SIGTERM, SIGHUP}) ::signal(each, SIG_DFL);
  }
};

/// Runs `command` in a child process and returns its exit code as a shell does; -1 if no process could be
/// started. `is_quiet`: standard output is for the document, so the program's goes to standard error.
int run_and_wait(bool is_quiet, const std::function<int()>& command) {
  std::fflush(stdout);
  // A signal may come before the handlers are set.
  sigset_t forwarded, before;
  sigemptyset(&forwarded);
  for (const int each : {SIGTERM, SIGHUP}) sigaddset(&forwarded, each);
  ::sigprocmask(SIG_BLOCK, &forwarded, &before);
  const pid_t child = ::fork();
  if (child <= 0) ::sigprocmask(SIG_SETMASK, &before, nullptr);
  if (child < 0) return -1;
  if (child == 0) {
    if (is_quiet) ::dup2(STDERR_FILENO, STDOUT_FILENO);
    std::exit(command());
  }
  running = child;
  const Signals signals;
  ::sigprocmask(SIG_SETMASK, &before, nullptr);
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {}
  running = 0;
  return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

/// Runs the program again with trials, and appends their records to the file.
Status add_trials(const RunArguments& run) {
  const ProgramSearch program = find_program(run.command.front());
  const WorkFolder folder;
  if (!folder.exists()) return failure("cannot create a temporary folder");
  LimitsArguments limits;
  limits.kernels = run.kernels;
  limits.device = run.device;
  limits.replay = true;  // few programs launch each kernel often enough
  const std::string output = folder.file("trials.jsonl");
  const Result<Variables> variables = trial_variables(limits, output);
  if (!variables) return variables.error();
  const Result<ChildRun> made = run_child(program.path, run.command, *variables, folder, "with trials");
  if (!made) return made.error();
  std::string all, kept;
  read_file(output, all);
  for (const std::string& line : split(all, '\n')) {
    // Others repeat what the first run has recorded.
    for (const char* const kind : {"process", "device", "trial"}) {
      if (line.find("\"record\":\"" + std::string(kind) + "\"") != std::string::npos) kept += line + "\n";
    }
  }
  return append_to_output(absolute_path(run.output), kept);
}

int measure(const RunArguments& arguments) {
  ::setenv("LYNXPP_TABLE", "0", 1);
  ::setenv("LYNXPP_TIMELINE", "1", 1);
  // Whoever selects kernels or launches wants them all.
  if (arguments.kernels.empty() && arguments.launches.empty())
    ::setenv("LYNXPP_COMPILE_BUDGET", usual_compile_seconds, 0);
  return run(arguments);
}

/// Writes the page of the records, if there are any and one is wanted.
void write_page(const std::string& records, const std::string& html) {
  std::error_code error;
  if (html.empty() || !std::filesystem::is_regular_file(records, error)) return;
  ReportArguments arguments;
  arguments.files = {records};
  arguments.format = "html";
  arguments.output = html;
  report(arguments);
}

/// Runs the program again under check-run; nullopt if no checks are wanted.
std::optional<report::CheckResults> check(const RecordArguments& arguments) {
  if (arguments.checks.empty()) return std::nullopt;
  report::CheckResults results{arguments.checks};
  const WorkFolder folder;
  CheckRunArguments checked;
  checked.checks = arguments.checks;
  checked.output = folder.file("checks.jsonl");
  checked.command = arguments.run.command;
  run_and_wait(true, [&] { return check_run(checked); });
  std::string text;
  if (!folder.exists() || !read_file(checked.output, text)) return results;
  for (std::string& line : split(text, '\n')) {
    results.has_run |= !line.empty();
    if (!line.empty() && line.find(R"("type":"summary")") == std::string::npos)
      results.findings.push_back(std::move(line));
  }
  return results;
}

/// Prints the document about the records, which may be none.
void print_digest(const std::string& path, const RecordArguments& arguments, int exit_code) {
  report::DigestSink sink;
  std::error_code error;
  if (std::filesystem::is_regular_file(path, error)) {
    if (const Result<report::Reading> reading = report::read_json_lines_file(path); reading.ok()) {
      print(reading->diagnostics);
      report::replay(reading->records, sink);
    }
  }
  const std::string text = report::to_digest(sink, check(arguments), exit_code);
  std::fwrite(text.data(), 1, text.size(), stdout);
}

}  // namespace

int record(const RecordArguments& arguments) {
  RunArguments run = arguments.run;
  if (run.specifications.empty()) run.specifications = {usual_specifications};
  if (run.output.empty())
    run.output = "lynxpp-" + std::filesystem::path(run.command.front()).filename().string() + ".jsonl";
  run.timing = true;
  const bool is_pattern = run.output.find('%') != std::string::npos;
  const bool is_json = arguments.format == "json";
  const int exit_code = run_and_wait(is_json, [&run] { return measure(run); });
  if (exit_code < 0) {
    print_error(std::string("cannot start a process: ") + std::strerror(errno));
    return exit_cannot_execute;
  }
  if (arguments.measure && exit_code == exit_success) {
    if (const Status added = add_trials(run); !added) print(added.error().diagnostics);
  }
  write_page(run.output, arguments.html);
  const bool has_started = exit_code != exit_usage_error || std::filesystem::exists(run.output);
  if (is_json && has_started && exit_code != exit_not_found && exit_code != exit_cannot_execute) {
    print_digest(run.output, arguments, exit_code);
    return exit_code;
  }
  // Only the processes that wrote the files know their names if the output is a pattern.
  if (!is_pattern) summarise(run.output, arguments.html);
  return exit_code;
}

}  // namespace lynxpp::cli
