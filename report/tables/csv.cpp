#include "report/tables/csv.h"

#include <array>
#include <charconv>
#include <cmath>
#include <map>
#include <utility>

#include "report/number.h"
#include "report/sites.h"
#include "report/summary.h"
#include "support/text.h"

namespace lynxpp::report {
namespace {

constexpr std::string_view header =
    "kernel,demangled,launch,device,grid,block,spec,result,unit,index,label,function,basic_block,opcode,"
    "ptx_line,file,line,value,numerator,denominator\n";

/// Formats every digit; a value that is not finite gives an empty cell.
std::string value_cell(const Values& values, std::size_t index) {
  return std::visit(
      [index](const auto& elements) -> std::string {
        const auto value = elements[index];
        if constexpr (std::is_floating_point_v<std::decay_t<decltype(value)>>) {
          if (!std::isfinite(value)) return {};
        }
        std::array<char, 40> buffer;
        return {buffer.data(), std::to_chars(buffer.data(), buffer.data() + buffer.size(), value).ptr};
      },
      values);
}

/// Returns "3 1" for element 7 of a 4 by 2 array.
std::string index_cell(std::size_t index, const std::vector<std::uint64_t>& extents) {
  std::string text;
  for (std::size_t i = extents.size(); i-- > 0;) {
    text = std::to_string(index % extents[i]) + (text.empty() ? "" : " ") + text;
    index /= extents[i];
  }
  return text;
}

std::string site_cells(const SiteLabel& label) {
  std::string text =
      csv_cell(label.function) + "," + std::to_string(label.block) + "," + csv_cell(label.opcode) + ",";
  if (label.ptx_line != 0) text += std::to_string(label.ptx_line);
  text += "," + csv_cell(label.file) + ",";
  if (label.line != 0) text += std::to_string(label.line);
  return text;
}

constexpr const char* no_site = ",,,,,";

/// Returns the label of the first index, or the text that the value represents.
std::string label_cell(const ResultValue& result, std::size_t index) {
  if (!result.texts.empty()) return csv_cell(result.texts[index]);
  if (result.labels.empty()) return {};
  const std::size_t row = index / (size_of(result.values) / result.labels.size());
  return csv_cell(result.labels[row]);
}

std::string value_cells(const ResultValue& result, std::size_t index) {
  if (!result.denominators) return value_cell(result.values, index) + ",,";
  return value_cell(quotients(result), index) + "," + value_cell(result.values, index) + "," +
         value_cell(*result.denominators, index);
}

/// Returns lines for a histogram's counts below its first bin and above its last.
std::string outside_bins(const std::string& front, const ResultValue& result) {
  std::string text;
  if (result.bounds.empty()) return text;
  const std::vector<std::uint64_t> leading(result.extents.begin(), result.extents.end() - 1);
  for (std::size_t i = 0; i < result.underflow.size() && i < result.overflow.size(); ++i) {
    const std::string index = index_cell(i, leading);
    const std::string label = label_cell(result, i * result.extents.back());
    const auto add = [&](const char* side, std::uint64_t count) {
      text += front + index + (index.empty() ? "" : " ") + side + "," + label + "," + no_site + "," +
              std::to_string(count) + ",,\n";
    };
    add("below", result.underflow[i]);
    add("beyond", result.overflow[i]);
  }
  return text;
}

/// True if a spreadsheet would evaluate the text. Numbers are excluded.
bool looks_like_formula(std::string_view text) {
  if (text.empty() || std::string_view("=+-@\t\r").find(text.front()) == std::string_view::npos) return false;
  const char* const begin = text.data() + (text.front() == '+' ? 1 : 0);
  const char* const end = text.data() + text.size();
  double number = 0;
  const auto [rest, error] = std::from_chars(begin, end, number);
  return error == std::errc::invalid_argument || rest != end;
}

/// Returns "3", or "64-1063 (1000 launches)" for launches that share the record.
std::string launch_cell(const LaunchRecord& record) {
  std::string text = std::to_string(record.launch);
  if (record.shared)
    text += "-" + std::to_string(record.shared->last) + " (" + std::to_string(record.shared->launches) +
            " launches)";
  return text;
}

class CsvSink final : public Sink {
 public:
  explicit CsvSink(std::function<void(std::string_view)> write) : write_(std::move(write)) { write_(header); }

  void sites(const SitesRecord& record) override {
    sites_.insert_or_assign({record.kernel, record.table}, record);
  }
  void launch(const LaunchRecord& record) override {
    const std::string front = csv_cell(record.kernel) + "," + csv_cell(demangle(record.kernel)) + "," +
                              launch_cell(record) + "," + csv_cell(record.device) + "," +
                              shape_of(record.grid) + "," + shape_of(record.block) + "," +
                              csv_cell(record.spec) + ",";
    const SitesRecord* sites = nullptr;
    if (record.sites) {
      const auto found = sites_.find({record.kernel, *record.sites});
      if (found != sites_.end()) sites = &found->second;
    }
    for (const ResultValue& result : record.results) {
      write_result(front + csv_cell(result.name) + "," + csv_cell(result.unit) + ",", result, sites);
    }
  }
  void total(const TotalRecord& record) override {
    for (const ResultValue& result : record.results) {
      write_result(
          ",,,,,," + csv_cell(record.spec) + "," + csv_cell(result.name) + "," + csv_cell(result.unit) + ",",
          result, nullptr);
    }
  }
  void coverage(const CoverageRecord&) override {}
  void timing(const TimingRecord&) override {}
  void finish() override {}

 private:
  void write_result(const std::string& front, const ResultValue& result, const SitesRecord* sites) {
    constexpr std::size_t enough = 1 << 20;
    const std::optional<SiteKind> kind = site_kind_of(result.extent_names);
    std::string text;
    for (std::size_t i = 0; i < size_of(result.values); ++i) {
      text += front + index_cell(i, result.extents) + "," + label_cell(result, i) + ",";
      text += kind && sites != nullptr ? site_cells(label_of(sites, *kind, i)) : no_site;
      text += "," + value_cells(result, i) + "\n";
      if (text.size() < enough) continue;
      write_(text);
      text.clear();
    }
    write_(text + outside_bins(front, result));
  }

  std::function<void(std::string_view)> write_;
  std::map<std::pair<std::string, std::uint64_t>, SitesRecord> sites_;
};

}  // namespace

std::string csv_cell(std::string_view text, CsvQuotes quotes) {
  const bool is_formula = looks_like_formula(text);
  const bool is_plain = text.find_first_of(",\"\r\n") == std::string_view::npos && !is_formula;
  if (is_plain && quotes == CsvQuotes::where_needed) return std::string(text);
  std::string cell = is_formula ? "\"'" : "\"";
  for (const char c : text) {
    if (c == '"') cell += '"';
    cell += c;
  }
  return cell + '"';
}

std::unique_ptr<Sink> make_csv_sink(std::function<void(std::string_view)> write) {
  return std::make_unique<CsvSink>(std::move(write));
}

}  // namespace lynxpp::report
