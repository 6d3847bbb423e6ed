#include "cli/hot/places.h"

#include <algorithm>
#include <cstdio>
#include <functional>

#include "report/sites.h"

namespace lynxpp::cli {

Result<std::vector<HotSpot>> hot_spots_of(const std::vector<const report::LaunchRecord*>& launches,
                                          const report::SitesRecord* sites, std::string& note) {
  Result<observe::HotPlaces> found = observe::hot_places_of(launches);
  if (!found) return found.error();
  if (found->not_counted != 0)
    note = std::to_string(found->not_counted) +
           " accesses did not fit into the table: shares of hot lines are lower bounds";
  std::vector<HotSpot> spots;
  for (observe::HotPlace& place : found->places) {
    HotSpot spot{std::move(place), {}};
    for (const observe::HotPlace::Site& each : spot.place.sites) {
      const report::SiteLabel label =
          report::label_of(sites, report::SiteKind::instruction, each.instruction);
      std::string where = label.source();
      if (where.empty() && label.ptx_line != 0) where = "PTX line " + std::to_string(label.ptx_line);
      const std::string text = label.opcode.empty() ? "instruction " + std::to_string(each.instruction)
                                                    : label.opcode + (where.empty() ? "" : " at " + where);
      const auto same = std::ranges::find(spot.sites, text, &HotSpot::Site::text);
      if (same != spot.sites.end()) {
        same->count += each.count;
      } else {
        spot.sites.push_back({text, each.count});
      }
    }
    std::ranges::stable_sort(spot.sites, std::greater(), &HotSpot::Site::count);
    spots.push_back(std::move(spot));
  }
  return spots;
}

std::string sentence_of(const HotSpot& spot) {
  const observe::HotPlace& place = spot.place;
  const bool is_region = place.kind == observe::HotPlace::Kind::region;
  char share[32];
  std::snprintf(share, sizeof share, "%.1f %%", place.share * 100);
  std::string text =
      is_region ? "hot line: " + std::to_string(place.bytes) + " bytes" : "hot atomics: one address";
  text += place.array.empty() ? " of no known array, at " + std::to_string(place.offset)
                              : " of array " + place.array + " at byte " + std::to_string(place.offset);
  text += std::string(is_region ? " get " : " gets ") + share +
          (is_region ? " of the accesses of warps (" : " of the atomic operations (") +
          std::to_string(place.count) + ")";
  if (!spot.sites.empty()) text += ": " + spot.sites.front().text;
  if (spot.sites.size() > 1) text += " and " + std::to_string(spot.sites.size() - 1) + " more";
  return text + (is_region ? ". They are served one after the other, even if partitions are hashed"
                           : ". They wait for each other: combine them within a warp or a block first");
}

}  // namespace lynxpp::cli
