// Shows on a terminal how many records have been read from files.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "cli/progress/progress.h"
#include "report/record.h"

namespace lynxpp::cli {

/// Passes records on to another sink. Does not call its finish(), because more files may follow.
class ReadingProgress final : public report::Sink {
 public:
  ReadingProgress(report::Sink& sink, std::size_t files) : sink_(sink), files_(files) {}

  void begin(const std::string& file);
  /// Erases the line. Call this before other output.
  void clear() { progress_.clear(); }

  void process(const report::ProcessRecord& record) override { count(), sink_.process(record); }
  void sites(const report::SitesRecord& record) override { count(), sink_.sites(record); }
  void launch(const report::LaunchRecord& record) override { count(), sink_.launch(record); }
  void total(const report::TotalRecord& record) override { count(), sink_.total(record); }
  void coverage(const report::CoverageRecord& record) override { count(), sink_.coverage(record); }
  void timing(const report::TimingRecord& record) override { count(), sink_.timing(record); }
  void trial(const report::TrialRecord& record) override { count(), sink_.trial(record); }
  void device(const report::DeviceRecord& record) override { count(), sink_.device(record); }
  void activity(const report::ActivityRecord& record) override { count(), sink_.activity(record); }
  void finish() override {}

 private:
  void count();
  void show();

  report::Sink& sink_;
  std::size_t files_;
  std::size_t file_ = 0;
  std::uint64_t records_ = 0;  ///< of all files
  std::string name_;
  Progress progress_;
};

}  // namespace lynxpp::cli
