#include "report/overhead/elapsed.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "report/number.h"
#include "report/overhead/figures.h"
#include "report/tables/text_table.h"
#include "support/check.h"
#include "support/printable.h"
#include "support/trust.h"

namespace lynxpp::report {
namespace {

std::string seconds(double milliseconds) { return fixed(milliseconds / 1000, 3); }

std::vector<double> times_of(const ElapsedSetting& setting, double ElapsedRun::*time) {
  std::vector<double> times;
  for (const ElapsedRun& run : setting.runs) times.push_back(run.*time);
  return times;
}

/// Without rounds in which the native run took no time that could be measured.
std::vector<double> ratios_of(const ElapsedSetting& setting, const ElapsedSetting& native,
                              double ElapsedRun::*time) {
  std::vector<double> ratios;
  for (std::size_t round = 0; round < native.runs.size(); ++round) {
    if (native.runs[round].*time > 0) ratios.push_back(setting.runs[round].*time / native.runs[round].*time);
  }
  return ratios;
}

bool all_same(const ElapsedSetting& setting) {
  return setting.first.same_output &&
         std::ranges::all_of(setting.runs, [](const ElapsedRun& run) { return run.same_output; });
}

/// Names the baseline. The cpu device is part of lynxpp, so no program runs on it without lynxpp.
std::string native_name(const ElapsedBench& bench) {
  return bench.device == "cpu" ? "without a specification" : "without lynxpp";
}

nlohmann::ordered_json json_of(const ElapsedSetting& setting) {
  nlohmann::ordered_json object;
  if (!setting.name.empty()) object["spec"] = setting.name;
  object["elapsed_ms"] = times_of(setting, &ElapsedRun::elapsed_ms);
  object["processor_ms"] = times_of(setting, &ElapsedRun::processor_ms);
  object["first_elapsed_ms"] = setting.first.elapsed_ms;
  object["first_processor_ms"] = setting.first.processor_ms;
  return object;
}

std::string output_line(const ElapsedBench& bench) {
  if (!all_same(bench.native)) return "the program's output differs from run to run: it was not compared\n";
  const bool is_same = std::ranges::all_of(bench.settings, all_same);
  return is_same ? "the program's output is the same in every run\n" : "THE PROGRAM'S OUTPUT CHANGED\n";
}

}  // namespace

ElapsedRatio ratio_of(const ElapsedSetting& setting, const ElapsedSetting& native) {
  LYNXPP_CHECK(setting.runs.size() == native.runs.size(), "a setting has a run for each native run");
  const std::vector<double> elapsed = ratios_of(setting, native, &ElapsedRun::elapsed_ms);
  if (elapsed.empty()) return {};
  return {median(elapsed), *std::ranges::min_element(elapsed), *std::ranges::max_element(elapsed),
          median(ratios_of(setting, native, &ElapsedRun::processor_ms))};
}

static std::string trust_line_of(const ElapsedBench& bench) {
  const trust::Clock clock = trust::clock_of(bench.device);
  return clock == trust::Clock::device ? trust::line_of("measured by the host's clock",
                                                        "whole programs; the spread is that of the rounds")
                                       : trust::line_of(trust::Number::times, trust::Clock::host);
}

std::string to_text(const ElapsedBench& bench) {
  TextColumn name{{"", ""}, {native_name(bench)}, false};
  TextColumn elapsed{{"elapsed", "s"}, {}};
  TextColumn ratio{{"ratio"}, {""}};
  TextColumn spread{{"least to most"}, {""}};
  TextColumn processor{{"processor", "s"}, {}};
  TextColumn processor_ratio{{"ratio"}, {""}};
  TextColumn first{{"first run", "s"}, {}};
  TextColumn launches{{"instrumented", "launches"}, {""}};
  const auto add_times = [&](const ElapsedSetting& setting) {
    elapsed.cells.push_back(seconds(median(times_of(setting, &ElapsedRun::elapsed_ms))));
    processor.cells.push_back(seconds(median(times_of(setting, &ElapsedRun::processor_ms))));
    first.cells.push_back(seconds(setting.first.elapsed_ms));
  };
  add_times(bench.native);
  for (const ElapsedSetting& setting : bench.settings) {
    const ElapsedRatio over = ratio_of(setting, bench.native);
    name.cells.push_back(printable(setting.name));
    add_times(setting);
    ratio.cells.push_back(fixed(over.elapsed, 3));
    spread.cells.push_back(fixed(over.least_elapsed, 3) + " to " + fixed(over.most_elapsed, 3));
    processor_ratio.cells.push_back(fixed(over.processor, 3));
    launches.cells.push_back(to_text(Number::of(setting.instrumented_launches)) + " of " +
                             to_text(Number::of(setting.launches)));
  }
  const std::size_t rounds = bench.native.runs.size();
  std::string text = "== whole program on " + (bench.device.empty() ? "no device" : printable(bench.device)) +
                     ", " + std::to_string(rounds) + (rounds == 1 ? " round" : " rounds") + " ==\n";
  text += render_columns({name, elapsed, ratio, spread, processor, processor_ratio, first, launches});
  text += output_line(bench);
  return bench.device.empty() ? text : text + "\n" + trust_line_of(bench) + "\n";
}

std::string to_json(const ElapsedBench& bench) {
  nlohmann::ordered_json object{{"record", "elapsed"},
                                {"command", bench.command},
                                {"device", bench.device},
                                {"rounds", bench.native.runs.size()},
                                {"native_output_is_stable", all_same(bench.native)},
                                {"native", json_of(bench.native)}};
  if (!bench.device.empty()) object["trust"] = trust_line_of(bench);
  object["settings"] = nlohmann::ordered_json::array();
  for (const ElapsedSetting& setting : bench.settings) {
    const ElapsedRatio over = ratio_of(setting, bench.native);
    nlohmann::ordered_json each = json_of(setting);
    each["launches"] = setting.launches;
    each["instrumented_launches"] = setting.instrumented_launches;
    each["ratio"] = over.elapsed;
    each["least_ratio"] = over.least_elapsed;
    each["most_ratio"] = over.most_elapsed;
    each["processor_ratio"] = over.processor;
    each["same_output"] = all_same(setting);
    object["settings"].push_back(std::move(each));
  }
  return object.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

}  // namespace lynxpp::report
