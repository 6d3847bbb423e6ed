// `lynxpp why`: shows where the warps of running kernels are.
#include "cli/control/why.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <exception>
#include <string>
#include <vector>

#include "cli/commands.h"
#include "cli/control/arguments.h"
#include "cli/control/client.h"
#include "cli/diagnostics.h"
#include "cli/exit_code.h"
#include "support/control_socket.h"
#include "support/text.h"

namespace lynxpp::cli {
namespace {

/// Oldest first; more of them wait for these.
constexpr std::size_t most_launches = 10;

std::string extent_text(const std::vector<std::uint32_t>& extents) {
  std::string text = std::to_string(extents.at(0));
  if (extents.at(1) != 1 || extents.at(2) != 1) text += "x" + std::to_string(extents.at(1));
  if (extents.at(2) != 1) text += "x" + std::to_string(extents.at(2));
  return text;
}

std::string launch_text(const nlohmann::json& launch) {
  char seconds[32];
  std::snprintf(seconds, sizeof seconds, "%.1f s", launch.at("seconds").get<double>());
  std::string text = demangle(launch.at("kernel").get<std::string>()) + ", launch " +
                     std::to_string(launch.at("launch").get<std::uint64_t>()) + ", grid " +
                     extent_text(launch.at("grid")) + ", block " + extent_text(launch.at("block")) +
                     ": still running after " + seconds + "\n";
  for (const nlohmann::json& each : launch.at("findings")) text += "  " + each.get<std::string>() + "\n";
  return text;
}

/// Returns a description of the launches; empty without launches, or if the oldest is younger.
Result<std::string> running_text(int process, double least_seconds) {
  const Result<nlohmann::json> answer = ask(process, control::why_request);
  if (!answer) return answer.error();
  try {
    const nlohmann::json& running = answer->at("running");
    if (running.empty() || running[0].at("seconds") < least_seconds) return std::string();
    std::string text;
    bool has_findings = false;
    for (std::size_t i = 0; i < running.size() && i < most_launches; ++i) {
      text += launch_text(running[i]);
      has_findings |= !running[i].at("findings").empty();
    }
    if (running.size() > most_launches)
      text += std::to_string(running.size() - most_launches) + " later launches are still running, too\n";
    if (!has_findings)
      text +=
          "To see where warps wait, attach hang_location before the launch: lynxpp run -s hang_location\n";
    return text;
  } catch (const std::exception&) {
    return failure("process " + std::to_string(process) + " sent an invalid answer",
                   "its liblynxpp.so may have another version");
  }
}

/// Runs in a process of its own, which must not keep the program's pipes open.
[[noreturn]] void watch(int process, int descriptor, int seconds) {
  constexpr int between_requests = 500;
  const int nothing = ::open("/dev/null", O_RDWR);
  ::dup2(nothing, STDIN_FILENO);
  ::dup2(nothing, STDOUT_FILENO);
  pollfd ended = {descriptor, POLLIN, 0};
  while (::poll(&ended, 1, between_requests) == 0) {
    const Result<std::string> text = running_text(process, seconds);
    if (!text || text->empty()) continue;  // the process may not listen yet
    std::fwrite(text->data(), 1, text->size(), stderr);
    break;
  }
  std::fflush(stderr);
  ::_exit(0);
}

}  // namespace

void watch_for_hang(int process, int seconds) {
  const auto descriptor = static_cast<int>(::syscall(SYS_pidfd_open, process, 0));
  // The watching process must not be a child that the program could wait for.
  const pid_t between = descriptor < 0 ? -1 : ::fork();
  if (between == 0) {
    if (::fork() == 0) watch(process, descriptor, seconds);
    ::_exit(0);
  }
  if (between < 0) {
    print_warning(std::string("cannot watch the program for kernels that hang: ") + std::strerror(errno));
  } else {
    ::waitpid(between, nullptr, 0);
  }
  if (descriptor >= 0) ::close(descriptor);
}

int why(const ControlArguments& arguments) {
  const Result<std::string> text = running_text(arguments.process, 0);
  if (!text) {
    print(text.error().diagnostics);
    return exit_input_error;
  }
  std::fwrite(text->data(), 1, text->size(), stdout);
  if (!text->empty()) return exit_success;
  print_warning(
      "process " + std::to_string(arguments.process) + " has no instrumented launch that is running",
      "launches in graphs without hang_location, that share counters or of contexts that end are not shown; "
      "`lynxpp run -s hang_location` instruments all others");
  return exit_nothing_measured;
}

}  // namespace lynxpp::cli
