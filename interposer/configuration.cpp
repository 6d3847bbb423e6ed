#include "interposer/configuration.h"

#include <charconv>
#include <cstdlib>
#include <filesystem>
#include <limits>
#include <optional>
#include <system_error>

#include "instrumentors/gmprof/schemes.h"
#include "interposer/output_path.h"
#include "report/trace/trace_file.h"
#include "support/setting.h"

namespace lynxpp::interposer {
namespace {

std::string environment(const char* name) {
  const char* value = setting(name);
  return value != nullptr ? value : "";
}

/// Returns this process's trace file in the folder.
Result<std::string> trace_path(const std::string& folder) {
  if (folder.empty()) return std::string();
  const Result<std::string> expanded = expand_output_path(folder + "/%h-%p", 0, "LYNXPP_TRACE");
  if (!expanded) return expanded.error();
  std::error_code error;
  return std::filesystem::absolute(*expanded, error).string() + std::string(report::trace_suffix);
}

/// Returns nullopt if the text is neither empty, "all" nor a number.
std::optional<std::uint64_t> own_records_of(const std::string& text) {
  if (text.empty()) return Configuration().own_records;
  if (text == "all") return std::numeric_limits<std::uint64_t>::max();
  std::uint64_t number = 0;
  const char* const end = text.data() + text.size();
  const auto [last, error] = std::from_chars(text.data(), end, number);
  return error == std::errc() && last == end ? std::optional(number) : std::nullopt;
}

/// Returns nullopt if the text is not a number of seconds.
std::optional<std::chrono::duration<double>> seconds_of(const std::string& text) {
  double seconds = 0;
  const char* const end = text.data() + text.size();
  const auto [last, error] = std::from_chars(text.data(), end, seconds);
  if (error != std::errc() || last != end || !(seconds >= 0)) return std::nullopt;
  return std::chrono::duration<double>(seconds);
}

/// Returns nullopt for an unknown value.
std::optional<FirstLaunch> first_launch_of(const std::string& text) {
  if (text.empty() || text == "wait") return FirstLaunch::waits;
  if (text == "native") return FirstLaunch::native;
  return text == "alone" ? std::optional(FirstLaunch::alone) : std::nullopt;
}

Timing timing_of(const std::string& value) {
  if (value.empty() || value == "0") return Timing::off;
  if (value == "original") return Timing::originals;
  return value == "variant" ? Timing::variants : Timing::stages;
}

/// Sets `value` to what was read, or adds the problems, each after `name`.
template <typename T, typename Read>
void take(Result<Read> read, T& value, Diagnostics& problems, const std::string& name = {}) {
  if (read) {
    value = std::move(*read);
    return;
  }
  for (Diagnostic& diagnostic : read.error().diagnostics) {
    diagnostic.message.insert(0, name);
    problems.push_back(std::move(diagnostic));
  }
}

}  // namespace

Configuration read_configuration(Diagnostics& problems) {
  problems = check_debug_settings();
  Configuration configuration;
  if (const std::string pattern = environment("LYNXPP_KERNELS"); !pattern.empty())
    take(NamePattern::parse(pattern), configuration.kernels, problems, "LYNXPP_KERNELS: ");
  take(LaunchFilter::parse(environment("LYNXPP_LAUNCHES"), "LYNXPP_LAUNCHES"), configuration.launches,
       problems);
  take(gmprof::parse_schemes(environment("LYNXPP_WORDS"), "LYNXPP_WORDS"), configuration.words, problems);
  take(StartCondition::parse(environment("LYNXPP_START"), "LYNXPP_START"), configuration.start, problems);
  take(device::MemoryBudget::parse(environment("LYNXPP_MEMORY_BUDGET")), configuration.memory, problems);
  take(trace_path(environment("LYNXPP_TRACE")), configuration.trace, problems);
  const std::string records = environment("LYNXPP_LAUNCH_RECORDS");
  if (const std::optional<std::uint64_t> own = own_records_of(records)) {
    configuration.own_records = *own;
  } else {
    problems.push_back({Severity::error,
                        {},
                        "LYNXPP_LAUNCH_RECORDS: '" + records + "' is not a number of launches",
                        "write a number, or 'all' for a record of each launch"});
  }
  const std::string budget = environment("LYNXPP_COMPILE_BUDGET");
  configuration.compile_budget = seconds_of(budget);
  if (!configuration.compile_budget && !budget.empty() && budget != "none") {
    problems.push_back({Severity::error,
                        {},
                        "LYNXPP_COMPILE_BUDGET: '" + budget + "' is not a number of seconds",
                        "write a number, or 'none' to instrument every kernel at its first launch"});
  }
  const std::string first = environment("LYNXPP_FIRST_LAUNCH");
  if (const std::optional<FirstLaunch> known = first_launch_of(first)) {
    configuration.first_launch = *known;
  } else {
    problems.push_back({Severity::error,
                        {},
                        "LYNXPP_FIRST_LAUNCH: unknown value '" + first + "'",
                        "write 'wait', 'native' or 'alone'"});
  }
  configuration.launches_text = environment("LYNXPP_LAUNCHES");
  configuration.output = environment("LYNXPP_OUTPUT");
  configuration.dump = environment("LYNXPP_DUMP");
  configuration.prints_table = environment("LYNXPP_TABLE") != "0";
  configuration.ptx = environment("LYNXPP_PTX") != "0";
  configuration.timing = timing_of(environment("LYNXPP_TIMING"));
  if (const std::string trials = environment("LYNXPP_TRIALS"); !trials.empty()) {
    configuration.timing = Timing::trials;
    take(
        parse_trial_choices(trials, environment("LYNXPP_TRIAL_LAUNCHES"), environment("LYNXPP_TRIAL_REPLAY")),
        configuration.trials, problems);
    if (!environment("LYNXPP_SPEC").empty())
      problems.push_back({Severity::error,
                          {},
                          "LYNXPP_TRIALS and LYNXPP_SPEC are set: trials run while nothing is counted",
                          "unset one of them"});
  }
  const std::string timeline = environment("LYNXPP_TIMELINE");
  configuration.timeline = !timeline.empty() && timeline != "0";
  if (const std::string wide = environment("LYNXPP_WIDE_COUNTERS"); !wide.empty())
    configuration.counters = wide == "0" ? CounterWidth::narrow : CounterWidth::wide;
  return configuration;
}

}  // namespace lynxpp::interposer
