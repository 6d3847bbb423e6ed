// Results that vary from run to run without a change of the program.
#pragma once

#include <string_view>
#include <vector>

#include "cli/compare/changes.h"
#include "report/summary.h"

namespace lynxpp::cli {

/// How a result of a specification repeats from run to run.
enum class Repeats {
  exactly,    ///< counts
  roughly,    ///< times and cycles of a GPU: a small difference is noise
  not_at_all  ///< the host's clock and the virtual SM numbers of the cpu device
};

/// Changes of times by less than this share are noise.
inline constexpr double noise_of_times = 0.1;

/// `extents`: names of the result's extents, as declared.
Repeats repeats(const report::SpecificationTotals& totals, std::string_view unit,
                const std::vector<std::string>& extents, const report::Summary& summary);

/// True for a change that a repetition of the same run may show.
bool is_noise(const Change& change, Repeats repeats);

}  // namespace lynxpp::cli
