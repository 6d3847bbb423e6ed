// Everything that records say, folded over launches: what the table, the HTML page, the plots and the JSON
// summary are made of.
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
  std::vector<TimingRecord> timings;                                   ///< one per kernel
  std::vector<DeviceRecord> devices;                                   ///< of different names
  std::map<std::pair<std::string, std::uint64_t>, SitesRecord> sites;  ///< by kernel and table
  WordProfiles words;

  /// The table the kernel's arrays go by; null when there is none.
  const SitesRecord* sites_of(const KernelTotals& kernel) const;
};

/// Collects records.
class SummarySink : public Sink {
 public:
  /// `kept`: elements of an array and rows of a table that are kept one by one.
  explicit SummarySink(std::size_t kept = listed_elements) : kept_(kept) {}
  void sites(const SitesRecord& record) override;
  void launch(const LaunchRecord& record) override;
  void total(const TotalRecord& record) override { summary_.totals.push_back(record); }
  void coverage(const CoverageRecord& record) override;
  void timing(const TimingRecord& record) override;
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

/// Adds what another process, or another run, says of the kernel.
void add(CoverageRecord& total, const CoverageRecord& record);

/// Adds the times and launches of `record` to `total`.
void add(TimingRecord& total, const TimingRecord& record);

/// Why some launches of the kernel were not counted; empty when all were.
std::string gap_of(const CoverageRecord& record);

/// "128x4x1" without the ones at the end.
std::string shape_of(const std::uint32_t (&extent)[3]);
/// "varies" where launches differ.
std::string to_text(const LaunchExtent& extent);

/// One JSON object and a line end: totals by specification and kernel, arrays and tables with their values,
/// so many hot sites, what ON_END emitted, coverage (docs/schema/records.schema.json).
std::string to_json(const Summary& summary, std::size_t listed_sites = 100);

/// A self-contained page without scripts: tables, hot sites with their source lines, bar charts.
std::string to_html(const Summary& summary, const std::string& title);

/// Every result that is a number, as bars by kernel: one panel for each result.
std::string to_svg(const Summary& summary);

}  // namespace lynxpp::report
