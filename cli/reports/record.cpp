// `lynxpp record`: runs a program with the usual specifications and summarizes its records.
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <system_error>

#include "cli/commands.h"
#include "cli/diagnostics.h"
#include "cli/exit_code.h"
#include "cli/reports/arguments.h"
#include "cli/run_arguments.h"
#include "report/findings/findings.h"
#include "report/reader.h"
#include "report/tables/table_sink.h"

namespace lynxpp::cli {
namespace {

constexpr const char* usual_specifications =
    "instruction_count,memory_efficiency,branch_divergence,basic_block_count,shared_bank_conflicts,"
    "atomic_contention,kernel_runtime";

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

/// Returns the exit code as a shell does; -1 if no process could be started.
int run_and_wait(const RunArguments& arguments) {
  const pid_t child = ::fork();
  if (child < 0) return -1;
  if (child == 0) {
    ::setenv("LYNXPP_TABLE", "0", 1);
    ::setenv("LYNXPP_TIMELINE", "1", 1);
    std::exit(run(arguments));
  }
  running = child;
  const Signals signals;
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {}
  running = 0;
  return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

/// Prints what the records say; returns false without records.
bool summarise(const std::string& path) {
  std::error_code error;
  if (!std::filesystem::is_regular_file(path, error)) return false;  // a pipe, which another process reads
  const Result<report::Reading> reading = report::read_json_lines_file(path);
  if (!reading) return false;
  print(reading->diagnostics);
  report::SummarySink sink;
  report::replay(reading->records, sink);
  const std::string text = report::summary_text(sink.summary(), report::terminal_width(STDERR_FILENO));
  if (text.empty()) return false;
  std::fwrite(text.data(), 1, text.size(), stderr);
  return true;
}

}  // namespace

int record(const RecordArguments& arguments) {
  RunArguments run = arguments.run;
  if (run.specifications.empty()) run.specifications = {usual_specifications};
  if (run.output.empty())
    run.output = "lynxpp-" + std::filesystem::path(run.command.front()).filename().string() + ".jsonl";
  run.timing = true;
  const bool is_pattern = run.output.find('%') != std::string::npos;
  const int exit_code = run_and_wait(run);
  if (exit_code < 0) {
    print_error(std::string("cannot start a process: ") + std::strerror(errno));
    return exit_cannot_execute;
  }
  // Only the processes that wrote the files know their names if the output is a pattern.
  if (!is_pattern && summarise(run.output)) {
    std::fprintf(
        stderr, "The records are in %s; `lynxpp report %s --format html -o report.html` shows all of them.\n",
        run.output.c_str(), run.output.c_str());
  }
  return exit_code;
}

}  // namespace lynxpp::cli
