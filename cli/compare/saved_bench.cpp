#include "cli/compare/saved_bench.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <vector>

#include "report/kernel_name.h"
#include "report/tables/text_table.h"
#include "support/json.h"
#include "support/text.h"

namespace lynxpp::cli {
namespace {

std::string three_digits(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.3f", value);
  return text;
}

/// Returns for example "+12.5 %".
std::string change_text(double before, double now) {
  char text[32];
  std::snprintf(text, sizeof text, "%+.1f %%", 100 * (now / before - 1));
  return text;
}

struct ChangedRatio {
  std::string spec, kernel;
  double before = 0, now = 0;
  double distance() const { return std::fabs(std::log(now / before)); }
};

struct Matched {
  std::vector<ChangedRatio> both;
  std::vector<std::string> only_before, only_now;
};

Matched match(const SavedBench& before, const report::Overhead& now) {
  Matched matched;
  std::map<std::pair<std::string, std::string>, double> left = before.ratios;
  for (const report::SettingOverhead& setting : now.settings) {
    for (const report::KernelOverhead& kernel : setting.kernels) {
      const auto known = left.find({setting.name, kernel.kernel});
      if (known == left.end()) {
        matched.only_now.push_back(demangle(kernel.kernel) + " with " + setting.name);
      } else if (known->second > 0 && kernel.ratio > 0) {
        matched.both.push_back({setting.name, kernel.kernel, known->second, kernel.ratio});
      }
      if (known != left.end()) left.erase(known);
    }
  }
  for (const auto& [key, ratio] : left)
    matched.only_before.push_back(demangle(key.second) + " with " + key.first);
  std::ranges::stable_sort(matched.both, std::greater<>(), &ChangedRatio::distance);
  return matched;
}

std::string changed_table(const std::vector<ChangedRatio>& changes, std::size_t width) {
  constexpr std::size_t most = 20, least_name = 16;
  const std::size_t shown = std::min(most, changes.size());
  report::TextColumn spec{{"specifications"}, {}, false};
  report::TextColumn before{{"ratio", "before"}, {}};
  report::TextColumn now{{"ratio", "now"}, {}};
  report::TextColumn change{{"change"}, {}};
  std::vector<std::string> names;
  for (std::size_t i = 0; i < shown; ++i) {
    names.push_back(demangle(changes[i].kernel));
    spec.cells.push_back(report::printable(changes[i].spec));
    before.cells.push_back(three_digits(changes[i].before));
    now.cells.push_back(three_digits(changes[i].now));
    change.cells.push_back(change_text(changes[i].before, changes[i].now));
  }
  std::vector<report::TextColumn> columns{spec, before, now, change};
  std::size_t taken = report::width_between(columns.size() + 1);
  for (const report::TextColumn& column : columns) taken += column.width();
  report::ShortNames shortened =
      report::short_kernel_names(names, std::max(width > taken ? width - taken : 0, least_name));
  columns.insert(columns.begin(), report::TextColumn{{"kernel"}, std::move(shortened.names), false});
  std::string text = report::render_columns(columns);
  for (const std::string& line : shortened.legend) text += "  " + line + "\n";
  if (changes.size() > shown)
    text += "  … " + std::to_string(changes.size() - shown) + " more changed less\n";
  return text;
}

}  // namespace

Result<SavedBench> read_saved_bench(const std::string& path) {
  std::string text;
  if (!read_file(path, text)) return failure(cannot_read(path));
  const Result<nlohmann::json> parsed = parse_json<nlohmann::json>(text, {path, 1, 1, 1});
  const Failure is_none = failure(path + " was not written by `lynxpp bench --output`");
  if (!parsed) return is_none;
  const nlohmann::json& saved = *parsed;
  const auto record = saved.find("record");
  if (record == saved.end() || *record != "bench") return is_none;
  SavedBench bench;
  bench.path = path;
  try {
    bench.device = saved.at("device").get<std::string>();
    for (const nlohmann::json& setting : saved.at("settings")) {
      const std::string spec = setting.at("spec").get<std::string>();
      if (setting.contains("geometric_mean"))
        bench.geometric_means[spec] = setting.at("geometric_mean").get<double>();
      for (const nlohmann::json& kernel : setting.at("kernels"))
        bench.ratios[{spec, kernel.at("kernel").get<std::string>()}] = kernel.at("ratio").get<double>();
    }
  } catch (const nlohmann::json::exception&) {
    return is_none;
  }
  return bench;
}

std::string compared_text(const SavedBench& before, const report::Overhead& now, std::size_t width) {
  const Matched matched = match(before, now);
  std::string text = "\n== compared with " + report::printable(before.path) + " ==\n";
  if (before.device != now.device) {
    text += "measured on " + report::printable(before.device) + " then, on " + report::printable(now.device) +
            " now\n";
  }
  text += matched.both.empty() ? "no kernel is in both\n" : changed_table(matched.both, width);
  for (const report::SettingOverhead& setting : now.settings) {
    const auto known = before.geometric_means.find(setting.name);
    if (known == before.geometric_means.end() || setting.kernels.empty()) continue;
    text += "geometric mean with " + report::printable(setting.name) + ": " + three_digits(known->second) +
            " before, " + three_digits(setting.geometric_mean) + " now (" +
            change_text(known->second, setting.geometric_mean) + ")\n";
  }
  for (const std::string& each : matched.only_before)
    text += "only before: " + report::printable(each) + "\n";
  for (const std::string& each : matched.only_now) text += "only now: " + report::printable(each) + "\n";
  return text;
}

}  // namespace lynxpp::cli
