// The page that shows where to look: all of a run's records in one HTML file, which needs no network.
#pragma once

#include <string>
#include <vector>

#include "report/summary.h"

namespace lynxpp::report {

/// Whether the page holds the text of source files that the records name (report/page/source_files.h).
enum class SourceTexts { embedded, left_out };

/// Collects what the page shows: the summary, and records one by one that the summary folds.
class PageSink : public SummarySink {
 public:
  using SummarySink::SummarySink;
  void launch(const LaunchRecord& record) override;
  void device(const DeviceRecord& record) override;
  void activity(const ActivityRecord& record) override;

  /// The page's data: one JSON object (docs/schema/page.schema.json).
  std::string data(const std::string& title, SourceTexts texts = SourceTexts::embedded) const;

 private:
  /// Of launches and of activities the first ones are in the page.
  static constexpr std::size_t listed_records = 10'000;

  std::vector<std::string> launches_;  ///< JSON, without arrays
  std::vector<std::string> devices_;
  std::vector<std::string> activities_;
  std::uint64_t further_launches_ = 0;
  std::uint64_t further_activities_ = 0;
};

/// The page, where lynxpp was built with it, else the plain one (to_html).
std::string to_page(const PageSink& sink, const std::string& title,
                    SourceTexts texts = SourceTexts::embedded);
/// Whether to_page() makes the former.
bool has_page();

}  // namespace lynxpp::report
