#include "cli/advise/advice_page.h"

#include <algorithm>
#include <cstdint>
#include <cstdio>

#include "cli/advise/words.h"
#include "cli/diagnostics.h"
#include "report/number.h"
#include "report/tables/bar_chart.h"
#include "report/tables/heat_map.h"
#include "support/text.h"

namespace lynxpp::cli {
namespace {

using Json = nlohmann::ordered_json;
using report::escaped;

std::string whole(const Json& value) {
  return report::to_text(report::Number::of(value.get<std::uint64_t>()));
}

std::string tenths(const Json& value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.1f", value.get<double>());
  return text;
}

std::string cell(const std::string& text) { return "<td>" + escaped(text) + "</td>"; }
std::string text_cell(const std::string& text) { return "<td class=\"text\">" + escaped(text) + "</td>"; }
std::string heading(const std::string& text) { return "<th>" + escaped(text) + "</th>"; }
std::string text_heading(const std::string& text) { return "<th class=\"text\">" + escaped(text) + "</th>"; }

/// Returns "matmul, launch 0" or "product.access: rows=1 padding=0".
std::string name_of(const Json& entry) {
  if (entry.contains("kernel"))
    return entry["kernel"].get<std::string>() + ", launch " + std::to_string(entry["launch"].get<int>());
  std::string choices;
  for (const auto& [name, value] : entry["choices"].items()) choices += " " + name + "=" + value.dump();
  for (const auto& [name, value] : entry["changes"].items())
    choices += " " + name + "=" + value.get<std::string>();
  return entry["file"].get<std::string>() + (choices.empty() ? "" : ":") + choices;
}

/// Renders the terms; marks the factor that lowers the estimate most.
std::string terms_row(const Json& entry) {
  std::string html = "<tr>" + text_cell(name_of(entry));
  if (entry.contains("bounds"))
    html += cell(tenths(entry["bounds"]["microseconds"])) + text_cell(entry["bounds"]["by"]);
  const std::string hurts = entry["hurts"]["term"].get<std::string>();
  for (const auto& [term, value] : entry["modelled"].items()) {
    const bool is_skew_unknown = term == "ch_skew" && !entry.value("skew_observed", true);
    const std::string text = is_skew_unknown ? "?" : term_text(value.get<double>());
    html += term == hurts ? "<td class=\"note\"><strong>" + text + "</strong></td>" : cell(text);
  }
  for (const char* const count : {"accesses", "in_shared", "global_accesses"})
    html += cell(whole(entry[count]));
  const std::string location = entry["hurts"].value("place", "");  // english: ok
  return html + text_cell(hurts + (location.empty() ? "" : " at " + location)) + "</tr>\n";
}

std::string terms_table(const std::vector<Json>& entries) {
  const Json& first = entries.front();
  std::string html =
      "<table><tr>" + text_heading(first.contains("kernel") ? "launch" : "variant, best first");
  if (first.contains("bounds")) html += heading("µs") + text_heading("bound by");
  for (const auto& [term, value] : first["modelled"].items()) html += heading(term);
  html +=
      heading("accesses") + heading("in shared") + heading("global") + text_heading("hurts most") + "</tr>\n";
  for (const Json& entry : entries) html += terms_row(entry);
  return html + "</table>\n";
}

/// Draws how long each resource is busy, as bars.
std::string busy_chart(const Json& entry) {
  if (!entry.contains("bounds")) return {};
  report::BarChart chart{"busy, modelled", "µs", {}};
  for (const auto& [resource, microseconds] : entry["bounds"]["busy"].items())
    chart.bars.push_back({resource, report::Number::of_real(microseconds.get<double>())});
  const std::string size = "width=\"" + std::to_string(report::chart_width) + "\" height=\"" +
                           std::to_string(report::height_of(chart)) + "\"";
  return "<svg " + size + " font-size=\"12\"><rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>\n" +
         svg_of(chart, 0) + "</svg>\n";
}

/// Renders a row for each reference; the columns are the members of the first.
std::string references_table(const Json& references) {
  if (references.empty()) return {};
  std::string html = "<details><summary>References</summary><table><tr>";
  for (const auto& [name, value] : references.front().items()) {
    std::string text = name;
    std::ranges::replace(text, '_', ' ');
    html += value.is_string() ? text_heading(text) : heading(text);
  }
  html += "</tr>\n";
  for (const Json& reference : references) {
    html += "<tr>";
    for (const auto& [name, value] : reference.items())
      html +=
          value.is_string() ? text_cell(value) : cell(name.ends_with("line") ? value.dump() : whole(value));
    html += "</tr>\n";
  }
  return html + "</table></details>\n";
}

std::string visitors_map(const Json& array, const char* visitors, const char* words, double most) {
  std::vector<report::HeatCell> cells;
  for (const Json& part : array["heat"][visitors]) {
    cells.push_back({part.get<double>(), "part " + std::to_string(cells.size() + 1) + " of " +
                                             std::to_string(array["heat"][visitors].size()) + ": " +
                                             whole(part) + " " + words + " access one of its words"});
  }
  return report::heat_map(std::string(words) + " along " + array["array"].get<std::string>(), cells, most);
}

std::string sharing_row(const Json& array, double most_warps, double most_blocks) {
  std::string html =
      "<tr class=\"above\">" +
      text_cell((array["shared_memory"].get<bool>() ? "shared " : "") + array["array"].get<std::string>()) +
      cell(whole(array["words_visited"]));
  for (const char* const unit : {"words", "sectors"}) {
    const Json& visited = array[unit];
    html += cell(tenths(visited["mean_warps"])) + cell(whole(visited["most_warps"])) +
            cell(tenths(visited["mean_blocks"])) + cell(whole(visited["most_blocks"]));
  }
  return html + "</tr>\n<tr class=\"above\"><td class=\"text\" colspan=\"10\">" +
         visitors_map(array, "warps", "warps", most_warps) +
         "</td></tr>\n<tr><td class=\"text\" colspan=\"10\">" +
         visitors_map(array, "blocks", "thread blocks", most_blocks) + "</td></tr>\n";
}

std::string sharing_section(const Json& entry) {
  if (!entry.contains("sharing") || entry["sharing"].empty()) return {};
  double most_warps = 1, most_blocks = 1;
  for (const Json& array : entry["sharing"]) {
    most_warps = std::max(most_warps, array["words"]["most_warps"].get<double>());
    most_blocks = std::max(most_blocks, array["words"]["most_blocks"].get<double>());
  }
  std::string html =
      "<h3>Warps and thread blocks that access the arrays</h3>\n<p>Numbers of different warps (top) and "
      "thread blocks (bottom) that access the most shared word of each part of an array; the first word is "
      "on the left.</p>\n" +
      report::heat_legend("warps", most_warps) + report::heat_legend("thread blocks", most_blocks) +
      "<table><tr>" + text_heading("array") + heading("words visited");
  for (const char* const unit : {"word", "sector"}) {
    html += heading(std::string("warps of a ") + unit) + heading("most") +
            heading(std::string("blocks of a ") + unit) + heading("most");
  }
  html += "</tr>\n";
  for (const Json& array : entry["sharing"]) html += sharing_row(array, most_warps, most_blocks);
  html += "</table>\n";
  if (entry["findings"].empty()) return html;
  html += "<table><tr>" + text_heading("finding") + text_heading("array") + text_heading("location") +
          text_heading("observation") + "</tr>\n";
  for (const Json& finding : entry["findings"]) {
    html += "<tr>" + text_cell(finding["rule"]) + text_cell(finding["array"]) +
            text_cell(finding["place"]) +  // english: ok
            text_cell(finding["text"]) + "</tr>\n";
  }
  return html + "</table>\n";
}

}  // namespace

std::string advice_page(const std::string& machine, const std::vector<Json>& entries) {
  const bool is_observed = !entries.empty() && entries.front().contains("kernel");
  std::string html = "<p>Modelled for " + escaped(machine) +
                     (is_observed ? " from observed accesses" : " from descriptions") +
                     ": times and terms are estimates, counts of accesses are those of the thread blocks " +
                     (is_observed ? "observed" : "described") + ".</p>\n";
  if (entries.empty()) return report::html_page("Memory advice", html + "<p>Nothing to show.</p>\n");
  html +=
      "<p class=\"note\">" + escaped(entries.front().value("trust", "")) + "</p>\n" + terms_table(entries);
  for (const Json& entry : entries) {
    html += "<h2>" + escaped(name_of(entry)) + "</h2>\n";
    if (entry.contains("blocks_observed"))
      html += "<p>" + whole(entry["blocks_observed"]) + " thread blocks observed.</p>\n";
    html += busy_chart(entry) + references_table(entry["references"]) + sharing_section(entry);
  }
  return report::html_page("Memory advice", html);
}

bool write_advice_page(const std::string& file, const std::string& machine,
                       const std::vector<Json>& entries) {
  if (file.empty() || write_file(file, advice_page(machine, entries))) return true;
  print_error("cannot write " + file);
  return false;
}

}  // namespace lynxpp::cli
