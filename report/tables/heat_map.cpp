#include "report/tables/heat_map.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "models/word_profile/profile.h"
#include "report/number.h"
#include "report/tables/bar_chart.h"
#include "support/text.h"

namespace lynxpp::report {
namespace {

/// The first shade is for zero.
constexpr std::size_t shades = 8;
constexpr std::size_t map_width = 768;
constexpr std::size_t map_height = 28;

constexpr std::string_view table_style =
    "body{font:14px "
    "system-ui,sans-serif;margin:2em;max-width:1200px}table{border-collapse:collapse;margin:1em "
    "0}"
    "th,td{border-bottom:1px solid #ccc;padding:3px 10px;text-align:right;vertical-align:top}"
    "th{background:#f2f4f7}td.text,th.text{text-align:left}h2{margin-top:2em}code{font-size:13px}"
    ".unit{color:#667;font-weight:normal;font-size:12px}.note{color:#944}details{margin:.5em 0}"
    "@media(prefers-color-scheme:dark){body{background:#16181c;color:#d8dbe0}th{background:#23272e}"
    "th,td{border-color:#3a3f47}.unit{color:#9aa3ad}.note{color:#e08a8a}}";

std::string heat_style() {
  // From light to dark on a light page, from dark to light on a dark one.
  constexpr std::array<const char*, shades> light{"#eef0f2", "#fde8c8", "#fdd09a", "#fba95f",
                                                  "#ee7f3b", "#d3562b", "#a3331f", "#6b1a12"};
  constexpr std::array<const char*, shades> dark{"#2b2f36", "#47261c", "#6b301d", "#93401f",
                                                 "#bd5a25", "#e17f36", "#f7ad63", "#fedca8"};
  const auto rules = [](const auto& colours) {
    std::string css;
    for (std::size_t i = 0; i < shades; ++i) css += ".heat" + std::to_string(i) + "{fill:" + colours[i] + "}";
    return css;
  };
  return rules(light) +
         ".bar{fill:#3b6ea5}.room{fill:#f2f4f7}.legend span{margin-right:1em;white-space:nowrap}"
         ".legend svg{vertical-align:-2px}tr.above td{border-bottom:none}rect:hover{stroke:#3b6ea5}"
         "@media(prefers-color-scheme:dark){" +
         rules(dark) + ".bar{fill:#7fb2e5}.room{fill:#2b2f36}rect:hover{stroke:#fff}}";
}

std::size_t shade_of(double value, double most) {
  if (value <= 0) return 0;
  const double share = std::log1p(value) / std::log1p(most);
  return 1 + std::min(static_cast<std::size_t>(share * (shades - 1)), shades - 2);
}

/// Returns the lower bound of the shade.
double least_of(std::size_t shade, double most) {
  const double share = static_cast<double>(shade - 1) / (shades - 1);
  return std::expm1(share * std::log1p(most));
}

std::string rectangle(std::size_t shade, std::size_t x, std::size_t width, std::size_t height) {
  return "<rect class=\"heat" + std::to_string(shade) + "\" x=\"" + std::to_string(x) + "\" width=\"" +
         std::to_string(width) + "\" height=\"" + std::to_string(height) + "\"";
}

}  // namespace

std::string heat_map(std::string_view label, const std::vector<HeatCell>& cells, double most) {
  const std::string size = std::to_string(map_width) + "\" height=\"" + std::to_string(map_height);
  std::string svg = "<svg role=\"img\" aria-label=\"" + escaped(label) + "\" width=\"" + size +
                    "\" viewBox=\"0 0 " + std::to_string(map_width) + " " + std::to_string(map_height) +
                    "\">";
  for (std::size_t i = 0; i < cells.size(); ++i) {
    const std::size_t begin = i * map_width / cells.size(), end = (i + 1) * map_width / cells.size();
    svg += rectangle(shade_of(cells[i].value, most), begin, end - begin, map_height) + "><title>" +
           escaped(cells[i].title) + "</title></rect>";
  }
  return svg + "</svg>";
}

std::string heat_legend(std::string_view what, double most) {
  std::string html = "<p class=\"legend\">" + escaped(what) + ": ";
  for (std::size_t shade = 0; shade < shades; ++shade) {
    const std::string text = shade == 0 ? "0" : "from " + models::rounded(least_of(shade, most));
    html += "<span><svg width=\"14\" height=\"14\">" + rectangle(shade, 0, 14, 14) + "/></svg> " +
            (shade == 1 ? "above 0" : text) + "</span> ";
  }
  return html + "</p>\n";
}

std::string html_page(std::string_view title, const std::string& body) {
  return "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>" + escaped(title) +
         "</title><style>" + std::string(table_style) + heat_style() + "</style></head><body>\n<h1>" +
         escaped(title) + "</h1>\n" + body + "</body></html>\n";
}

}  // namespace lynxpp::report
