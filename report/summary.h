// All records, folded over launches: the source of the table, the HTML page, the plots and the JSON summary.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "report/record.h"
#include "report/totals.h"
#include "report/words/word_profiles.h"

namespace lynxpp::report {

struct Summary {
  std::vector<SpecificationTotals> specifications;  ///< by specification and device, in order of appearance
  std::vector<CoverageRecord> coverage;
  std::vector<TotalRecord> totals;
  std::vector<TimingRecord> timings;  ///< one per kernel
  std::vector<TrialRecord> trials;
  std::vector<DeviceRecord> devices;                                   ///< with different names
  std::map<std::pair<std::string, std::uint64_t>, SitesRecord> sites;  ///< by kernel and table
  WordProfiles words;

  /// Returns the table for the kernel's arrays; null if it is missing.
  const SitesRecord* sites_of(const KernelTotals& kernel) const;
};

/// Returns how far to trust the numbers, without an end of line (support/trust.h); empty if nothing is known
/// about these specifications. `has_findings`: findings are shown, too.
std::string trust_line_of(const Summary& summary, bool has_findings);

/// Collects records.
class SummarySink : public Sink {
 public:
  /// `kept`: limit on elements of an array and rows of a table that are kept one by one.
  explicit SummarySink(std::size_t kept = listed_elements) : kept_(kept) {}
  void sites(const SitesRecord& record) override;
  void launch(const LaunchRecord& record) override;
  void total(const TotalRecord& record) override { summary_.totals.push_back(record); }
  void coverage(const CoverageRecord& record) override;
  void timing(const TimingRecord& record) override;
  void trial(const TrialRecord& record) override { summary_.trials.push_back(record); }
  void device(const DeviceRecord& record) override;
  void finish() override {}

  const Summary& summary() const { return summary_; }

 private:
  Summary summary_;
  /// By kernel, module and specifications.
  std::map<std::tuple<std::string, std::string, std::vector<std::string>>, std::size_t> coverage_;
  std::map<std::string, std::size_t> timings_;
  std::size_t kept_;
};

/// Adds another process's or run's record of the kernel to `total`.
void add(CoverageRecord& total, const CoverageRecord& record);

/// Adds the times and launches of `record` to `total`.
void add(TimingRecord& total, const TimingRecord& record);

/// Returns why some launches of the kernel were not counted; empty if all were.
std::string gap_of(const CoverageRecord& record);

/// Returns "128x4x1" without trailing ones.
std::string shape_of(const std::uint32_t (&extent)[3]);
/// Returns "varies" if launches differ.
std::string to_text(const LaunchExtent& extent);

/// Returns one JSON object and a newline: totals by specification and kernel, arrays and tables with their
/// values, up to `listed_sites` hot sites, what ON_END emitted, coverage (docs/schema/records.schema.json).
std::string to_json(const Summary& summary, std::size_t listed_sites = 100);

/// Returns a self-contained page without scripts: tables, hot sites with their source lines, bar charts.
std::string to_html(const Summary& summary, const std::string& title);

/// Returns every numeric result as bars by kernel, one panel per result.
std::string to_svg(const Summary& summary);

}  // namespace lynxpp::report
