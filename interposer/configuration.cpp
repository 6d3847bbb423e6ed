#include "interposer/configuration.h"

#include <cstdlib>
#include <filesystem>
#include <system_error>

#include "interposer/output_path.h"
#include "report/trace/trace_file.h"

namespace lynxpp::interposer {
namespace {

std::string environment(const char* name) {
  const char* value = secure_getenv(name);
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

Timing timing_of(const std::string& value) {
  if (value.empty() || value == "0") return Timing::off;
  if (value == "original") return Timing::originals;
  return value == "variant" ? Timing::variants : Timing::stages;
}

}  // namespace

Configuration read_configuration(Diagnostics& problems) {
  Configuration configuration;
  if (const std::string pattern = environment("LYNXPP_KERNELS"); !pattern.empty()) {
    Result<NamePattern> kernels = NamePattern::parse(pattern);
    if (kernels) {
      configuration.kernels = std::move(*kernels);
    } else {
      for (Diagnostic& diagnostic : kernels.error().diagnostics) {
        diagnostic.message.insert(0, "LYNXPP_KERNELS: ");
        problems.push_back(std::move(diagnostic));
      }
    }
  }
  Result<LaunchFilter> launches = LaunchFilter::parse(environment("LYNXPP_LAUNCHES"), "LYNXPP_LAUNCHES");
  if (launches) {
    configuration.launches = std::move(*launches);
  } else {
    for (Diagnostic& diagnostic : launches.error().diagnostics) problems.push_back(std::move(diagnostic));
  }
  Result<cod::WordScheme> words = cod::parse_word_scheme(environment("LYNXPP_WORDS"), "LYNXPP_WORDS");
  if (words) {
    configuration.words = *words;
  } else {
    for (Diagnostic& diagnostic : words.error().diagnostics) problems.push_back(std::move(diagnostic));
  }
  Result<StartCondition> start = StartCondition::parse(environment("LYNXPP_START"), "LYNXPP_START");
  if (start) {
    configuration.start = *start;
  } else {
    for (Diagnostic& diagnostic : start.error().diagnostics) problems.push_back(std::move(diagnostic));
  }
  Result<device::MemoryBudget> memory = device::MemoryBudget::parse(environment("LYNXPP_MEMORY_BUDGET"));
  if (memory) {
    configuration.memory = *memory;
  } else {
    for (Diagnostic& diagnostic : memory.error().diagnostics) problems.push_back(std::move(diagnostic));
  }
  Result<std::string> trace = trace_path(environment("LYNXPP_TRACE"));
  if (trace) {
    configuration.trace = std::move(*trace);
  } else {
    for (Diagnostic& diagnostic : trace.error().diagnostics) problems.push_back(std::move(diagnostic));
  }
  configuration.launches_text = environment("LYNXPP_LAUNCHES");
  configuration.output = environment("LYNXPP_OUTPUT");
  configuration.dump = environment("LYNXPP_DUMP");
  configuration.prints_table = environment("LYNXPP_TABLE") != "0";
  configuration.ptx = environment("LYNXPP_PTX") != "0";
  configuration.timing = timing_of(environment("LYNXPP_TIMING"));
  const std::string timeline = environment("LYNXPP_TIMELINE");
  configuration.timeline = !timeline.empty() && timeline != "0";
  if (const std::string wide = environment("LYNXPP_WIDE_COUNTERS"); !wide.empty())
    configuration.counters = wide == "0" ? CounterWidth::narrow : CounterWidth::wide;
  return configuration;
}

}  // namespace lynxpp::interposer
