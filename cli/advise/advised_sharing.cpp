#include "cli/advise/advised_sharing.h"

#include <algorithm>
#include <cstdio>
#include <vector>

#include "models/sharing/findings.h"
#include "report/number.h"
#include "report/tables/text_table.h"

namespace lynxpp::cli {
namespace {

using models::Observation;
using models::sharing::ArraySharing;
using models::sharing::Finding;
using models::sharing::Sharing;
using models::sharing::Visited;

std::string whole(std::uint64_t value) { return report::to_text(report::Number::of(value)); }

std::string tenths(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.1f", value);
  return text;
}

/// Draws one character per part: blank for 0, then ten steps up to the maximum of all parts.
std::string heat_map(const std::vector<std::uint64_t>& parts) {
  static constexpr char steps[] = ".:-=+*#%@";
  constexpr std::size_t last = sizeof steps - 2;
  const std::uint64_t most = std::ranges::max(parts);
  std::string map;
  for (const std::uint64_t part : parts)
    map += part == 0 ? ' ' : steps[most == 1 ? last : (part - 1) * last / (most - 1)];
  return map;
}

std::string table_of(const std::vector<ArraySharing>& arrays) {
  report::TextColumn name{{"array"}, {}, false};
  std::vector<report::TextColumn> numbers{{{"words", "visited"}, {}},
                                          {{"warps of a word", "mean"}, {}},
                                          {{"", "most"}, {}},
                                          {{"blocks", "mean"}, {}},
                                          {{"", "most"}, {}},
                                          {{"sectors", "visited"}, {}},
                                          {{"warps of a sector", "mean"}, {}},
                                          {{"", "most"}, {}},
                                          {{"blocks", "mean"}, {}},
                                          {{"", "most"}, {}}};
  for (const ArraySharing& each : arrays) {
    name.cells.push_back((each.is_shared ? "shared " : "") + each.name);
    std::vector<std::string> cells;
    for (const Visited* visited : {&each.words, &each.sectors}) {
      cells.push_back(whole(visited->count));
      cells.push_back(tenths(visited->mean_warps()));
      cells.push_back(whole(visited->most_warps));
      cells.push_back(tenths(visited->mean_blocks()));
      cells.push_back(whole(visited->most_blocks));
    }
    for (std::size_t i = 0; i < numbers.size(); ++i) numbers[i].cells.push_back(cells[i]);
  }
  std::vector<report::TextColumn> columns{std::move(name)};
  columns.insert(columns.end(), numbers.begin(), numbers.end());
  return report::render_columns(columns, 2);
}

nlohmann::ordered_json json_of(const Visited& visited) {
  return {{"mean_warps", visited.mean_warps()},
          {"most_warps", visited.most_warps},
          {"mean_blocks", visited.mean_blocks()},
          {"most_blocks", visited.most_blocks}};
}

}  // namespace

std::string text_of_sharing(const Observation& observation) {
  const Sharing sharing = models::sharing::sharing_of(observation);
  std::string text = "\n" + observation.kernel + ", launch " + std::to_string(observation.launch) +
                     ": warps and thread blocks that access each word and 32-byte sector, ";
  text += observation.is_whole()
              ? "exact for the launch\n"
              : "exact for " + whole(observation.blocks.size()) + " of " + whole(observation.grid_blocks()) +
                    " thread blocks, lower bounds for the launch\n";
  text += table_of(sharing.arrays);
  for (const ArraySharing& each : sharing.arrays) {
    text += "  " + each.name +
            ": maximum of warps, then of thread blocks, that access a word of each 64th of the array\n";
    text += "    [" + heat_map(each.heat_warps) + "] to " + whole(each.words.most_warps) + "\n";
    text += "    [" + heat_map(each.heat_blocks) + "] to " + whole(each.words.most_blocks) + "\n";
  }
  for (const Finding& each : models::sharing::findings_of(sharing, observation)) {
    text += "  " + std::string(each.rule) + ": " + each.array +
            (each.location.empty() ? "" : " at " + each.location) + ": " + each.text + "\n";
  }
  if (sharing.elsewhere != 0)
    text += "  " + whole(sharing.elsewhere) + " accesses of threads are outside of all known arrays\n";
  return text;
}

void add_sharing(const Observation& observation, nlohmann::ordered_json& object) {
  const Sharing sharing = models::sharing::sharing_of(observation);
  object["sharing"] = nlohmann::ordered_json::array();
  for (const ArraySharing& each : sharing.arrays) {
    object["sharing"].push_back({{"array", each.name},
                                 {"shared_memory", each.is_shared},
                                 {"bytes", each.bytes},
                                 {"words_visited", each.words.count},
                                 {"sectors_visited", each.sectors.count},
                                 {"words", json_of(each.words)},
                                 {"sectors", json_of(each.sectors)},
                                 {"heat", {{"warps", each.heat_warps}, {"blocks", each.heat_blocks}}}});
  }
  object["findings"] = nlohmann::ordered_json::array();
  for (const Finding& each : models::sharing::findings_of(sharing, observation)) {
    object["findings"].push_back({{"rule", each.rule},
                                  {"array", each.array},
                                  {"place", each.location},  // english: ok
                                  {"text", each.text}});
  }
}

}  // namespace lynxpp::cli
