#include "cli/band/band_output.h"

#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <optional>

#include "cli/modelled/traffic_chart.h"
#include "report/tables/bar_chart.h"
#include "report/tables/csv.h"
#include "report/tables/heat_map.h"
#include "report/tables/line_chart.h"
#include "report/tables/text_table.h"
#include "support/trust.h"

namespace lynxpp::cli {
namespace {

using namespace models::campprof;
using Json = nlohmann::ordered_json;

std::string number(double value) {
  char text[40];
  std::snprintf(text, sizeof text, "%.4g", value);
  return text;
}
std::string two_digits(double value) {
  char text[40];
  std::snprintf(text, sizeof text, "%.2f", value);
  return text;
}
std::string whole(double value) {
  char text[40];
  std::snprintf(text, sizeof text, "%.0f", value);
  return text;
}

std::string counts_text(const char* what, const Counts& counts) {
  return std::string(what) + " of 32, 64, 128 bytes: " + whole(counts[0]) + ", " + whole(counts[1]) + ", " +
         whole(counts[2]);
}

constexpr const char* no_degree =
    "no degree of camping: the device hashes addresses over its partitions, and no calibration knows the "
    "hash";

/// Returns the words of the lines of a form.
std::string lines_of(const std::string& equation) {
  if (equation == "samples") return "interpolation";
  return equation == "sums" ? "regression" : "regression with products";
}

const Point* point_of(const std::optional<Band>& band, std::uint32_t warps) {
  if (!band) return nullptr;
  const auto found = std::ranges::find(band->points, warps, &Point::warps);
  return found == band->points.end() ? nullptr : &*found;
}

/// Returns how far to trust the band.
std::string trust_of(const BandContext& context) {
  using trust::Number;
  const bool is_modelled = context.calibration.is_modelled;
  if (hashes_addresses(context.calibration))
    return trust::line_of({is_modelled ? Number::clock_9_0 : Number::band});
  return trust::line_of({is_modelled ? Number::clock_1_3 : Number::band, Number::degree});
}

/// Returns the degree of camping if only one direction were camped, or why it has none; empty without such
/// accesses.
std::string alone(const char* what, const Range& range, const std::optional<double>& degree, double time) {
  const std::string text = std::string("were only the ") + what + " camped: ";
  switch (apart_of(range, time)) {
    case Apart::none: return {};
    case Apart::flat:
      return text + "hardly slower: " + two_digits(range.worst / range.best) + " times their best";
    case Apart::too_few:
      return text + "too few: best and worst are " + number(100 * (range.worst - range.best) / time) +
             " % of the time apart";
    case Apart::enough: break;
  }
  return text + two_digits(degree.value_or(0)) +
         (degree.value_or(0) > 1 ? ", so they alone do not explain the time" : "");
}

/// Says whether the kernel is memory bound, judged by its share of the ceiling.
std::string bound_of(double share, const KernelBand& each, const Calibration& calibration) {
  const std::string reached = whole(100 * share) + " % of the memory rate with all accesses spread at " +
                              std::to_string(calibration.most_warps) + " warps: ";
  if (share > 1) return reached + "a cache serves it, and the band does not apply";
  if (least_camping_ratio * *each.kernel.milliseconds < each.band.here.all().best)
    return reached +
           "more than a tenth below the band, which does not apply: a cache serves it, or accesses overlap" +
           (calibration.loop == Calibration::Loop::scattered
                ? ""
                : " (for lanes with separate transactions: lynxpp band calibrate --scattered)");
  const bool waits_for_instructions =
      each.arithmetic && *part_of_instructions(*each.arithmetic) >= largest_memory_bound_part;
  if (share >= least_bound_share)
    return reached + (waits_for_instructions ? "near both of its limits" : "memory bound");
  return reached + (hashes_addresses(calibration)
                        ? "it waits for latency, for arithmetic, or for one location"
                        : "it waits for camped partitions, for latency, or for arithmetic");
}

/// Says whether the kernel is memory bound, judged by how its time changes with added arithmetic.
std::string bound_of(const AddedArithmetic& arithmetic) {
  const double part = *part_of_instructions(arithmetic);
  return "with " + std::to_string(arithmetic.added) + " additions at each access (" +
         number(100 * arithmetic.more_instructions()) + " % more instructions) its time changes by " +
         number(100 * arithmetic.longer()) +
         " %: " + (part < largest_memory_bound_part ? "memory bound, " : "not memory bound, ") +
         whole(100 * std::max(part, 0.0)) + " % of the time is due to instructions";
}

/// Returns the lines above the table, a sentence each.
std::vector<std::string> facts(const KernelBand& each, const BandContext& context) {
  const Calibration& calibration = context.calibration;
  const Range here = each.band.here.all();
  std::vector<std::string> lines{
      counts_text("loads", each.kernel.reads) + "; " + counts_text("stores", each.kernel.writes),
      "at " + std::to_string(each.kernel.warps) + " active warps: best " + number(here.best) + " ms, worst " +
          number(here.worst) + " ms, by " + lines_of(context.equation)};
  const bool has_degree = !hashes_addresses(calibration);
  if (each.band.degree) {
    const double degree = *each.band.degree;
    lines.push_back("time " + number(*each.kernel.milliseconds) + " ms" +
                    (calibration.is_modelled ? " (modelled)" : " (measured)") +
                    (has_degree ? ", degree of camping " + two_digits(degree) : ""));
    if (!has_degree) lines.emplace_back(no_degree);
    if (degree < 0) lines.emplace_back("the time is below the band: faster than with all accesses spread");
    if (degree > 1) lines.emplace_back("the time is above the band: it waits for more than memory");
    if (each.band.share_of_ceiling) lines.push_back(bound_of(*each.band.share_of_ceiling, each, calibration));
  }
  const double time = each.kernel.milliseconds.value_or(0);
  for (const std::string& line :
       {alone("reads", each.band.here.reads, each.band.degree_if_only_reads, time),
        alone("writes", each.band.here.writes, each.band.degree_if_only_writes, time)}) {
    if (!line.empty() && each.kernel.milliseconds && has_degree) lines.push_back(line);
  }
  if (each.arithmetic) lines.push_back(bound_of(*each.arithmetic));
  if (!each.band.left_out.empty()) {
    std::string list;
    for (const std::uint32_t warps : each.band.left_out)
      list += (list.empty() ? "" : ", ") + std::to_string(warps);
    lines.push_back("the equations yield no time at " + list + " active warps");
  }
  for (const NamedHotSpot& spot : each.hot) lines.push_back(sentence_of(spot));
  lines.insert(lines.end(), each.notes.begin(), each.notes.end());
  return lines;
}

std::string title(const BandContext& context) {
  return context.calibration.device + (context.calibration.is_modelled ? ", all times modelled" : "") +
         ", calibrated " + context.calibration.date;
}

Json json_of(const Counts& counts) { return {{"32", counts[0]}, {"64", counts[1]}, {"128", counts[2]}}; }
Json json_of(const Range& range) { return {{"best_ms", range.best}, {"worst_ms", range.worst}}; }
Json json_of(const std::optional<double>& value) { return value ? Json(*value) : Json(nullptr); }

Json json_of(const std::optional<AddedArithmetic>& arithmetic) {
  if (!arithmetic) return nullptr;
  return {{"added", arithmetic->added},
          {"instructions", arithmetic->instructions},
          {"accesses", arithmetic->accesses},
          {"before_ms", arithmetic->milliseconds_before},
          {"after_ms", arithmetic->milliseconds_after},
          {"part_of_instructions", *part_of_instructions(*arithmetic)}};
}

Json json_of(const std::vector<NamedHotSpot>& spots) {
  Json all = Json::array();
  for (const NamedHotSpot& named : spots) {
    const observe::HotSpot& spot = named.spot;
    const bool is_region = spot.kind == observe::HotSpot::Kind::region;
    Json entry = {{"kind", is_region ? "line" : "atomics"},
                  {"array", spot.array.empty() ? Json(nullptr) : Json(spot.array)},
                  {"offset", spot.offset},
                  {"count", spot.count},
                  {"share", spot.share},
                  {"sites", Json::array()}};
    for (const NamedHotSpot::Site& each : named.sites)
      entry["sites"].push_back({{"site", each.text}, {"count", each.count}});
    all.push_back(std::move(entry));
  }
  return all;
}

}  // namespace

std::string band_text(const KernelBand& each, const BandContext& context) {
  std::string text = each.name + "\non " + title(context) + "\n";
  for (const std::string& line : facts(each, context)) text += "  " + line + "\n";
  report::TextColumn warps{{"warps"}, {}}, best{{"best ms"}, {}}, application{{"application ms"}, {}},
      worst{{"worst ms"}, {}}, here{{""}, {}, false};
  for (const Point& point : each.band.points) {
    warps.cells.push_back(std::to_string(point.warps));
    best.cells.push_back(number(point.all().best));
    worst.cells.push_back(number(point.all().worst));
    application.cells.push_back(point.application ? number(*point.application) : "-");
    here.cells.emplace_back(point.warps == each.kernel.warps ? "* as it ran" : "");
  }
  std::vector<report::TextColumn> columns{warps, best, application, worst};
  if (each.regression) {
    for (report::TextColumn* column : {&best, &application, &worst}) {
      column->header = {"regression", column->header.front()};
      column->cells.clear();
    }
    for (std::size_t i = 1; i < columns.size(); ++i)
      columns[i].header = {"interpolation", columns[i].header[0]};
    columns.front().header = {"", "warps"};
    here.header = {"", ""};
    for (const Point& point : each.band.points) {
      const Point* const other = point_of(each.regression, point.warps);
      best.cells.push_back(other != nullptr ? number(other->all().best) : "-");
      worst.cells.push_back(other != nullptr ? number(other->all().worst) : "-");
      application.cells.push_back(other != nullptr && other->application ? number(*other->application) : "-");
    }
    columns.insert(columns.end(), {best, application, worst});
  }
  columns.push_back(here);
  return text + "\n" + report::render_columns(columns, 2) + "\n" + trust_of(context) + "\n";
}

std::string band_csv(const std::vector<KernelBand>& bands, const BandContext& context) {
  std::string csv = "kernel,device,times,lines,warps,best_ms,application_ms,worst_ms,ms\n";
  const std::string device = report::csv_cell(context.calibration.device) +
                             (context.calibration.is_modelled ? ",modelled," : ",measured,");
  const auto add = [&](const KernelBand& each, const Band& band, const std::string& lines) {
    for (const Point& point : band.points) {
      const bool is_here = point.warps == each.kernel.warps && each.kernel.milliseconds;
      csv += report::csv_cell(each.name) + "," + device + lines + "," + std::to_string(point.warps) + "," +
             number(point.all().best) + "," + (point.application ? number(*point.application) : "") + "," +
             number(point.all().worst) + "," + (is_here ? number(*each.kernel.milliseconds) : "") + "\n";
    }
  };
  for (const KernelBand& each : bands) {
    add(each, each.band, lines_of(context.equation));
    if (each.regression) add(each, *each.regression, "regression");
  }
  return csv;
}

std::string band_json(const KernelBand& each, const BandContext& context) {
  Band band = each.band;
  if (hashes_addresses(context.calibration)) {
    band.degree.reset();
    band.degree_if_only_reads.reset();
    band.degree_if_only_writes.reset();
  }
  Json json = {{"kernel", each.name},
               {"device", context.calibration.device},
               {"calibrated", context.calibration.date},
               {"modelled", context.calibration.is_modelled},
               {"equation", context.equation},
               {"loads", json_of(each.kernel.reads)},
               {"stores", json_of(each.kernel.writes)},
               {"warps", each.kernel.warps},
               {"most_warps", each.kernel.most_warps},
               {"ms", json_of(each.kernel.milliseconds)},
               {"best_ms", band.here.all().best},
               {"worst_ms", band.here.all().worst},
               {"loads_alone", json_of(band.here.reads)},
               {"stores_alone", json_of(band.here.writes)},
               {"degree", json_of(band.degree)},
               {"degree_if_only_loads", json_of(band.degree_if_only_reads)},
               {"degree_if_only_stores", json_of(band.degree_if_only_writes)},
               {"share_of_ceiling", json_of(band.share_of_ceiling)},
               {"arithmetic", json_of(each.arithmetic)}};
  json["points"] = Json::array();
  for (const Point& point : band.points) {
    Json line = {{"warps", point.warps}};
    line.update(json_of(point.all()));
    line["application_ms"] = json_of(point.application);
    line["regression"] = nullptr;
    if (const Point* const other = point_of(each.regression, point.warps); other != nullptr) {
      line["regression"] = json_of(other->all());
      line["regression"]["application_ms"] = json_of(other->application);
    }
    json["points"].push_back(std::move(line));
  }
  json["left_out"] = band.left_out;
  json["traffic"] = nullptr;
  if (each.traffic)
    json["traffic"] = {{"bin_cycles", each.traffic->bin_cycles},
                       {"over_time", each.traffic->over_time},
                       {"of_block", each.traffic->of_block}};
  json["hot"] = json_of(each.hot);
  json["notes"] = each.notes;
  if (hashes_addresses(context.calibration) && each.kernel.milliseconds) json["notes"].push_back(no_degree);
  json["trust"] = trust_of(context);
  return json.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

std::string band_svg(const KernelBand& each, const BandContext& context) {
  report::LineChart chart;
  chart.title = each.name + " on " + title(context);
  chart.x_label = "active warps of a multiprocessor";
  chart.y_label = context.calibration.is_modelled ? "milliseconds, modelled" : "milliseconds";
  chart.lines = {{"worst", "#b3423a", {}}, {"application", "#3b6ea5", {}}, {"best", "#3c8a4e", {}}};
  for (const Point& point : each.band.points) {
    const double x = point.warps;
    chart.lines[0].points.push_back({x, point.all().worst});
    if (point.application) chart.lines[1].points.push_back({x, *point.application});
    chart.lines[2].points.push_back({x, point.all().best});
  }
  if (!each.band.degree) chart.lines.erase(chart.lines.begin() + 1);
  if (each.regression) {
    chart.lines.push_back({"worst, regression", "#dfa9a4", {}});
    chart.lines.push_back({"best, regression", "#a8d1b3", {}});
    for (const Point& point : each.regression->points) {
      chart.lines.end()[-2].points.push_back({static_cast<double>(point.warps), point.all().worst});
      chart.lines.end()[-1].points.push_back({static_cast<double>(point.warps), point.all().best});
    }
  }
  if (each.kernel.milliseconds)
    chart.mark = {static_cast<double>(each.kernel.warps), *each.kernel.milliseconds};
  chart.mark_name = "as it ran";
  return report::svg_of(chart);
}

std::string band_html(const std::vector<KernelBand>& bands, const BandContext& context) {
  std::string html = "<p>" + report::escaped(title(context)) + "</p>\n";
  for (const KernelBand& each : bands) {
    html += "<h2>" + report::escaped(each.name) + "</h2>\n<ul>\n";
    for (const std::string& line : facts(each, context)) html += "<li>" + report::escaped(line) + "</li>\n";
    html += "</ul>\n" + band_svg(each, context);
    if (!each.traffic) continue;
    html += "<h3>Traffic of the first launch by partition</h3>\n" +
            traffic_svg(*each.traffic, TrafficBy::time, each.core_mhz, "over modelled time") +
            traffic_svg(*each.traffic, TrafficBy::block, each.core_mhz, "of the first blocks");
  }
  html += "<p class=\"note\">" + report::escaped(trust_of(context)) + "</p>\n";
  return report::html_page("Performance bands", html);
}

}  // namespace lynxpp::cli
