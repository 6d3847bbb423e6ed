// Advice, findings and heat maps of arrays as sections of a page.
#include <algorithm>

#include "report/number.h"
#include "report/tables/bar_chart.h"
#include "report/tables/heat_map.h"
#include "report/words/word_profiles.h"
#include "support/text.h"

namespace lynxpp::report {
namespace {

using models::ArrayProfile;
using models::grouped;
using models::rounded;

/// A part of an array that a heat map has a cell for.
struct Part {
  std::uint64_t first = 0, words = 0, accesses = 0;
  double mean() const { return static_cast<double>(accesses) / static_cast<double>(words); }
};

/// Returns the parts that contain words: small arrays have fewer words than the map has cells.
std::vector<Part> parts_of(const ArrayProfile& array) {
  std::vector<Part> parts;
  const std::uint64_t cells = array.heat.size();
  for (std::uint64_t i = 0; i < cells; ++i) {
    const std::uint64_t first = (i * array.words + cells - 1) / cells;
    const std::uint64_t end = ((i + 1) * array.words + cells - 1) / cells;
    if (end > first) parts.push_back({first, end - first, array.heat[i]});
  }
  return parts;
}

double greatest_mean(const models::LaunchProfile& profile, ArrayProfile::Space space) {
  double greatest = 0;
  for (const ArrayProfile& array : profile.arrays) {
    if (array.space != space) continue;
    for (const Part& part : parts_of(array)) greatest = std::max(greatest, part.mean());
  }
  return greatest;
}

std::string number(std::size_t value) { return std::to_string(value); }

std::string svg_begin(std::size_t width, std::size_t height, const std::string& label) {
  return "<svg role=\"img\" aria-label=\"" + escaped(label) + "\" width=\"" + number(width) + "\" height=\"" +
         number(height) + "\" viewBox=\"0 0 " + number(width) + " " + number(height) + "\">";
}

std::string words_text(const Part& part) {
  if (part.words == 1) return "word " + grouped(part.first);
  return "words " + grouped(part.first) + " to " + grouped(part.first + part.words - 1);
}

std::string heat_map(const ArrayProfile& array, double most) {
  std::vector<HeatCell> cells;
  for (const Part& part : parts_of(array)) {
    const std::string each = part.words == 1 ? "" : ", " + rounded(part.mean()) + " per word on average";
    cells.push_back({part.mean(), words_text(part) + ": " + grouped(part.accesses) + " accesses" + each});
  }
  return heat_map("accesses along " + array.name, cells, most);
}

std::string bin_text(std::size_t bin) {
  const std::uint64_t least = std::uint64_t{1} << bin;
  return least == 1 ? "1" : grouped(least) + " to " + grouped(2 * least - 1);
}

/// Renders the distribution of words by count, starting with those never accessed.
std::string distribution(const ArrayProfile& array) {
  std::vector<std::pair<std::string, std::uint64_t>> bars{{"0", array.never}};
  std::size_t bins = array.distribution.size();
  while (bins > 0 && array.distribution[bins - 1] == 0) --bins;
  for (std::size_t bin = 0; bin < bins; ++bin) bars.emplace_back(bin_text(bin), array.distribution[bin]);
  std::uint64_t most = 1;
  for (const auto& [text, words] : bars) most = std::max(most, words);
  constexpr std::size_t width = 14, gap = 2, height = 40;
  std::string svg = svg_begin(bars.size() * (width + gap), height, "words by their count of accesses");
  for (std::size_t i = 0; i < bars.size(); ++i) {
    const auto& [text, words] = bars[i];
    const double share = static_cast<double>(words) / static_cast<double>(most);
    const std::size_t tall =
        words == 0 ? 0 : std::max<std::size_t>(1, static_cast<std::size_t>(share * height));
    const std::string title = escaped(text + " accesses: " + grouped(words) + " words");
    svg += "<g><title>" + title + "</title><rect class=\"room\" x=\"" + number(i * (width + gap)) +
           "\" width=\"" + number(width) + "\" height=\"" + number(height) + "\"/><rect class=\"bar\" x=\"" +
           number(i * (width + gap)) + "\" y=\"" + number(height - tall) + "\" width=\"" + number(width) +
           "\" height=\"" + number(tall) + "\"/></g>";
  }
  return svg + "</svg>";
}

std::string table_head(std::initializer_list<const char*> names, std::size_t texts) {
  std::string html = "<table><tr>";
  for (const char* const name : names) {
    html += std::string(texts > 0 ? "<th class=\"text\">" : "<th>") + name + "</th>";
    texts -= texts > 0 ? 1 : 0;
  }
  return html + "</tr>\n";
}

std::string text_cell(std::string_view text) { return "<td class=\"text\">" + escaped(text) + "</td>"; }
std::string number_cell(const std::string& text) { return "<td>" + text + "</td>"; }

std::string placements(const models::StagingAdvice& advice) {
  std::string html = "<p><strong>" + escaped(advice.summary) + ".</strong></p>\n" +
                     table_head({"advice", "array", "why", "bytes of a block", "accesses saved"}, 3);
  for (const models::Placement& each : advice.placements) {
    html += "<tr>" + text_cell(name_of(each.advised)) + text_cell(each.array) + text_cell(each.reason) +
            number_cell(grouped(each.bytes)) + number_cell(grouped(each.saved)) + "</tr>\n";
  }
  return html + "</table>\n";
}

std::string findings_list(const std::vector<models::Finding>& findings) {
  if (findings.empty()) return {};
  std::string html = table_head({"finding", "array", "observation", "advice"}, 4);
  for (const models::Finding& each : findings) {
    html += "<tr>" + text_cell(each.rule) + text_cell(each.array) + text_cell(each.sentence) +
            text_cell(each.what_to_try) + "</tr>\n";
  }
  return html + "</table>\n";
}

std::string maps_of(const models::LaunchProfile& profile, ArrayProfile::Space space, const char* title) {
  const double most = greatest_mean(profile, space);
  std::string rows;
  for (const ArrayProfile& array : profile.arrays) {
    if (array.space != space) continue;
    const std::uint64_t reused = array.accessed_words() - std::min(array.once, array.accessed_words());
    rows += "<tr class=\"above\">" + text_cell(array.name) + number_cell(grouped(array.words)) +
            number_cell(grouped(array.accesses)) + number_cell(rounded(array.mean())) +
            number_cell(grouped(array.greatest)) + number_cell(grouped(array.never)) +
            number_cell(grouped(array.once)) + number_cell(grouped(reused)) + "<td rowspan=\"2\">" +
            distribution(array) + "</td></tr>\n<tr><td class=\"text\" colspan=\"8\">" +
            heat_map(array, most) + "</td></tr>\n";
  }
  if (rows.empty()) return {};
  return std::string("<h4>") + title + "</h4>\n" + heat_legend("accesses of a word", most) +
         table_head({"array, first word at the left", "words", "accesses", "mean of accessed words",
                     "greatest", "never", "once", "reused", "words by count"},
                    1) +
         rows + "</table>\n";
}

}  // namespace

std::string advice_html(const std::vector<LaunchAdvice>& advice) {
  if (advice.empty()) return {};
  std::string html = "<h2>Advice on shared memory</h2>\n";
  for (const LaunchAdvice& each : advice) {
    html += "<h3>" + escaped(demangle(each.kernel)) + " <span class=\"unit\">on " + escaped(each.device) +
            ", launch " + std::to_string(each.launch);
    if (each.launches > 1) html += ", which has the most accesses of " + std::to_string(each.launches);
    html += "</span></h3>\n";
    if (each.staging) html += placements(*each.staging);
    html += findings_list(each.findings) +
            maps_of(each.profile, ArrayProfile::Space::shared, "Arrays in shared memory") +
            maps_of(each.profile, ArrayProfile::Space::device, "Arrays in device memory");
  }
  return html;
}

}  // namespace lynxpp::report
