#include "cli/modelled/traffic_chart.h"

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <vector>

#include "report/tables/bar_chart.h"

namespace lynxpp::cli {
namespace {

using Rows = std::vector<std::vector<std::uint64_t>>;
constexpr std::size_t left = 90, upper = 40, cell_width = 10;

/// Returns the number of columns up to the last one with traffic.
std::size_t used_columns(const Rows& columns) {
  std::size_t used = columns.size();
  while (used > 1 && std::ranges::all_of(columns[used - 1], [](auto each) { return each == 0; })) --used;
  return used;
}

std::string colour_of(std::uint64_t value, std::uint64_t most) {
  const double share = static_cast<double>(value) / static_cast<double>(most);
  char text[16];
  std::snprintf(text, sizeof text, "#%02x%02x%02x", static_cast<unsigned>(235 - 176 * share),
                static_cast<unsigned>(241 - 131 * share), static_cast<unsigned>(247 - 82 * share));
  return text;
}

std::string text_at(std::size_t x, std::size_t y, const std::string& text, const char* more = "") {
  return "<text x=\"" + std::to_string(x) + "\" y=\"" + std::to_string(y) + "\"" + more + ">" +
         report::escaped(text) + "</text>\n";
}

std::string micros(double cycles, double core_mhz) {
  char text[32];
  std::snprintf(text, sizeof text, "%.4g us", cycles / core_mhz);
  return text;
}

}  // namespace

std::string traffic_svg(const models::clock::Traffic& traffic, TrafficBy by, double core_mhz,
                        const std::string& title) {
  const Rows& columns = by == TrafficBy::time ? traffic.over_time : traffic.of_block;
  const std::size_t used = columns.empty() ? 0 : used_columns(columns);
  const std::size_t partitions = columns.empty() ? 0 : columns.front().size();
  const std::size_t cell_height = partitions > 32 ? 4 : 16;
  std::uint64_t most = 1;
  for (const auto& column : columns) {
    for (const std::uint64_t each : column) most = std::max(most, each);
  }
  const std::size_t bottom = upper + partitions * cell_height;
  const std::string width = std::to_string(std::max<std::size_t>(420, left + used * cell_width + 20)),
                    height = std::to_string(bottom + 40);
  std::string svg = "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"" + width + "\" height=\"" + height +
                    "\" viewBox=\"0 0 " + width + " " + height +
                    "\" font-family=\"sans-serif\" font-size=\"11\">\n"
                    "<rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>\n";
  svg += text_at(8, 20, title, " font-weight=\"bold\"");
  for (std::size_t p = 0; p<partitions; p += partitions> 32 ? 16 : 1)
    svg += text_at(8, upper + p * cell_height + 12, "partition " + std::to_string(p));
  for (std::size_t c = 0; c < used; ++c) {
    const std::string origin = by == TrafficBy::time
                                   ? "from " + micros(static_cast<double>(c) * traffic.bin_cycles, core_mhz)
                                   : "block " + std::to_string(c);
    for (std::size_t p = 0; p < partitions; ++p) {
      if (columns[c][p] == 0) continue;
      svg += "<rect x=\"" + std::to_string(left + c * cell_width) + "\" y=\"" +
             std::to_string(upper + p * cell_height) + "\" width=\"" + std::to_string(cell_width - 1) +
             "\" height=\"" + std::to_string(cell_height - 1) + "\" fill=\"" +
             colour_of(columns[c][p], most) + "\"><title>partition " + std::to_string(p) + ", " + origin +
             ": " + std::to_string(columns[c][p]) + " transactions</title></rect>\n";
    }
  }
  const std::string axis =
      by == TrafficBy::time
          ? "0 to " + micros(static_cast<double>(used) * traffic.bin_cycles, core_mhz) + ", modelled"
          : "blocks 0 to " + std::to_string(used == 0 ? 0 : used - 1);
  svg += text_at(left, bottom + 16, axis + "; darkest: " + std::to_string(most) + " transactions");
  return svg + "</svg>\n";
}

}  // namespace lynxpp::cli
