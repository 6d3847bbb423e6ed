// Results grouped by their origin: ranks, hosts, processes or devices of a program, side by side.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "report/record.h"
#include "report/tables/tables.h"

namespace lynxpp::report {

enum class Grouping { rank, host, process, device };
/// Returns the grouping with this command-line name.
std::optional<Grouping> find_grouping(std::string_view name);

/// Collects numeric results, folded over the launches of each group.
class GroupSink : public Sink {
 public:
  explicit GroupSink(Grouping kind) : grouping_(kind) {}
  void process(const ProcessRecord& record) override { processes_.insert_or_assign(record.process, record); }
  void sites(const SitesRecord& /*record*/) override {}
  void launch(const LaunchRecord& record) override;
  void coverage(const CoverageRecord& /*record*/) override {}
  void timing(const TimingRecord& /*record*/) override {}
  void finish() override {}

  /// Returns one table per specification. Up to eight groups get a column each; otherwise the table has the
  /// minimum and maximum with their groups. Both have the mean over groups and the ratio of the maximum to
  /// it.
  std::string to_text(std::size_t width) const;
  /// Writes a line with the names of the columns, then one for each kernel, result and group.
  void write_csv(const std::function<void(std::string_view)>& write) const;

 private:
  struct Cell {
    std::uint64_t launches = 0;
    FoldedNumber value;
  };
  struct Line {
    std::string unit;
    FoldedNumber total{Fold::sum};
    std::map<std::size_t, Cell> cells;  ///< by group number
  };
  using Key = std::tuple<std::string, std::string, std::string>;  // specification, kernel, result
  struct Spread;
  struct Columns;

  std::size_t group_of(const LaunchRecord& record);
  std::string label_of(const LaunchRecord& record) const;
  std::vector<std::size_t> sorted_groups() const;
  Spread spread_of(const Line& line) const;
  void add_row(const Key& key, const Line& line, Columns& columns) const;

  Grouping grouping_;
  std::unordered_map<std::string, ProcessRecord> processes_;
  std::vector<std::string> groups_;
  std::unordered_map<std::string, std::size_t> numbers_;  ///< of groups, by label
  std::map<Key, Line> lines_;
};

}  // namespace lynxpp::report
