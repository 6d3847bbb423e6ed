#include <cstdio>
#include <nlohmann/json.hpp>

#include "cli/modelled/caches.h"
#include "report/tables/bar_chart.h"
#include "report/tables/heat_map.h"
#include "report/tables/text_table.h"
#include "support/trust.h"

namespace lynxpp::cli {
namespace {

using Json = nlohmann::ordered_json;

std::string text_of(double value, const char* format = "%.4g") {
  char text[40];
  std::snprintf(text, sizeof text, format, value);
  return text;
}
std::string ms(double seconds) { return text_of(seconds * 1e3); }
std::string percent(double share) { return text_of(share * 100, "%.1f %%"); }

double hit_share(const CacheUsed& cache) {
  return cache.use.accesses == 0
             ? 0
             : static_cast<double>(cache.use.hits) / static_cast<double>(cache.use.accesses);
}

std::string heading(const models::Machine& machine) {
  return "caches of " + machine.name + ", all times modelled";
}

/// Returns sentences about a kernel, shown with the table.
std::vector<std::string> facts_of(const KernelCaches& kernel) {
  const auto count = [](std::uint64_t value) { return std::to_string(value); };
  std::vector<std::string> lines{"modelled time " + ms(kernel.seconds) + " ms, " + count(kernel.launches) +
                                 (kernel.launches == 1 ? " launch" : " launches in total")};
  lines.push_back(count(kernel.moved.bytes_asked) +
                  " bytes requested by lanes; wasted in transactions of 128 bytes " +
                  count(kernel.wasted.by_lines) + ", of 32 bytes " + count(kernel.wasted.by_sectors));
  for (const CacheUsed& cache : kernel.caches) {
    lines.push_back(cache.name + ": better locality would save " + ms(cache.band.saved_by_locality) + " of " +
                    ms(cache.band.as_it_is) + " ms if first accesses were the only misses");
    if (cache.by_ways.empty()) {
      lines.push_back(cache.name + ": none of the sampled sets was accessed");
      continue;
    }
    std::string ways;
    for (const HitsOfWays& each : cache.by_ways)
      ways += (ways.empty() ? "" : ", ") + count(each.ways) + " ways " + percent(each.share);
    lines.push_back(cache.name + ", hits by lines of a set, from exact reuse distances in " +
                    count(cache.sampled_sets) + " of " + count(cache.sets) + " sets: " + ways);
  }
  if (kernel.untimed != 0)
    lines.push_back(count(kernel.untimed) + " launches have no modelled time and are not included");
  return lines;
}

/// Draws a bar from all hits to all misses, with marks.
std::string band_bar(const CacheUsed& cache, double seconds, int top) {
  constexpr double left = 60, width = 620;
  const double most = std::max(cache.band.all_misses, std::max(seconds, cache.band.as_it_is));
  const auto x = [&](double value) { return left + (most > 0 ? value / most : 0) * width; };
  const std::string y = std::to_string(top);
  std::string svg = "<text x=\"10\" y=\"" + std::to_string(top + 15) + "\">" + cache.name + "</text>\n";
  svg += "<rect x=\"" + text_of(x(cache.band.all_hits), "%.1f") + "\" y=\"" + y + "\" width=\"" +
         text_of(x(cache.band.all_misses) - x(cache.band.all_hits), "%.1f") +
         "\" height=\"20\" fill=\"#d9e3ee\"><title>all hits " + ms(cache.band.all_hits) + " ms, all misses " +
         ms(cache.band.all_misses) + " ms</title></rect>\n";
  const struct {
    const char* name;
    double value;
    const char* colour;
  } marks[] = {{"first accesses the only misses", cache.band.reachable, "#3c8a4e"},
               {"as it is", cache.band.as_it_is, "#3b6ea5"},
               {"modelled time of the kernel", seconds, "#b3423a"}};
  for (const auto& mark : marks) {
    svg += "<rect x=\"" + text_of(x(mark.value) - 1.5, "%.1f") + "\" y=\"" + std::to_string(top - 4) +
           "\" width=\"3\" height=\"28\" fill=\"" + mark.colour + "\"><title>" + mark.name + ": " +
           ms(mark.value) + " ms</title></rect>\n";
  }
  svg += "<text x=\"" + text_of(left, "%.0f") + "\" y=\"" + std::to_string(top + 38) +
         "\" fill=\"#555555\">0 to " + ms(most) + " ms; position of the traffic " +
         text_of(cache.band.position, "%.2f") + ", of the time " + text_of(cache.position_of_time, "%.2f") +
         "</text>\n";
  return svg;
}

Json json_of(const CacheUsed& cache) {
  Json json = {{"cache", cache.name},
               {"accesses", cache.use.accesses},
               {"hits", cache.use.hits},
               {"first_estimated", cache.use.first},
               {"all_hits_ms", cache.band.all_hits * 1e3},
               {"all_misses_ms", cache.band.all_misses * 1e3},
               {"as_it_is_ms", cache.band.as_it_is * 1e3},
               {"reachable_ms", cache.band.reachable * 1e3},
               {"saved_by_locality_ms", cache.band.saved_by_locality * 1e3},
               {"place", cache.band.position},  // english: ok
               {"place_of_time", cache.position_of_time},
               {"sets", cache.sets},
               {"sampled_sets", cache.sampled_sets}};
  json["hits_by_ways"] = Json::array();
  for (const HitsOfWays& each : cache.by_ways)
    json["hits_by_ways"].push_back({{"ways", each.ways}, {"share", each.share}});
  return json;
}

}  // namespace

std::string caches_text(const KernelCaches& kernel, const models::Machine& machine) {
  std::string text = kernel.kernel + "\n  " + heading(machine) + "\n";
  for (const std::string& line : facts_of(kernel)) text += "  " + line + "\n";
  const char* const names[] = {"sectors",     "hits",          "first*",   "all hits ms", "reachable ms",
                               "as it is ms", "all misses ms", "position", "of the time"};
  report::TextColumn name{{"cache"}, {}, false};
  std::vector<report::TextColumn> columns;
  for (const char* const each : names) columns.push_back({{each}, {}});
  for (const CacheUsed& cache : kernel.caches) {
    name.cells.push_back(cache.name);
    const std::string cells[] = {std::to_string(cache.use.accesses),
                                 percent(hit_share(cache)),
                                 std::to_string(cache.use.first),
                                 ms(cache.band.all_hits),
                                 ms(cache.band.reachable),
                                 ms(cache.band.as_it_is),
                                 ms(cache.band.all_misses),
                                 text_of(cache.band.position, "%.2f"),
                                 text_of(cache.position_of_time, "%.2f")};
    for (std::size_t i = 0; i < columns.size(); ++i) columns[i].cells.push_back(cells[i]);
  }
  std::vector<report::TextColumn> all{std::move(name)};
  all.insert(all.end(), columns.begin(), columns.end());
  return text + "\n" + report::render_columns(all, 2) + "  * estimated from the sampled sets\n" +
         trust::line_of({trust::Number::cache_band}) + "\n";
}

std::string caches_json(const KernelCaches& kernel, const models::Machine& machine) {
  Json json = {{"kernel", kernel.kernel},
               {"machine", machine.name},
               {"modelled", true},
               {"trust", trust::line_of({trust::Number::cache_band})},
               {"launches", kernel.launches},
               {"launches_without_time", kernel.untimed},
               {"ms", kernel.seconds * 1e3},
               {"bytes_asked", kernel.moved.bytes_asked},
               {"sectors", kernel.moved.sectors},
               {"lines", kernel.moved.lines},
               {"wasted_by_lines", kernel.wasted.by_lines},
               {"wasted_by_sectors", kernel.wasted.by_sectors}};
  json["caches"] = Json::array();
  for (const CacheUsed& cache : kernel.caches) json["caches"].push_back(json_of(cache));
  return json.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

std::string caches_svg(const KernelCaches& kernel, const models::Machine& machine) {
  const int height = 60 + 70 * static_cast<int>(kernel.caches.size());
  const std::string size = "700\" height=\"" + std::to_string(height);
  std::string svg = "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"" + size + "\" viewBox=\"0 0 700 " +
                    std::to_string(height) +
                    "\" font-family=\"sans-serif\" font-size=\"12\">\n"
                    "<rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>\n"
                    "<text x=\"10\" y=\"22\" font-weight=\"bold\">" +
                    report::escaped(kernel.kernel + ", " + heading(machine)) +
                    "</text>\n"
                    "<text x=\"10\" y=\"38\" fill=\"#555555\">green: first accesses the only misses; blue: "
                    "as it is; red: the kernel's time</text>\n";
  int top = 58;
  for (const CacheUsed& cache : kernel.caches) {
    svg += band_bar(cache, kernel.seconds, top);
    top += 70;
  }
  return svg + "</svg>\n";
}

std::string caches_html(const std::vector<KernelCaches>& kernels, const models::Machine& machine) {
  std::string html = "<p>" + report::escaped(heading(machine)) + "</p>\n";
  for (const KernelCaches& kernel : kernels) {
    html += "<h2>" + report::escaped(kernel.kernel) + "</h2>\n<ul>\n";
    for (const std::string& line : facts_of(kernel)) html += "<li>" + report::escaped(line) + "</li>\n";
    html += "</ul>\n" + caches_svg(kernel, machine);
  }
  html += "<p class=\"note\">" + report::escaped(trust::line_of({trust::Number::cache_band})) + "</p>\n";
  return report::html_page("Between all hits and all misses", html);
}

}  // namespace lynxpp::cli
