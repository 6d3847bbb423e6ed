// Hot lines and hot atomics of a kernel, as text.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "observe/hot_places.h"
#include "report/record.h"
#include "support/result.h"

namespace lynxpp::cli {

struct HotSpot {
  /// An instruction; instructions of one source line are merged.
  struct Site {
    std::string text;  ///< "ld.global.f32 at app.cu:12"
    std::uint64_t count = 0;
  };
  observe::HotPlace place;
  std::vector<Site> sites;  ///< highest count first
};

/// Finds the hot spots in the launches of one kernel with observe::hot_places_specification(). If `sites` is
/// null, program locations are unknown. `note` is set if something limits the result.
Result<std::vector<HotSpot>> hot_spots_of(const std::vector<const report::LaunchRecord*>& launches,
                                          const report::SitesRecord* sites, std::string& note);

/// Returns "hot line: 256 bytes of array #0 parameter 0 at byte 512 get 95.2 % of the accesses of warps …"
std::string sentence_of(const HotSpot& spot);

}  // namespace lynxpp::cli
