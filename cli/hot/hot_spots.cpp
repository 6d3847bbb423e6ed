#include "cli/hot/hot_spots.h"

#include <algorithm>
#include <cstdio>
#include <functional>

#include "report/sites.h"

namespace lynxpp::cli {

Result<std::vector<NamedHotSpot>> named_hot_spots_of(const std::vector<const report::LaunchRecord*>& launches,
                                                     const report::SitesRecord* sites, std::string& note) {
  Result<observe::HotSpots> found = observe::hot_spots_of(launches);
  if (!found) return found.error();
  if (found->not_counted != 0)
    note = std::to_string(found->not_counted) +
           " accesses did not fit into the table: shares of hot lines are lower bounds";
  std::vector<NamedHotSpot> spots;
  for (observe::HotSpot& spot : found->spots) {
    NamedHotSpot named{std::move(spot), {}};
    for (const observe::HotSpot::Site& each : named.spot.sites) {
      const report::SiteLabel label =
          report::label_of(sites, report::SiteKind::instruction, each.instruction);
      std::string where = label.source();
      if (where.empty() && label.ptx_line != 0) where = "PTX line " + std::to_string(label.ptx_line);
      const std::string text = label.opcode.empty() ? "instruction " + std::to_string(each.instruction)
                                                    : label.opcode + (where.empty() ? "" : " at " + where);
      const auto same = std::ranges::find(named.sites, text, &NamedHotSpot::Site::text);
      if (same != named.sites.end()) {
        same->count += each.count;
      } else {
        named.sites.push_back({text, each.count});
      }
    }
    std::ranges::stable_sort(named.sites, std::greater(), &NamedHotSpot::Site::count);
    spots.push_back(std::move(named));
  }
  return spots;
}

std::string sentence_of(const NamedHotSpot& named) {
  const observe::HotSpot& spot = named.spot;
  const bool is_region = spot.kind == observe::HotSpot::Kind::region;
  char share[32];
  std::snprintf(share, sizeof share, "%.1f %%", spot.share * 100);
  std::string text =
      is_region ? "hot line: " + std::to_string(spot.bytes) + " bytes" : "hot atomics: one address";
  text += spot.array.empty() ? " of no known array, at " + std::to_string(spot.offset)
                             : " of array " + spot.array + " at byte " + std::to_string(spot.offset);
  text += std::string(is_region ? " get " : " gets ") + share +
          (is_region ? " of the accesses of warps (" : " of the atomic operations (") +
          std::to_string(spot.count) + ")";
  if (!named.sites.empty()) text += ": " + named.sites.front().text;
  if (named.sites.size() > 1) text += " and " + std::to_string(named.sites.size() - 1) + " more";
  return text + (is_region ? ". They are served one after the other, even if partitions are hashed"
                           : ". They wait for each other: combine them within a warp or a block first");
}

}  // namespace lynxpp::cli
