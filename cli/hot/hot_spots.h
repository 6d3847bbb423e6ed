// Hot lines and hot atomics of a kernel, as text.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "observe/hot_spots.h"
#include "report/record.h"
#include "support/result.h"

namespace lynxpp::cli {

/// A hot spot and the instructions that access it, as text.
struct NamedHotSpot {
  /// An instruction; instructions of one source line are merged.
  struct Site {
    std::string text;  ///< "ld.global.f32 at app.cu:12"
    std::uint64_t count = 0;
  };
  observe::HotSpot spot;
  std::vector<Site> sites;  ///< highest count first
};

/// Finds the hot spots in the launches of one kernel with observe::hot_spots_specification(). If `sites` is
/// null, program locations are unknown. `note` is set if something limits the result.
Result<std::vector<NamedHotSpot>> named_hot_spots_of(const std::vector<const report::LaunchRecord*>& launches,
                                                     const report::SitesRecord* sites, std::string& note);

/// Returns "hot line: 256 bytes of array #0 parameter 0 at byte 512 get 95.2 % of the accesses of warps …"
std::string sentence_of(const NamedHotSpot& named);

}  // namespace lynxpp::cli
