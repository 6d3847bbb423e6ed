#include "report/tables/table_sink.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <limits>
#include <map>
#include <set>
#include <utility>

#include "report/coverage_share.h"
#include "report/findings/findings.h"
#include "report/hot_sites.h"
#include "report/kernel_name.h"
#include "report/overhead/overhead.h"
#include "report/summary.h"
#include "report/tables/coverage_table.h"
#include "report/tables/named_table.h"
#include "report/tables/row_table.h"
#include "report/tables/site_table.h"
#include "report/tables/text_table.h"
#include "report/totals.h"
#include "support/text.h"
#include "support/whole_output.h"

namespace lynxpp::report {
namespace {

/// Digits are dropped before names become narrower than this.
constexpr std::size_t wanted_name_width = 24;

std::string count(std::uint64_t value) { return to_text(Number::of(value)); }

std::vector<std::string> demangled_names(const auto& records) {
  std::vector<std::string> names;
  for (const auto& record : records) names.push_back(demangle(record.kernel));
  return names;
}

/// Distinguishes kernels of the same name in several modules.
std::vector<std::string> names_of(const std::vector<KernelTotals>& kernels) {
  std::map<std::string_view, std::set<std::string_view>> modules;
  for (const KernelTotals& kernel : kernels) modules[kernel.kernel].insert(kernel.module);
  std::vector<std::string> names = demangled_names(kernels);
  for (std::size_t i = 0; i < kernels.size(); ++i) {
    if (modules[kernels[i].kernel].size() > 1) names[i] += " [module " + kernels[i].module + "]";
  }
  return names;
}

std::size_t widest(const std::vector<std::string>& texts) {
  std::size_t width = 0;
  for (const std::string& text : texts) width = std::max(width, width_of(text));
  return width;
}

// ---------------------------------------------------------------- launches

/// Limits on long lists.
struct Extent {
  std::size_t kernels = 8;                 ///< of a specification, with short arrays and tables
  std::size_t elements = listed_elements;  ///< of an array, and rows of a table
  std::size_t sites = 10;                  ///< of each kernel, the hottest
};

Extent extent_of(const TableOptions& options) {
  return options.is_whole ? Extent{all_kept, all_kept, all_kept} : Extent{};
}

class SpecificationTable {
 public:
  SpecificationTable(const SpecificationTotals& totals, const Summary& summary, const TableOptions& options)
      : totals_(totals),
        summary_(summary),
        width_(options.width),
        extent_(extent_of(options)),
        names_(names_of(totals.kernels)) {
    for (const KernelTotals& kernel : totals.kernels) has_several_launches_ |= kernel.launches > 1;
  }

  std::string render() const {
    return "== lynxpp: " + printable(totals_.spec) + " on " + printable(totals_.device) + " ==\n" +
           scalars() + arrays() + listed_arrays() + tables() + hot_sites() + notes();
  }

 private:
  std::string scalars() const {
    std::vector<TextColumn> columns = launch_columns();
    const std::vector<TextColumn> exact = scalar_columns(NumberStyle::exact);
    std::vector<TextColumn> all = columns;
    all.insert(all.end(), exact.begin(), exact.end());
    const std::size_t name_width = std::min(widest(names_), wanted_name_width);
    if (fits(all, name_width)) return render_with_names(names_, all, room_for_names(all, width_));

    // Too wide: use fewer digits if that helps, and put columns that still do not fit into another table.
    const std::vector<TextColumn> compact = scalar_columns(NumberStyle::compact);
    std::string text;
    for (std::size_t i = 0; i < exact.size(); ++i) {
      const TextColumn& column = compact[i].width() < exact[i].width() ? compact[i] : exact[i];
      columns.push_back(column);
      if (columns.size() == 1 || fits(columns, name_width)) continue;
      columns.pop_back();
      text += render_with_names(names_, columns, name_width) + "\n";
      columns = {column};
    }
    return text + render_with_names(names_, columns, name_width);
  }

  bool fits(const std::vector<TextColumn>& columns, std::size_t name_width) const {
    return name_width + width_between(2) + total_width(columns) <= width_;
  }

  std::vector<TextColumn> launch_columns() const {
    TextColumn launches{{"launches"}, {}};
    TextColumn grid{{"grid"}, {}};
    TextColumn block{{"block"}, {}};
    for (const KernelTotals& kernel : totals_.kernels) {
      launches.cells.push_back(count(kernel.launches));
      grid.cells.push_back(to_text(kernel.grid));
      block.cells.push_back(to_text(kernel.block));
    }
    std::vector<TextColumn> columns{launches, grid, block};
    // Add the range only if the program names ranges.
    if (std::ranges::all_of(totals_.kernels, [](const KernelTotals& each) { return each.ranges.empty(); }))
      return columns;
    TextColumn range{{"range"}, {}, false};
    for (const KernelTotals& kernel : totals_.kernels)
      range.cells.push_back(printable(path_of(kernel.ranges)));
    columns.insert(columns.begin(), std::move(range));
    return columns;
  }

  std::vector<TextColumn> scalar_columns(NumberStyle style) const {
    std::vector<TextColumn> columns;
    for (const ScalarColumn& scalar : totals_.columns) {
      TextColumn column{header_of(scalar), {}};
      for (const KernelTotals& kernel : totals_.kernels) {
        const auto value = kernel.scalars.find(scalar.name);
        column.cells.push_back(
            value == kernel.scalars.end() ? "" : to_text(value->second, scalar.name, scalar.unit, style));
      }
      columns.push_back(std::move(column));
    }
    return columns;
  }

  /// Returns the name and, if they are known, a second line with the unit and how launches were folded.
  std::vector<std::string> header_of(const ScalarColumn& scalar) const {
    // A unit that is part of the name is not repeated, which keeps tables narrow.
    std::string detail = scalar.name.find(scalar.unit) == std::string::npos ? scalar.unit : "";
    if (has_several_launches_) detail += (detail.empty() ? "" : ", ") + std::string(name_of(scalar.fold));
    if (detail.empty()) return {printable(scalar.name)};
    return {printable(scalar.name), "(" + printable(detail) + ")"};
  }

  /// Labelled rows are listed in full, and pictures of these rows are for other reports.
  static bool is_summarised(const ArrayTotals& array) {
    return array.labels.empty() || (array.each.empty() && array.extents.size() == 1);
  }

  std::string arrays() const {
    std::vector<std::string> names;
    for (std::size_t i = 0; i < totals_.kernels.size(); ++i)
      names.insert(names.end(),
                   static_cast<std::size_t>(std::ranges::count_if(totals_.kernels[i].arrays, is_summarised)),
                   names_[i]);
    if (names.empty()) return {};
    std::vector<TextColumn> columns = array_columns(NumberStyle::exact);
    if (!fits(columns, std::clamp(widest(names_), width_of("kernel"), least_name_width)))
      columns = array_columns(NumberStyle::compact);
    return "\n" + render_with_names(names, columns, room_for_names(columns, width_));
  }

  std::vector<TextColumn> array_columns(NumberStyle style) const {
    TextColumn array{{"array"}, {}, false};
    TextColumn elements{{"elements"}, {}};
    TextColumn sum{{"sum"}, {}};
    TextColumn least{{"min"}, {}};
    TextColumn greatest{{"max"}, {}};
    for (const KernelTotals& kernel : totals_.kernels) {
      for (const ArrayTotals& totals : kernel.arrays) {
        if (!is_summarised(totals)) continue;
        array.cells.push_back(
            printable(totals.unit.empty() ? totals.name : totals.name + " (" + totals.unit + ")"));
        elements.cells.push_back(count(totals.elements));
        sum.cells.push_back(totals.has_sum ? to_text(totals.sum, style) : "");
        least.cells.push_back(to_text(totals.least, totals.name, totals.unit, style));
        greatest.cells.push_back(to_text(totals.greatest, totals.name, totals.unit, style));
      }
    }
    return {array, elements, sum, least, greatest};
  }

  std::string listed_arrays() const {
    std::string text;
    std::size_t kernels = 0;
    for (std::size_t i = 0; i < totals_.kernels.size(); ++i) {
      std::vector<const ArrayTotals*> listed;
      for (const ArrayTotals& array : totals_.kernels[i].arrays) {
        const bool is_short = array.extents.size() == 1 && array.elements <= extent_.elements;
        if (!array.each.empty() && !array.site_kind && is_short) listed.push_back(&array);
      }
      if (!listed.empty() && ++kernels <= extent_.kernels) text += elements_of(names_[i], std::move(listed));
    }
    if (kernels > extent_.kernels)
      text += "\nshort arrays of kernels:\n" + further_line(kernels - extent_.kernels, extent_.kernels);
    return text;
  }

  /// Arrays over the same elements are shown side by side.
  std::string elements_of(const std::string& kernel, std::vector<const ArrayTotals*> arrays) const {
    std::string text;
    while (!arrays.empty()) {
      const ArrayTotals& first = *arrays.front();
      const auto is_alike = [&first](const ArrayTotals* array) {
        return array->elements == first.elements && array->table == first.table &&
               array->labels == first.labels && array->bounds == first.bounds;
      };
      std::vector<TextColumn> columns{index_column(first)};
      std::string outside;
      for (const ArrayTotals* array : arrays) {
        if (!is_alike(array)) continue;
        const std::size_t prefix = array->table.empty() ? 0 : array->table.size() + 1;
        TextColumn column{{printable(array->name.substr(prefix))}, {}};
        if (has_several_launches_ && array->fold != Fold::sum)
          column.header.push_back("(" + std::string(name_of(array->fold)) + ")");
        for (const FoldedNumber& element : array->each)
          column.cells.push_back(to_text(element, array->name, array->unit));
        columns.push_back(std::move(column));
        if (array->below != 0 || array->beyond != 0) {
          outside += "  " + printable(array->name) + ": " + count(array->below) + " below, " +
                     count(array->beyond) + " beyond\n";
        }
      }
      if (columns.size() == 2 && !first.bounds.empty()) add_bars(columns, first);
      text += "\n" + short_kernel_name(kernel, width_) + "\n" + render_columns(columns, 2) + outside;
      std::erase_if(arrays, is_alike);
    }
    return text;
  }

  /// Adds bars of a histogram, scaled to the largest count.
  void add_bars(std::vector<TextColumn>& columns, const ArrayTotals& array) const {
    constexpr std::size_t longest = 40, shortest = 8;
    const std::size_t taken = 2 + total_width(columns) + width_between(2);
    const std::size_t room = std::min(longest, width_ > taken ? width_ - taken : 0);
    double most = 0;
    for (const FoldedNumber& bin : array.each) most = std::max(most, bin.value().as_double());
    if (room < shortest || !(most > 0)) return;
    TextColumn bars{{""}, {}, false};
    for (const FoldedNumber& bin : array.each) {
      const double value = std::max(bin.value().as_double(), 0.0);
      const auto length = static_cast<std::size_t>(std::lround(value / most * static_cast<double>(room)));
      bars.cells.emplace_back(std::max<std::size_t>(length, value > 0 ? 1 : 0), '#');
    }
    columns.push_back(std::move(bars));
  }

  /// Returns the title of the index column.
  static std::string index_title(const ArrayTotals& array) {
    if (!array.bounds.empty()) return "from";
    return array.labels.empty() ? "index" : printable(array.table);
  }

  static TextColumn index_column(const ArrayTotals& array) {
    TextColumn column{{index_title(array)}, {}};
    if (!array.labels.empty()) {
      for (const std::string& label : array.labels) column.cells.push_back(printable(label));
      return column;
    }
    for (std::size_t index = 0; index < array.elements; ++index) {
      column.cells.push_back(index < array.bounds.size() ? std::to_string(array.bounds[index])
                                                         : std::to_string(index));
    }
    return column;
  }

  /// Renders traces, maps and arrays of structures.
  std::string tables() const {
    std::string text;
    std::size_t kernels = 0;
    for (std::size_t i = 0; i < totals_.kernels.size(); ++i) {
      const std::vector<TableTotals>& tables = totals_.kernels[i].tables;
      if (tables.empty() || ++kernels > extent_.kernels) continue;
      for (const TableTotals& table : tables)
        text += "\n" + render_rows(names_[i], table, width_, extent_.elements);
    }
    if (kernels > extent_.kernels)
      text += "\ntables of kernels:\n" + further_line(kernels - extent_.kernels, extent_.kernels);
    return text;
  }

  std::string hot_sites() const {
    std::string text;
    for (std::size_t i = 0; i < totals_.kernels.size(); ++i) {
      const KernelTotals& kernel = totals_.kernels[i];
      for (const HotSites& hot : hot_sites_of(kernel, summary_.sites_of(kernel), extent_.sites)) {
        text += "\n" + render_hot_sites(names_[i], hot, width_);
      }
    }
    return text;
  }

  std::string notes() const {
    std::string text;
    for (std::size_t i = 0; i < totals_.kernels.size(); ++i) {
      const std::string name = short_kernel_name(names_[i], width_ / 2);
      for (const NoteTotals& note : totals_.kernels[i].notes) text += note_line(name, to_text(note));
      if (const std::uint64_t further = totals_.kernels[i].further_notes; further != 0) {
        text += note_line(name, count(further) + " more notes: see LYNXPP_OUTPUT");
      }
    }
    return text;
  }

  const SpecificationTotals& totals_;
  const Summary& summary_;
  std::size_t width_;
  Extent extent_;
  std::vector<std::string> names_;
  bool has_several_launches_ = false;
};

// ---------------------------------------------------------------- coverage and timing

/// Adds the registers and warps that instrumentation costs, if the device reports them.
void add_resources(std::vector<TextColumn>& columns, const std::vector<TimingRecord>& records) {
  const auto has_both = [](const TimingRecord& record) { return record.original && record.variant; };
  if (std::none_of(records.begin(), records.end(), has_both)) return;
  TextColumn registers{{"registers"}, {}};
  TextColumn warps{{"warps", "per SM"}, {}};
  for (const TimingRecord& record : records) {
    registers.cells.push_back(change(record.original, record.variant, &KernelResources::registers));
    warps.cells.push_back(change(record.original, record.variant, &KernelResources::warps_per_sm));
  }
  columns.insert(columns.end(), {registers, warps});
}

/// Omits kernels that were timed only uninstrumented.
std::vector<TimingRecord> timings_of_counted(const Summary& summary) {
  std::vector<TimingRecord> timings = summary.timings;
  std::erase_if(timings, [&](const TimingRecord& timing) {
    const auto record = std::ranges::find(summary.coverage, timing.kernel, &CoverageRecord::kernel);
    return record != summary.coverage.end() && record->shape && record->instrumented_launches == 0;
  });
  return timings;
}

std::string render_timing(std::vector<TimingRecord> records, std::size_t width) {
  if (records.empty()) return {};
  TimingRecord total;
  for (const TimingRecord& record : records) add(total, record);
  std::vector<std::string> names = demangled_names(records);
  if (records.size() > 1) {
    records.push_back(total);
    names.emplace_back("total");
  }
  static constexpr std::pair<const char*, double TimingRecord::*> phases[] = {
      {"parse", &TimingRecord::parse},
      {"instrument", &TimingRecord::instrument},
      {"emit", &TimingRecord::emit},
      {"load", &TimingRecord::load},
      {"execute", &TimingRecord::execute}};
  std::vector<TextColumn> columns;
  for (const auto& [name, phase] : phases) {
    TextColumn column{{name}, {}};
    for (const TimingRecord& record : records)
      column.cells.push_back(to_text(Number::of_real(record.*phase)));
    columns.push_back(std::move(column));
  }
  add_resources(columns, records);
  const std::string how =
      total.modelled.empty() ? "" : "; execute is modelled for " + printable(total.modelled);
  return "== lynxpp: time in milliseconds" + how + " ==\n" +
         render_with_names(names, columns, room_for_names(columns, width));
}

// ---------------------------------------------------------------- the sink

/// Renders what ON_END emitted.
std::string render_total(const TotalRecord& record) {
  TextColumn name{{"result"}, {}, false};
  TextColumn value{{"value"}, {}};
  TextColumn unit{{"unit"}, {}, false};
  const auto add_row = [&](const std::string& row, const Number& number, const std::string& of) {
    name.cells.push_back(printable(row));
    value.cells.push_back(to_text(number));
    unit.cells.push_back(printable(of));
  };
  for (const ResultValue& result : record.results) {
    const std::size_t elements = size_of(result.values);
    const bool is_listed = elements <= listed_elements;
    FoldedNumber sum(Fold::sum);
    for (std::size_t i = 0; i < elements; ++i) {
      const Number number = number_at(result, i);
      sum.add(number);
      if (is_listed)
        add_row(result.extents.empty() ? result.name : result.name + "[" + std::to_string(i) + "]", number,
                result.unit);
    }
    const bool has_sum = fold_of(result) == Fold::sum;
    if (!is_listed && has_sum) add_row("sum of " + result.name, sum.value(), result.unit);
    if (!is_listed && !has_sum)
      add_row("elements of " + result.name, Number::of(static_cast<WideInteger>(elements)), "");
  }
  std::string text = "== lynxpp: " + printable(record.spec) + ", all launches ==\n";
  if (!name.cells.empty()) text += render_columns({name, value, unit});
  for (const std::string& note : record.notes) text += note_line(record.spec, note);
  return text;
}

class TableSink final : public SummarySink {
 public:
  explicit TableSink(TableOptions options)
      : SummarySink(options.is_whole ? whole : listed_elements), options_(std::move(options)) {}

  void finish() override {
    std::vector<std::string> sections;
    sections.push_back(
        coverage_share_text(coverage_share_of(summary()), "the table of kernels that were not instrumented"));
    for (const SpecificationTotals& totals : summary().specifications) {
      sections.push_back(SpecificationTable(totals, summary(), options_).render());
    }
    sections.push_back(advice_text(summary().words.advice(), options_.width));
    for (const TotalRecord& record : summary().totals) sections.push_back(render_total(record));
    sections.push_back(render_coverage(summary(), options_));
    sections.push_back(render_timing(timings_of_counted(summary()), options_.width));
    std::string findings;
    if (options_.has_findings) {
      const RunFacts facts = facts_of(summary());
      findings = findings_text(findings_of(facts), facts.weight, options_.width);
    }
    sections.push_back(findings);
    const std::string trust = trust_line_of(summary(), !findings.empty());
    if (!trust.empty()) sections.push_back(wrapped(trust, 0, options_.width));
    std::erase(sections, std::string());
    if (sections.empty()) sections.emplace_back("lynxpp: no kernel launch was seen\n");
    std::string text;
    for (const std::string& section : sections) text += (text.empty() ? "" : "\n") + section;
    options_.write(text);
  }

 private:
  /// Elements and rows kept for a full table.
  static constexpr std::size_t whole = 1 << 20;

  TableOptions options_;
};

}  // namespace

std::size_t terminal_width(int descriptor) {
  constexpr std::size_t usual = 100;
  constexpr std::size_t least = 60;
  std::size_t columns = 0;
  winsize size{};
  const char* const wanted = secure_getenv("COLUMNS");
  if (wanted != nullptr) {
    std::from_chars(wanted, wanted + std::strlen(wanted), columns);
  } else if (::isatty(descriptor) == 1 && ::ioctl(descriptor, TIOCGWINSZ, &size) == 0) {
    columns = size.ws_col;
  }
  return columns == 0 ? usual : std::max(columns, least);
}

std::unique_ptr<Sink> make_table_sink(TableOptions options) {
  return std::make_unique<TableSink>(std::move(options));
}

std::unique_ptr<Sink> make_table_sink() {
  // Errors cannot be reported if stderr is closed.
  const auto write = [](std::string_view text) { static_cast<void>(write_whole(STDERR_FILENO, text)); };
  return make_table_sink({write, terminal_width(STDERR_FILENO)});
}

}  // namespace lynxpp::report
