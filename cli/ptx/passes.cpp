#include "cli/ptx/passes.h"

#include <algorithm>
#include <cstdio>

#include "cli/diagnostics.h"
#include "cli/ptx/arguments.h"
#include "ptx/emitter/emitter.h"
#include "ptx/passes/pipeline.h"
#include "support/text.h"

namespace lynxpp::cli {
namespace {

constexpr std::string_view all_passes = "all";

bool asks_for(const std::vector<std::string>& names, std::string_view pass) {
  return std::ranges::any_of(names,
                             [&](const std::string& name) { return name == pass || name == all_passes; });
}

void print_unit(const char* when, std::string_view pass, const ptx::InstrumentationUnit& unit) {
  std::fprintf(stderr, "// ---- %s pass '%.*s'\n", when, static_cast<int>(pass.size()), pass.data());
  const auto description = std::ranges::find(ptx::pass_table(), pass, &ptx::PassDescription::name);
  if (description->plan_text != nullptr) {
    std::fprintf(stderr, "%s\n", description->plan_text(unit).c_str());
    return;
  }
  for (const ptx::FunctionUnit& function : unit.reached.functions)
    std::fprintf(stderr, "%s\n", ptx::emit_range(unit.module, function.function->text, unit.edits).c_str());
}

ptx::PassObserver::Function printer(const std::vector<std::string>& names, const char* when) {
  if (names.empty()) return nullptr;
  return [names, when](std::string_view pass, const ptx::InstrumentationUnit& unit) {
    if (asks_for(names, pass)) print_unit(when, pass, unit);
  };
}

void print_row(const std::string& name, double milliseconds, double total, const std::string& edits) {
  std::fprintf(stderr, "  %-20s %10.3f ms %5.1f %%  %s\n", name.c_str(), milliseconds,
               total > 0 ? 100 * milliseconds / total : 0.0, edits.c_str());
}

}  // namespace

bool are_passes(const std::vector<std::string>& names) {
  std::vector<std::string> known;
  for (const std::string_view name : ptx::pass_names()) known.emplace_back(name);
  std::string list;
  for (const std::string& name : known) list += name + ", ";
  for (const std::string& name : names) {
    if (name == all_passes || std::ranges::find(known, name) != known.end()) continue;
    const std::string close = closest_match(name, known);
    print_error("unknown pass '" + name + "'" + (close.empty() ? "" : "; did you mean '" + close + "'?"),
                "the passes are " + list + "and all");
    return false;
  }
  return true;
}

ptx::PassObserver printing_observer(const InstrumentArguments& arguments) {
  return {printer(arguments.print_before, "before"), printer(arguments.print_after, "after")};
}

void print_pass_timings(const engine::Instrumented& result) {
  double passes = 0;
  for (const ptx::PassTiming& timing : result.spent.passes) passes += timing.milliseconds;
  const double verification = result.spent.verify_ms;
  const double total = result.spent.parse_ms + result.spent.instrument_ms + result.spent.emit_ms;
  std::fprintf(stderr, "passes of %s:\n", demangle(result.kernel).c_str());
  print_row("(scan and parse)", result.spent.parse_ms, total, "");
  print_row("(compile handlers)", std::max(0.0, result.spent.instrument_ms - passes - verification), total,
            "");
  for (const ptx::PassTiming& timing : result.spent.passes)
    print_row(timing.pass, timing.milliseconds, total,
              std::to_string(timing.edits) + (timing.edits == 1 ? " edit" : " edits"));
  if (verification > 0) print_row("(verify)", verification, total, "");
  print_row("(emit)", result.spent.emit_ms, total, "");
  print_row("total", total, total, "");
}

}  // namespace lynxpp::cli
