#include "report/cluster/by_group.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <numeric>

#include "report/kernel_name.h"
#include "report/tables/csv.h"
#include "report/tables/text_table.h"
#include "support/text.h"

namespace lynxpp::report {
namespace {

/// Up to this many groups get a column each.
constexpr std::size_t listed_groups = 8;

/// Compares trailing numbers by value: rank 2 precedes rank 10.
bool is_before(std::string_view a, std::string_view b) {
  const auto number = [](std::string_view text) {
    const std::size_t begin = text.find_last_not_of("0123456789") + 1;
    std::uint64_t value = 0;
    std::from_chars(text.data() + begin, text.data() + text.size(), value);
    return std::pair(text.substr(0, begin), value);
  };
  return number(a) < number(b);
}

}  // namespace

/// A result's distribution over the groups.
struct GroupSink::Spread {
  std::size_t least = 0, greatest = 0;  ///< groups
  double mean = 0;
  double imbalance = 0;  ///< the maximum over the mean
};

struct GroupSink::Columns {
  std::vector<std::string> kernels;
  TextColumn result{{"result"}, {}, false};
  std::vector<TextColumn> groups;  ///< one per group, if there are few
  TextColumn least{{"least"}, {}}, greatest{{"greatest"}, {}};
  TextColumn count{{"groups"}, {}}, mean{{"mean"}, {}}, imbalance{{"greatest", "/ mean"}, {}};
};

std::optional<Grouping> find_grouping(std::string_view name) {
  if (name == "rank") return Grouping::rank;
  if (name == "host") return Grouping::host;
  if (name == "process") return Grouping::process;
  if (name == "device") return Grouping::device;
  return std::nullopt;
}

std::string GroupSink::label_of(const LaunchRecord& record) const {
  const auto known = processes_.find(record.process);
  const ProcessRecord process = known != processes_.end() ? known->second : ProcessRecord{};
  const std::string host = !process.host.empty() ? process.host : "unknown host";
  switch (grouping_) {
    case Grouping::rank: return process.rank ? "rank " + std::to_string(*process.rank) : "no rank";
    case Grouping::host: return host;
    case Grouping::device:
      return host + " device " + std::to_string(record.place ? record.place->ordinal : 0);
    case Grouping::process: break;
  }
  if (!process.file.empty()) return process.file;
  return process.host.empty() ? "unknown process" : host + " " + std::to_string(process.pid);
}

std::size_t GroupSink::group_of(const LaunchRecord& record) {
  const auto [known, is_new] = numbers_.try_emplace(label_of(record), groups_.size());
  if (is_new) groups_.push_back(known->first);
  return known->second;
}

void GroupSink::launch(const LaunchRecord& record) {
  const std::size_t group = group_of(record);
  for (const ResultValue& result : record.results) {
    if (!result.extents.empty() || size_of(result.values) == 0) continue;
    const Fold fold = fold_of(result);
    const auto [entry, is_new] = lines_.try_emplace({record.spec, record.kernel, result.name});
    Line& line = entry->second;
    if (is_new) {
      line.unit = result.unit;
      line.total = FoldedNumber(fold);
    }
    Cell& cell = line.cells.try_emplace(group, Cell{0, FoldedNumber(fold)}).first->second;
    cell.launches += record.launches();
    cell.value.add(result, 0);
    line.total.add(result, 0);
  }
}

std::vector<std::size_t> GroupSink::sorted_groups() const {
  std::vector<std::size_t> order(groups_.size());
  std::iota(order.begin(), order.end(), 0);
  std::ranges::sort(order, is_before, [&](std::size_t group) { return std::string_view(groups_[group]); });
  return order;
}

GroupSink::Spread GroupSink::spread_of(const Line& line) const {
  Spread spread;
  double sum = 0, greatest = 0;
  std::optional<Number> least_value, greatest_value;
  std::size_t count = 0;
  for (const auto& [group, cell] : line.cells) {
    const Number value = cell.value.value();
    if (value.is_nan()) continue;
    ++count;
    sum += value.as_double();
    if (!least_value || value < *least_value) least_value = value, spread.least = group;
    if (!greatest_value || *greatest_value < value) greatest_value = value, spread.greatest = group;
    greatest = greatest_value->as_double();
  }
  spread.mean = count != 0 ? sum / static_cast<double>(count) : std::nan("");
  spread.imbalance = spread.mean != 0 ? greatest / spread.mean : std::nan("");
  return spread;
}

void GroupSink::add_row(const Key& key, const Line& line, Columns& columns) const {
  const auto& [spec, kernel, result] = key;
  const Spread spread = spread_of(line);
  const auto text_of = [&](std::size_t group) {
    const auto cell = line.cells.find(group);
    return cell == line.cells.end() ? "-" : report::to_text(cell->second.value);
  };
  const auto named = [&](std::size_t group) { return text_of(group) + " (" + groups_[group] + ")"; };
  columns.kernels.push_back(demangle(kernel));
  columns.result.cells.push_back(printable(result + (line.unit.empty() ? "" : " (" + line.unit + ")")));
  if (!columns.groups.empty()) {
    const std::vector<std::size_t> order = sorted_groups();
    for (std::size_t i = 0; i < order.size(); ++i) columns.groups[i].cells.push_back(text_of(order[i]));
  } else {
    columns.count.cells.push_back(std::to_string(line.cells.size()));
    columns.least.cells.push_back(named(spread.least));
    columns.greatest.cells.push_back(named(spread.greatest));
  }
  columns.mean.cells.push_back(report::to_text(Number::of_real(spread.mean)));
  columns.imbalance.cells.push_back(report::to_text(Number::of_real(spread.imbalance)));
}

std::string GroupSink::to_text(std::size_t width) const {
  std::string text;
  for (auto entry = lines_.begin(); entry != lines_.end();) {
    const std::string spec = std::get<0>(entry->first);
    Columns columns;
    if (groups_.size() <= listed_groups) {
      for (const std::size_t group : sorted_groups())
        columns.groups.push_back({{printable(groups_[group])}, {}});
    }
    for (; entry != lines_.end() && std::get<0>(entry->first) == spec; ++entry)
      add_row(entry->first, entry->second, columns);
    std::vector<TextColumn> table{std::move(columns.result)};
    if (columns.groups.empty()) {
      for (TextColumn* each : {&columns.count, &columns.least, &columns.greatest}) table.push_back(*each);
    } else {
      table.insert(table.end(), columns.groups.begin(), columns.groups.end());
    }
    table.push_back(columns.mean);
    table.push_back(columns.imbalance);
    ShortNames names = short_kernel_names(columns.kernels, std::max<std::size_t>(width / 4, 16));
    table.insert(table.begin(), TextColumn{{"kernel"}, std::move(names.names), false});
    text += (text.empty() ? "" : "\n") + std::string("== lynxpp: ") + printable(spec) + ", " +
            std::to_string(groups_.size()) + (groups_.size() == 1 ? " group" : " groups") + " ==\n" +
            render_columns(table);
    for (const std::string& line : names.legend) text += "  " + line + "\n";
  }
  return text.empty() ? "no numeric results\n" : text;
}

void GroupSink::write_csv(const std::function<void(std::string_view)>& write) const {
  write("kernel,demangled,spec,result,unit,place,launches,value\n");  // english: ok
  const std::vector<std::size_t> order = sorted_groups();
  for (const auto& [key, line] : lines_) {
    const auto& [spec, kernel, result] = key;
    const std::string front = csv_cell(kernel) + ',' + csv_cell(demangle(kernel)) + ',' + csv_cell(spec) +
                              ',' + csv_cell(result) + ',' + csv_cell(line.unit) + ',';
    for (const std::size_t group : order) {
      const auto cell = line.cells.find(group);
      if (cell == line.cells.end()) continue;
      const Number value = cell->second.value.value();
      std::string digits;
      if (!value.is_nan()) {
        char buffer[40];
        const auto end = value.is_real ? std::to_chars(buffer, buffer + sizeof buffer, value.real)
                                       : std::to_chars(buffer, buffer + sizeof buffer,
                                                       static_cast<long long>(value.integer));
        digits.assign(buffer, end.ptr);
      }
      write(front + csv_cell(groups_[group]) + ',' + std::to_string(cell->second.launches) + ',' + digits +
            '\n');
    }
  }
}

}  // namespace lynxpp::report
