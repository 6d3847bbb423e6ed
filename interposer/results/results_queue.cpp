#include "interposer/results/results_queue.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "report/number.h"
#include "support/text.h"

namespace lynxpp::interposer {
namespace {

/// True for single numbers: arrays appear only in records.
bool is_number(const report::ResultValue& result) {
  return result.extents.empty() && report::size_of(result.values) != 0;
}

void hand_over(const report::LaunchRecord& record, lynxpp_take take, void* context) {
  std::vector<lynxpp_value> values;
  for (const report::ResultValue& result : record.results)
    values.push_back({result.name.c_str(), result.unit.c_str(), report::number_at(result, 0).as_double()});
  const std::string demangled = demangle(record.kernel);
  lynxpp_result result = {};
  result.kernel = record.kernel.c_str();
  result.demangled = demangled.c_str();
  result.specification = record.spec.c_str();
  result.launch = record.launch;
  if (record.place) {
    result.correlation = record.place->correlation;
    result.device = record.place->ordinal;
  }
  std::ranges::copy(record.grid, result.grid);
  std::ranges::copy(record.block, result.block);
  result.count = values.size();
  result.values = values.data();
  take(context, &result);
}

class QueueSink final : public report::Sink {
 public:
  explicit QueueSink(ResultsQueue& queue) : queue_(queue) {}
  void sites(const report::SitesRecord& /*record*/) override {}
  void launch(const report::LaunchRecord& record) override { queue_.add(record); }
  void coverage(const report::CoverageRecord& /*record*/) override {}
  void timing(const report::TimingRecord& /*record*/) override {}
  void finish() override {}

 private:
  ResultsQueue& queue_;
};

}  // namespace

std::unique_ptr<report::Sink> ResultsQueue::sink() { return std::make_unique<QueueSink>(*this); }

void ResultsQueue::add(const report::LaunchRecord& record) {
  if (!is_kept_.load(std::memory_order_relaxed)) return;
  report::LaunchRecord kept;
  kept.kernel = record.kernel;
  kept.launch = record.launch;
  std::ranges::copy(record.grid, kept.grid);
  std::ranges::copy(record.block, kept.block);
  kept.spec = record.spec;
  kept.place = record.place;
  std::ranges::copy_if(record.results, std::back_inserter(kept.results), is_number);
  const Lock lock(mutex_);
  results_.push_back(std::move(kept));
  if (results_.size() <= most) return;
  results_.pop_front();
  ++missed_;
}

std::size_t ResultsQueue::take(lynxpp_take take, void* context) {
  std::deque<report::LaunchRecord> taken;
  {
    const Lock lock(mutex_);
    taken.swap(results_);
  }
  if (take == nullptr) return taken.size();
  for (const report::LaunchRecord& record : taken) hand_over(record, take, context);
  return taken.size();
}

std::uint64_t ResultsQueue::missed() {
  const Lock lock(mutex_);
  return missed_;
}

}  // namespace lynxpp::interposer
