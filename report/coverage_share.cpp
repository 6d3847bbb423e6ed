#include "report/coverage_share.h"

#include <algorithm>
#include <set>
#include <string_view>
#include <utility>

#include "report/findings/findings.h"
#include "report/number.h"

namespace lynxpp::report {
namespace {

/// Returns the time of one launch; nullopt if none was timed on a GPU.
std::optional<double> milliseconds_of_launch(const Summary& summary, const std::string& kernel) {
  const auto timing = std::ranges::find(summary.timings, kernel, &TimingRecord::kernel);
  const bool is_measured = timing != summary.timings.end() && timing->launches != 0 && timing->execute > 0 &&
                           timing->device != "cpu" && timing->modelled.empty();
  if (!is_measured) return std::nullopt;
  return timing->execute / static_cast<double>(timing->launches);
}

std::uint64_t missed_launches(const CoverageRecord& record) {
  return record.launches - std::min(record.instrumented_launches, record.launches);
}

/// Adds to a part, counting a kernel that ran under several lists of specifications once.
class PartBuilder {
 public:
  explicit PartBuilder(CoverageShare::Part& part) : part_(part) {}

  void add(const CoverageRecord& record, std::uint64_t launches, double milliseconds_of_each) {
    if (kernels_.emplace(record.kernel, record.module).second) ++part_.kernels;
    part_.launches += launches;
    part_.milliseconds += static_cast<double>(launches) * milliseconds_of_each;
  }

 private:
  CoverageShare::Part& part_;
  std::set<std::pair<std::string_view, std::string_view>> kernels_;
};

std::string share_of(double part, double whole) { return whole > 0 ? percent_text(part / whole) : "none"; }

std::string line_of(const CoverageShare& share, const CoverageShare::Part& part, std::string_view what,
                    std::string_view details) {
  if (part.kernels == 0) return {};
  std::string text = std::to_string(part.kernels) + " of " + std::to_string(share.all.kernels) + " kernels " +
                     std::string(what) + ": " +
                     share_of(static_cast<double>(part.launches), static_cast<double>(share.all.launches)) +
                     " of launches";
  if (share.has_times) {
    text += ", " + share_of(part.milliseconds, share.all.milliseconds) + " of GPU time (estimated from " +
            to_text(Number::of(share.timed_launches)) + " timed launches)";
  }
  return text + "; details: " + std::string(details) + "\n";
}

}  // namespace

CoverageShare coverage_share_of(const Summary& summary) {
  CoverageShare share;
  PartBuilder all(share.all), without_ptx(share.without_ptx), refused(share.refused);
  std::set<std::string_view> timed;
  share.has_times = !summary.coverage.empty();
  for (const CoverageRecord& record : summary.coverage) {
    const std::optional<double> each = milliseconds_of_launch(summary, record.kernel);
    share.has_times &= each.has_value() || record.launches == 0;
    all.add(record, record.launches, each.value_or(0));
    const std::uint64_t missed = missed_launches(record);
    const bool is_uncounted = missed != 0 && (record.lacks_ptx || record.shape);
    if (!is_uncounted) continue;
    (record.lacks_ptx ? without_ptx : refused).add(record, missed, each.value_or(0));
    const auto timing = std::ranges::find(summary.timings, record.kernel, &TimingRecord::kernel);
    if (timing != summary.timings.end() && record.instrumented_launches == 0 &&
        timed.insert(record.kernel).second)
      share.timed_launches += timing->launches;
  }
  return share;
}

std::optional<double> uncounted_milliseconds(const Summary& summary, const CoverageRecord& record) {
  const std::optional<double> each = milliseconds_of_launch(summary, record.kernel);
  if (!each) return std::nullopt;
  return *each * static_cast<double>(missed_launches(record));
}

std::string coverage_share_text(const CoverageShare& share, std::string_view details) {
  const CoverageShare::Part& first = share.without_ptx;
  const CoverageShare::Part& second = share.refused;
  if (first.kernels + second.kernels == 0) return {};
  std::string text = "Counted: ";
  if (share.has_times) {
    const double counted = share.all.milliseconds - first.milliseconds - second.milliseconds;
    text += share_of(counted, share.all.milliseconds) + " of GPU time (estimated), ";
  }
  const std::uint64_t launches = share.all.launches - first.launches - second.launches;
  text += share_of(static_cast<double>(launches), static_cast<double>(share.all.launches)) +
          " of launches, " + std::to_string(share.all.kernels - first.kernels - second.kernels) + " of " +
          std::to_string(share.all.kernels) + " kernels.\n";
  return text + line_of(share, first, "carry no PTX", details) +
         line_of(share, second, "were not instrumented", details);
}

}  // namespace lynxpp::report
