#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <map>
#include <thread>
#include <utility>

#include "cli/commands.h"
#include "cli/control/arguments.h"
#include "cli/control/control.h"
#include "cli/diagnostics.h"
#include "cli/exit_code.h"
#include "cli/terminal.h"
#include "support/text.h"
#include "support/trust.h"

namespace lynxpp::cli {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::seconds interval(1);
constexpr std::size_t shown_kernels = 10;

struct Reading {
  Clock::time_point when;
  ProcessStatus status;
};

Result<Reading> read_now(int process) {
  Result<ProcessStatus> status = ask_status(process);
  if (!status) return status.error();
  return Reading{Clock::now(), std::move(*status)};
}

std::uint64_t grown(std::uint64_t before, std::uint64_t now) { return now > before ? now - before : 0; }

std::string per_second(std::uint64_t count, double seconds) {
  char text[64];
  std::snprintf(text, sizeof text, "%.1f", seconds > 0 ? static_cast<double>(count) / seconds : 0.0);
  return text;
}

/// Returns the mean over the timed launches, instrumented or not; "-" without any.
std::string milliseconds_of(const ProcessStatus::Kernel& kernel) {
  if (kernel.timed == 0) return "-";
  char text[64];
  std::snprintf(text, sizeof text, "%.4g", kernel.milliseconds / static_cast<double>(kernel.timed));
  return text;
}

/// Returns the original's resident warps over those that a multiprocessor can hold; "-" if unknown.
std::string occupancy_of(const ProcessStatus::Kernel& kernel) {
  if (kernel.warps_per_sm == 0 || kernel.most_warps_per_sm == 0) return "-";
  return std::to_string(100 * kernel.warps_per_sm / kernel.most_warps_per_sm) + " %";
}

/// Returns the kernels launched most between the readings; ties are broken by total launches.
std::string busiest(const Reading& before, const Reading& now, double seconds) {
  std::map<std::string, std::uint64_t> earlier;
  for (const ProcessStatus::Kernel& each : before.status.seen_kernels) earlier[each.name] = each.launches;
  std::vector<std::pair<std::uint64_t, const ProcessStatus::Kernel*>> kernels;
  for (const ProcessStatus::Kernel& each : now.status.seen_kernels)
    kernels.emplace_back(grown(earlier[each.name], each.launches), &each);
  std::ranges::stable_sort(kernels, [](const auto& a, const auto& b) { return a.first > b.first; });
  if (kernels.size() > shown_kernels) kernels.resize(shown_kernels);
  if (kernels.empty()) return {};
  std::string text;
  char line[160];
  const auto add = [&](const char* rate, const std::string& count, const std::string& instrumented,
                       const std::string& time, const std::string& warps, const std::string& name) {
    std::snprintf(line, sizeof line, "%14s %12s %12s %14s %12s  ", rate, count.c_str(), instrumented.c_str(),
                  time.c_str(), warps.c_str());
    text += line + name + "\n";
  };
  text += "\n";
  add("launches / s", "launches", "instrumented", "device ms", "occupancy", "kernel");
  bool has_times = false, is_modelled = false;
  for (const auto& [launches, kernel] : kernels) {
    has_times |= kernel->timed != 0;
    is_modelled |= kernel->is_modelled;
    add(per_second(launches, seconds).c_str(), std::to_string(kernel->launches),
        std::to_string(kernel->instrumented), milliseconds_of(*kernel), occupancy_of(*kernel),
        demangle(kernel->name));
  }
  if (!has_times)
    return text + "\nFor device times and occupancy, start the program with lynxpp run --timing.\n";
  const trust::Clock clock = is_modelled ? trust::Clock::modelled : trust::clock_of(now.status.device);
  return text + "\n" + trust::line_of(trust::Number::times, clock) + "\n";
}

std::string top_text(int process, const Reading& before, const Reading& now) {
  const double seconds = std::chrono::duration<double>(now.when - before.when).count();
  const auto rate = [&](std::uint64_t earlier, std::uint64_t later) {
    return per_second(grown(earlier, later), seconds);
  };
  std::string text = status_text(process, now.status);
  text += "launches / s    " + rate(before.status.launched, now.status.launched) + "\n";
  text += "instrumented /s " + rate(before.status.instrumented, now.status.instrumented) + "\n";
  return text + busiest(before, now, seconds);
}

}  // namespace

int top(const ControlArguments& arguments) {
  const bool has_screen = !arguments.once && ::isatty(STDOUT_FILENO) == 1;
  Result<Reading> before = read_now(arguments.process);
  for (bool is_first = true; before.ok(); is_first = false) {
    std::this_thread::sleep_for(interval);
    Result<Reading> now = read_now(arguments.process);
    if (!now && !is_first) return exit_success;  // the program has exited
    if (now) {
      if (has_screen) write_control(STDOUT_FILENO, "\033[H\033[2J");
      std::string text = has_screen || is_first ? "" : "\n";
      text += top_text(arguments.process, *before, *now);
      std::fwrite(text.data(), 1, text.size(), stdout);
      // The reader has closed the pipe.
      if (std::fflush(stdout) != 0 || arguments.once) return exit_success;
    }
    before = std::move(now);
  }
  print(before.error().diagnostics);
  return exit_input_error;
}

}  // namespace lynxpp::cli
