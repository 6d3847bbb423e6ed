// The page: all of a run's records in one HTML file that needs no network.
#pragma once

#include <string>
#include <vector>

#include "report/summary.h"

namespace lynxpp::report {

/// Selects if the page contains the text of the source files that the records name
/// (report/page/source_files.h).
enum class SourceTexts { embedded, left_out };

/// Collects the page's data: the summary, and single records that the summary folds.
class PageSink : public SummarySink {
 public:
  using SummarySink::SummarySink;
  void process(const ProcessRecord& record) override;
  void launch(const LaunchRecord& record) override;
  void device(const DeviceRecord& record) override;
  void activity(const ActivityRecord& record) override;

  /// Returns the page's data: one JSON object (docs/schema/page.schema.json).
  std::string data(const std::string& title, SourceTexts texts = SourceTexts::embedded) const;

 private:
  /// The page has at most this many launches and activities, the first ones.
  static constexpr std::size_t listed_records = 10'000;

  std::vector<std::string> processes_;  ///< JSON, as below
  std::vector<std::string> launches_;   ///< without arrays
  std::vector<std::string> devices_;
  std::vector<std::string> activities_;
  std::uint64_t further_launches_ = 0;
  std::uint64_t further_activities_ = 0;
  std::uint64_t last_us_ = 0;  ///< when the last launch was seen to end; 0: unknown
};

/// Returns the page if lynxpp was built with it, else the plain page (to_html).
std::string to_page(const PageSink& sink, const std::string& title,
                    SourceTexts texts = SourceTexts::embedded);
/// True if lynxpp was built with the page.
bool has_page();

}  // namespace lynxpp::report
