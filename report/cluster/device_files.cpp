#include "report/cluster/device_files.h"

#include <map>
#include <set>
#include <string>
#include <utility>

namespace lynxpp::report {
namespace {

class DeviceFiles final : public Sink {
 public:
  explicit DeviceFiles(std::function<std::unique_ptr<Sink>(std::uint64_t)> open) : open_(std::move(open)) {}

  void process(const ProcessRecord& record) override { process_ = record; }
  void sites(const SitesRecord& record) override {
    sites_.insert_or_assign({record.kernel, record.table}, record);
  }
  void launch(const LaunchRecord& record) override {
    File& file = file_of(record.place ? record.place->ordinal : 0);
    if (file.sink == nullptr) return;
    if (record.sites) {
      const auto table = sites_.find({record.kernel, *record.sites});
      if (table != sites_.end() && file.tables.insert(table->first).second) file.sink->sites(table->second);
    }
    file.sink->launch(record);
  }
  void device(const DeviceRecord& record) override {
    if (Sink* const sink = file_of(record.ordinal).sink.get()) sink->device(record);
  }
  void total(const TotalRecord& record) override {
    if (Sink* const sink = first()) sink->total(record);
  }
  void coverage(const CoverageRecord& record) override {
    if (Sink* const sink = first()) sink->coverage(record);
  }
  void timing(const TimingRecord& record) override {
    if (Sink* const sink = first()) sink->timing(record);
  }
  void trial(const TrialRecord& record) override {
    if (Sink* const sink = first()) sink->trial(record);
  }
  void activity(const ActivityRecord& record) override {
    if (Sink* const sink = first()) sink->activity(record);
  }
  void finish() override {
    for (const auto& [ordinal, file] : files_) {
      if (file.sink != nullptr) file.sink->finish();
    }
  }

 private:
  using Table = std::pair<std::string, std::uint64_t>;
  struct File {
    std::unique_ptr<Sink> sink;
    std::set<Table> tables;  ///< tables of the device
  };

  File& file_of(std::uint64_t ordinal) {
    const auto [entry, is_new] = files_.try_emplace(ordinal);
    if (!is_new) return entry->second;
    if (first_ == nullptr) first_ = &entry->second;
    entry->second.sink = open_(ordinal);
    if (entry->second.sink != nullptr && process_) entry->second.sink->process(*process_);
    return entry->second;
  }
  Sink* first() { return (first_ != nullptr ? *first_ : file_of(0)).sink.get(); }

  std::function<std::unique_ptr<Sink>(std::uint64_t)> open_;
  std::optional<ProcessRecord> process_;
  std::map<Table, SitesRecord> sites_;
  std::map<std::uint64_t, File> files_;
  File* first_ = nullptr;
};

}  // namespace

std::unique_ptr<Sink> make_device_files(std::function<std::unique_ptr<Sink>(std::uint64_t)> open) {
  return std::make_unique<DeviceFiles>(std::move(open));
}

}  // namespace lynxpp::report
