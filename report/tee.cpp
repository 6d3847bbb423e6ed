#include <utility>

#include "report/record.h"

namespace lynxpp::report {
namespace {

class Tee final : public Sink {
 public:
  explicit Tee(std::vector<std::unique_ptr<Sink>> sinks) : sinks_(std::move(sinks)) {
    std::erase(sinks_, nullptr);  // a JSON Lines sink whose file cannot be opened is null
  }

  void process(const ProcessRecord& record) override {
    for (const auto& sink : sinks_) sink->process(record);
  }
  void sites(const SitesRecord& record) override {
    for (const auto& sink : sinks_) sink->sites(record);
  }
  void launch(const LaunchRecord& record) override {
    for (const auto& sink : sinks_) sink->launch(record);
  }
  void total(const TotalRecord& record) override {
    for (const auto& sink : sinks_) sink->total(record);
  }
  void coverage(const CoverageRecord& record) override {
    for (const auto& sink : sinks_) sink->coverage(record);
  }
  void timing(const TimingRecord& record) override {
    for (const auto& sink : sinks_) sink->timing(record);
  }
  void trial(const TrialRecord& record) override {
    for (const auto& sink : sinks_) sink->trial(record);
  }
  void device(const DeviceRecord& record) override {
    for (const auto& sink : sinks_) sink->device(record);
  }
  void activity(const ActivityRecord& record) override {
    for (const auto& sink : sinks_) sink->activity(record);
  }
  void finish() override {
    for (const auto& sink : sinks_) sink->finish();
  }

 private:
  std::vector<std::unique_ptr<Sink>> sinks_;
};

}  // namespace

std::unique_ptr<Sink> make_tee(std::vector<std::unique_ptr<Sink>> sinks) {
  return std::make_unique<Tee>(std::move(sinks));
}

}  // namespace lynxpp::report
