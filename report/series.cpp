#include "report/series.h"

#include <algorithm>
#include <utility>

#include "report/json/object_writer.h"
#include "report/members.h"

namespace lynxpp::report {
namespace {

/// Limits for programs that keep changing their launches: kinds of launches that are remembered, and series
/// of one kind, after which launches have members that differ themselves.
constexpr std::size_t most_kinds = 1024;
constexpr std::size_t most_variants = 16;

void begin(ObjectWriter& json, std::string_view kind, const std::string& process, std::uint64_t number) {
  json.open();
  json(kind_member, kind);
  json.if_any(process_member, process);
  json(series_member, number);
}

}  // namespace

TableLabels labels_of_tables(const std::vector<ResultValue>& results) {
  TableLabels labels;
  for (const ResultValue& result : results) {
    if (!result.table.empty() && !result.labels.empty()) labels.try_emplace(result.table, result.labels);
  }
  return labels;
}

std::atomic<std::uint64_t>& SeriesWriter::numbers_of_process() {
  static constinit std::atomic<std::uint64_t> numbers = 0;
  return numbers;
}

std::string SeriesWriter::lines_of(const LaunchRecord& record, const std::string& process) {
  const std::string& named = record.process.empty() ? process : record.process;
  const TableLabels labels = labels_of_tables(record.results);
  ObjectWriter key(false), usual;
  key.open();
  key.if_any(process_member, named);
  key("has_place", record.place.has_value());
  visit_series_key(record, key);
  usual.open();
  visit_series_usual(record, usual);
  if (!labels.empty()) usual.labels("labels", labels);
  if (series_.size() == most_kinds && !series_.contains(key.text())) series_.clear();
  Variants& variants = series_[key.text()];
  auto found = std::ranges::find(variants, usual.text(), &Series::text);
  std::string text;
  if (found == variants.end() && variants.size() < most_variants) {
    LaunchRecord without_results = record;
    without_results.results = {};
    variants.push_back({numbers_++, usual.text(), labels, std::move(without_results)});
    found = variants.end() - 1;
    ObjectWriter json;
    begin(json, series_member, named, variants.back().number);
    visit_series_key(record, json);
    visit_series_usual(record, json);
    if (!labels.empty()) json.labels("labels", labels);
    json.close();
    text = json.finish();
  }
  const Series& series = found != variants.end() ? *found : variants.front();
  ObjectWriter json;
  begin(json, kind_of<LaunchRecord>, named, series.number);
  visit_launch(record, series.usual, json);
  if (labels != series.labels) json.labels("labels", labels);
  json.close();
  return text + json.finish();
}

}  // namespace lynxpp::report
